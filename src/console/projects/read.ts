/** What a user may see and do, always asked with the user's own rights. */
import {timestamp} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {ANNOTATION, API_VERSION} from '../../api/names.ts';
import {DOMAIN, type Domain, NAMESPACE, PROJECT, type Project} from '../../operator/kinds/kinds.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {isForbidden} from '../../runtime/kube/errors.ts';
import {type KubeObject, type ResourceType, resourceType} from '../../runtime/kube/object.ts';

export interface Place {
  readonly namespace: string;
  readonly project: string;
}

interface AccessReview extends KubeObject {
  spec: {resourceAttributes: {verb: string; group: string; resource: string; namespace?: string}};
  status?: {allowed: boolean};
}
const ACCESS_REVIEW = resourceType<AccessReview>(
  'authorization.k8s.io/v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
  'cluster',
);

interface RulesReview extends KubeObject {
  spec: {namespace: string};
  status?: {
    incomplete: boolean;
    resourceRules: readonly {
      readonly verbs: readonly string[];
      readonly apiGroups?: readonly string[];
      readonly resources?: readonly string[];
      readonly resourceNames?: readonly string[];
    }[];
  };
}
const RULES_REVIEW = resourceType<RulesReview>(
  'authorization.k8s.io/v1',
  'SelfSubjectRulesReview',
  'selfsubjectrulesreviews',
  'cluster',
);

interface UserReview extends KubeObject {
  status?: {userInfo: {username?: string; groups?: string[]}};
}
const USER_REVIEW = resourceType<UserReview>(
  'authentication.k8s.io/v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
  'cluster',
);

/** Who the user is to the API server. Rejects with 401 if it does not accept the token. */
export async function whoAmI(client: KubeClient, signal: AbortSignal): Promise<string> {
  const review: UserReview = {apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {name: ''}};
  const {status} = await client.create(USER_REVIEW, review, {signal});
  return status?.userInfo.username ?? '';
}

type Verb = 'list' | 'watch' | 'patch' | 'delete';

export async function mayI(
  client: KubeClient,
  verb: Verb,
  {plural, group}: ResourceType,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const resourceAttributes = {verb, group, resource: plural, ...(namespace !== undefined && {namespace})};
  const review: AccessReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {name: ''},
    spec: {resourceAttributes},
  };
  const {status} = await client.create(ACCESS_REVIEW, review, {signal});
  return status?.allowed === true;
}

/** A button exists only if it would work. */
export interface Rights {
  /** An open page follows the Domains. */
  readonly mayWatch: boolean;
  readonly mayEdit: boolean;
  readonly mayVerify: boolean;
  readonly mayDelete: boolean;
}

/**
 * In one call, if the API server knows all rules: open pages ask each minute. An authorizer elsewhere, such as a
 * webhook, answers only questions.
 */
export async function rightsIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Rights> {
  const review: RulesReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    metadata: {name: ''},
    spec: {namespace},
  };
  const {status} = await client.create(RULES_REVIEW, review, {signal});
  const may = async (verb: Verb, resource: ResourceType) => {
    if (status?.incomplete !== false) return await mayI(client, verb, resource, namespace, signal);
    const isIn = (value: string, allowed: readonly string[] = []) => allowed.includes(value) || allowed.includes('*');
    return status.resourceRules.some(
      ({verbs, apiGroups, resources, resourceNames = []}) =>
        isIn(verb, verbs) &&
        isIn(resource.group, apiGroups) &&
        isIn(resource.plural, resources) &&
        resourceNames.length === 0,
    );
  };
  const [mayWatch, mayEdit, mayVerify, mayDelete] = await Promise.all([
    may('watch', DOMAIN),
    may('patch', PROJECT),
    may('patch', DOMAIN),
    may('delete', DOMAIN),
  ]);
  return {mayWatch, mayEdit, mayVerify, mayDelete};
}

export interface ProjectPage {
  readonly project: Project;
  readonly domains: readonly Domain[];
  /** There are more Domains, which were not read. */
  readonly hasMore: boolean;
  /** Where a watch of the Domains continues. */
  readonly resourceVersion: string;
}

/** Several times what a Project may list. Who may create Domains may create any number of them. */
export const MAX_HOSTS = 1000;

/** Undefined if there is no such Project. */
export async function readProject(
  client: KubeClient,
  {namespace, project: name}: Place,
  signal: AbortSignal,
): Promise<ProjectPage | undefined> {
  const [project, listed] = await Promise.all([
    client.get(PROJECT, {namespace, name}, {signal}),
    listDomains(client, {namespace, project: name}, signal),
  ]);
  return project && {project, ...listed};
}

export async function listDomains(client: KubeClient, {namespace, project}: Place, signal: AbortSignal) {
  const domains: Domain[] = [];
  let resourceVersion = '';
  for await (const page of client.list(DOMAIN, {namespace, fieldSelector: ofProject(project), signal})) {
    domains.push(...page.items.map(withoutNotes));
    resourceVersion = page.resourceVersion;
    if (domains.length > MAX_HOSTS) break;
  }
  return {domains: domains.slice(0, MAX_HOSTS), hasMore: domains.length > MAX_HOSTS, resourceVersion};
}

/** Without what a page does not show. A tenant may write 256 KiB of annotations into each object. */
export function withoutNotes({apiVersion, kind, metadata, spec, status}: Domain): Domain {
  const {name, namespace, annotations = {}} = metadata;
  const shown = Object.entries(annotations).filter(([key]) => key === ANNOTATION.verifyRequestedAt);
  return {
    ...{apiVersion, kind, spec},
    metadata: {name, ...(namespace !== undefined && {namespace}), annotations: Object.fromEntries(shown)},
    ...(status && {status}),
  };
}

export function ofProject(project: string): string {
  return `spec.projectRef.name=${project}`;
}

/** Requests a DNS check now, as `kubectl nameplate verify` does. */
export async function requestCheck(
  client: KubeClient,
  {namespace}: Place,
  host: string,
  nowMs: number,
  signal: AbortSignal,
) {
  const annotations = {[ANNOTATION.verifyRequestedAt]: timestamp(nowMs)};
  await client.patch(DOMAIN, {namespace, name: objectNameOf(host)}, {metadata: {annotations}}, {signal});
}

export interface NamespaceProjects {
  readonly namespace: string;
  readonly projects: readonly Project[];
}

export interface Overview {
  readonly namespaces: readonly NamespaceProjects[];
  /** Where the next page begins, for users who may list all Projects. */
  readonly next: string | undefined;
  readonly mayListAll: boolean;
}

const PAGE = 100;
/** A user with more namespaces types one in. */
const MAX_NAMESPACES = 40;

/**
 * Kubernetes cannot say which namespaces a user has. So: all Projects, if the user may list them; otherwise, those in
 * the namespaces that the user may list or that the ID token names, as far as the user may list Projects there.
 */
export async function overviewFor(
  client: KubeClient,
  claimed: readonly string[],
  from: string | undefined,
  signal: AbortSignal,
): Promise<Overview> {
  const everything = await unlessForbidden(firstPage(client, PROJECT, {continue: from, signal, pageSize: PAGE}));
  if (everything) return {namespaces: grouped(everything.items), next: everything.next, mayListAll: true};
  const listed = await unlessForbidden(
    firstPage(client, NAMESPACE, {signal, pageSize: MAX_NAMESPACES, metadataOnly: true}),
  );
  const names = [...claimed, ...(listed?.items ?? []).map(({metadata}) => metadata.name)];
  const found: NamespaceProjects[] = [];
  // One after the other: a tenant chooses how large its objects are, and the memory is that of all users.
  for (const namespace of [...new Set(names)].slice(0, MAX_NAMESPACES)) {
    const own = await projectsIn(client, namespace, signal);
    if (own) found.push(own);
  }
  return {namespaces: found, next: undefined, mayListAll: false};
}

/** Undefined if the user may not list Projects there. */
export async function projectsIn(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<NamespaceProjects | undefined> {
  const page = await unlessForbidden(firstPage(client, PROJECT, {namespace, signal, pageSize: PAGE}));
  return page && {namespace, projects: page.items};
}

function grouped(projects: readonly Project[]): readonly NamespaceProjects[] {
  const byNamespace = Map.groupBy(projects, ({metadata}) => metadata.namespace ?? '');
  return [...byNamespace].map(([namespace, own]) => ({namespace, projects: own}));
}

export async function firstPage<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  options: Parameters<KubeClient['list']>[1],
) {
  for await (const page of client.list(resource, options)) return page;
  throw new Error(`${API_VERSION}: a list without a page`);
}

export async function unlessForbidden<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
