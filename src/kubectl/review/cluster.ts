/** Finds Nameplate in the cluster: its policies, the kinds that they check, and the operator's configuration. */

import {parseConfig} from '../../config/load-config.ts';
import type {OperatorConfig} from '../../operator/config/config.ts';
import {operatorConfigDefinition} from '../../operator/config/schema.ts';
import {CONFIG_MAP} from '../../operator/kinds/kinds.ts';
import type {ListOptions} from '../../runtime/kube/calls.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {
  type DeepReadonly,
  type KubeObject,
  keyOf,
  type ResourceType,
  resourceName,
  resourceType,
} from '../../runtime/kube/object.ts';
import type {Call} from './call.ts';

export interface Policy extends KubeObject {
  spec: {matchConstraints: {resourceRules: {apiGroups: string[]; resources: string[]; operations: string[]}[]}};
}

const POLICY = resourceType<Policy>(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
  'cluster',
);
const CONFIG_KEY = 'nameplate.yaml';

/** All pages, read before anything is checked, because a continue token expires after a few minutes. */
export async function listAll<T extends KubeObject>(client: KubeClient, type: ResourceType<T>, options: ListOptions) {
  const items: T[] = [];
  for await (const page of client.list(type, {timeoutMs: 60_000, ...options})) items.push(...page.items);
  return items;
}

/** With any release name. */
function isOfChart({metadata}: DeepReadonly<KubeObject>): boolean {
  return /^nameplate-\d/.test(metadata.labels?.['helm.sh/chart'] ?? '');
}

export async function findPolicies(client: KubeClient, signal: AbortSignal): Promise<readonly Policy[]> {
  const policies = (await listAll(client, POLICY, {signal})).filter(isOfChart);
  if (policies.length > 0) return policies;
  throw new Error(
    'no admission policy of Nameplate is installed. Install the chart with admission.mode=audit: in this mode, the policies reject nothing.',
  );
}

export async function findConfig(client: KubeClient, signal: AbortSignal): Promise<OperatorConfig> {
  const maps = await listAll(client, CONFIG_MAP, {labelSelector: 'app.kubernetes.io/component=operator', signal});
  const ours = maps.find(map => isOfChart(map) && map.data?.[CONFIG_KEY] !== undefined);
  if (!ours) throw new Error('the cluster has no ConfigMap with the configuration of a Nameplate release.');
  return parseConfig(ours.data?.[CONFIG_KEY] ?? '', `the ConfigMap ${keyOf(ours)}`, operatorConfigDefinition);
}

/**
 * Programs write these from what a tenant writes, or the policies check only whether they have a name or a label that
 * is reserved for programs. The review needs no content of a Secret.
 */
const OF_PROGRAMS: ReadonlySet<string> = new Set([
  ...['secrets', 'endpoints', 'endpointslices.discovery.k8s.io', 'pods', 'certificaterequests.cert-manager.io'],
  ...['orders', 'challenges'].map(name => `${name}.acme.cert-manager.io`),
]);

/** https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery */
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
interface Discovery {
  readonly items: readonly {readonly metadata: {readonly name?: string}; readonly versions: readonly Version[]}[];
}
interface Version {
  readonly version: string;
  readonly resources?: readonly {resource: string; responseKind: {kind: string}; scope: string; verbs: string[]}[];
}

/** The namespaced kinds whose creation the policies check and that the API server has. */
export async function checkedKinds(policies: readonly Policy[], call: Call): Promise<readonly ResourceType[]> {
  const rules = policies.flatMap(({spec}) => spec.matchConstraints.resourceRules);
  const isChecked = ({group, plural}: ResourceType) =>
    rules.some(
      ({apiGroups, resources, operations}) =>
        operations.includes('CREATE') &&
        apiGroups.includes(group) &&
        [plural, '*', '*/*'].some(name => resources.includes(name)),
    );
  const kinds = new Map<string, ResourceType>();
  for (const path of ['/api', '/apis']) {
    const {status, message, body} = await call({method: 'GET', path, accept: DISCOVERY});
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${message}`);
    for (const {metadata, versions} of (body as Discovery).items) {
      for (const type of versions.flatMap(version => typesOf(metadata.name ?? '', version))) {
        const name = resourceName(type);
        const isMeant = type.group !== 'nameplate.dev' && !OF_PROGRAMS.has(name) && isChecked(type);
        if (isMeant && !kinds.has(name)) kinds.set(name, type); // the server prefers its first version
      }
    }
  }
  return [...kinds.values()];
}

function typesOf(group: string, {version, resources = []}: Version): ResourceType[] {
  return resources
    .filter(({scope, verbs}) => scope === 'Namespaced' && verbs.includes('list') && verbs.includes('create'))
    .map(({resource, responseKind: {kind}}) => ({group, version, plural: resource, kind, namespaced: true}));
}
