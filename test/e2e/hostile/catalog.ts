/** What a tenant may write, according to the API server's access review, discovery, and schemas. */
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import type {Cluster} from '../../cluster/cluster.ts';
import type {Attacker} from '../attacks/attackers.ts';
import {type OpenApi, type Schema, schemaOf} from './schema.ts';

export interface WritableKind {
  readonly resource: ResourceType;
  readonly schema: Schema;
  /** Those of create, patch, and delete that the tenant may use. */
  readonly verbs: ReadonlySet<string>;
  /** Subresources that it may patch. */
  readonly subresources: readonly string[];
}

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}
interface ServedResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}
interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly path: string;
}

const WRITES = ['create', 'patch', 'delete'];
interface RulesReview extends KubeObject {
  spec: {namespace: string};
  status?: {resourceRules: Rule[]};
}
const RULES_REVIEW: ResourceType<RulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectrulesreviews',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
};

/** Every namespaced kind that the attacker may write in any way, in a fixed order. */
export async function readCatalog({kubectl}: Pick<Cluster, 'kubectl'>, attacker: Attacker): Promise<WritableKind[]> {
  const rules = await rulesOf(attacker);
  const raw = async <T>(path: string) => JSON.parse(await kubectl('get', '--raw', path)) as T;
  const kinds: WritableKind[] = [];
  for (const at of await groupVersions(raw)) {
    const {resources} = await raw<{resources: ServedResource[]}>(at.path);
    const writable = resources.filter(each => !each.name.includes('/') && isWritable(at, each, rules));
    if (writable.length === 0) continue;
    const document = await raw<OpenApi>(`/openapi/v3${at.path}`);
    for (const each of writable) {
      const {group, version} = at;
      const schema = schemaOf(document, {group, version, kind: each.kind});
      if (!schema) continue;
      const {kind, name: plural} = each;
      const subresources = resources
        .filter(({name, verbs}) => name.startsWith(`${plural}/`) && verbs.includes('patch'))
        .filter(({name}) => may(rules, at.group, name, 'patch'))
        .map(({name}) => name.slice(plural.length + 1));
      const verbs = new Set(each.verbs.filter(verb => WRITES.includes(verb) && may(rules, group, plural, verb)));
      kinds.push({resource: {group, version, plural, kind, namespaced: true}, schema, verbs, subresources});
    }
  }
  return kinds.sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

function nameOf({resource}: WritableKind): string {
  return `${resource.plural}.${resource.group}`;
}

async function rulesOf({client, self}: Attacker): Promise<Rule[]> {
  const review = {apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', metadata: {name: ''}};
  const answer = await client.create(RULES_REVIEW, {...review, spec: {namespace: self.namespace}});
  return answer.status?.resourceRules ?? [];
}

/** The preferred version of each group. */
async function groupVersions(raw: <T>(path: string) => Promise<T>): Promise<GroupVersion[]> {
  const {groups} = await raw<{groups: {name: string; preferredVersion: {version: string}}[]}>('/apis');
  const core = {group: '', version: 'v1', path: '/api/v1'};
  const others = groups.map(({name, preferredVersion: {version}}) => {
    return {group: name, version, path: `/apis/${name}/${version}`};
  });
  return [core, ...others];
}

function isWritable({group}: GroupVersion, {name, namespaced, verbs}: ServedResource, rules: readonly Rule[]): boolean {
  const isStored = verbs.includes('get') && verbs.includes('list'); // not a review or a binding
  return namespaced && isStored && WRITES.some(verb => verbs.includes(verb) && may(rules, group, name, verb));
}

function may(rules: readonly Rule[], group: string, resource: string, verb: string): boolean {
  const has = (list: readonly string[] = [], item: string) => list.includes(item) || list.includes('*');
  return rules.some(
    rule =>
      has(rule.verbs, verb) &&
      has(rule.apiGroups, group) &&
      has(rule.resources, resource) &&
      (rule.resourceNames ?? []).length === 0,
  );
}
