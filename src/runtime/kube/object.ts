/** The parts of objects that every kind shares. https://kubernetes.io/docs/reference/using-api/api-concepts/ */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

declare const objectType: unique symbol;

/**
 * Addresses a kind at the API. `group` is '' for the core group. The type parameter, which exists only in types,
 * connects the descriptor with the shape of its objects:
 */
export interface ResourceType<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly [objectType]?: T;
}

/** `resourceType<Secret>('v1', 'Secret', 'secrets')` */
export function resourceType<T extends KubeObject = KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  scope: 'namespaced' | 'cluster' = 'namespaced',
): ResourceType<T> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return {group, version, plural, kind, namespaced: scope === 'namespaced'};
}

export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** All readers share cached objects, so none may change them. */
export type DeepReadonly<T> = T extends (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? {readonly [K in keyof T]: DeepReadonly<T[K]>}
    : T;

/** Our intent for an object: its identity and the fields that we set. */
export type Intent<T extends KubeObject> = DeepReadonly<
  KubeObject & Partial<Omit<T, 'apiVersion' | 'kind' | 'metadata'>>
>;

/**
 * "namespace/name", or "name" without a namespace. Joined, because caches keep millions of keys, and V8 would keep the
 * parts of a template in memory in addition to its text.
 */
export function formatKey(key: ObjectKey): string {
  return key.namespace ? [key.namespace, key.name].join('/') : key.name;
}

export function keyOf(object: DeepReadonly<KubeObject>): string {
  return formatKey(objectKey(object));
}

export function objectKey(object: DeepReadonly<KubeObject>): ObjectKey {
  return {namespace: object.metadata.namespace, name: object.metadata.name};
}

/** "v1" or "group/version". */
export function apiVersionOf(resource: ResourceType): string {
  return resource.group ? `${resource.group}/${resource.version}` : resource.version;
}

/** "plural.group", as kubectl and RBAC name a resource. For logs and metrics. */
export function resourceName(resource: ResourceType): string {
  return resource.group ? `${resource.plural}.${resource.group}` : resource.plural;
}

/**
 * Which of two resourceVersions of one resource is later: negative, zero, or positive. Undefined if they cannot be
 * compared. They are decimal numbers that grow with each write (guaranteed since Kubernetes 1.35, KEP-5504, and true
 * for every API server with etcd before that).
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  const decimal = /^(0|[1-9]\d*)$/;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The format of the API's MicroTime, which requires exactly six digits: "2026-01-02T03:04:05.678000Z". */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/**
 * Owner references clean up if the operator is gone. None blocks the owner's deletion: that would require the right to
 * update finalizers, and a namespace must never hang because the operator is gone.
 */
export function ownerOf({apiVersion, kind, metadata}: DeepReadonly<KubeObject>): OwnerReference {
  if (!metadata.uid) throw new Error(`${kind} ${metadata.name} has no uid: it did not come from the API server`);
  return {apiVersion, kind, name: metadata.name, uid: metadata.uid};
}
