import {createHash} from 'node:crypto';
import {isDeepStrictEqual} from 'node:util';
import type {CallOptions, KubeClient} from './client.ts';
import {apiVersionOf, type DeepReadonly, type Intent, type KubeObject, keyOf, type ResourceType} from './object.ts';
import type {ReadonlyStore} from './store.ts';

export interface ApplyOptions extends CallOptions {
  /** Name of the annotation that holds the hash of what was applied last. */
  readonly hashAnnotation: string;
}

export interface ApplyResult<T extends KubeObject> {
  /** Whether a request was made. */
  readonly changed: boolean;
  readonly object: DeepReadonly<T>;
}

/**
 * Brings an object to what we want, and sends nothing when it is already so.
 *
 * The cache holds no managedFields, so two things are compared: the hash of the intent against the annotation of the
 * last apply (a field that we no longer want makes a different hash, and server-side apply then removes it), and every
 * field that we set against the cache (a foreign edit is put back). What others set beside ours is left alone.
 */
export async function applyIfChanged<T extends KubeObject>(
  client: KubeClient,
  store: ReadonlyStore<T>,
  resource: ResourceType<T>,
  intent: Intent<T>,
  options: ApplyOptions,
): Promise<ApplyResult<T>> {
  const wanted = withHash(resource, intent, options.hashAnnotation);
  const cached = store.get(keyOf(wanted));
  if (cached && includes(cached, wanted)) return {changed: false, object: cached};
  const object = await client.apply(resource, wanted as Intent<T>, options);
  return {changed: true, object: object as DeepReadonly<T>};
}

/**
 * Writes `status` where it differs from the status of the object that was read, on the status subresource and under our
 * field manager. The status as a whole is ours: a field that is not in `status` is removed.
 */
export async function applyStatusIfChanged<T extends KubeObject & {status?: unknown}>(
  client: KubeClient,
  resource: ResourceType<T>,
  read: DeepReadonly<T>,
  status: DeepReadonly<NonNullable<T['status']>>,
  options: CallOptions = {},
): Promise<ApplyResult<T>> {
  if (isDeepStrictEqual(read.status, plain(status))) return {changed: false, object: read};
  const {name, namespace, resourceVersion} = read.metadata;
  // At the resourceVersion that was read: a Conflict where the object has changed since, or is another one of the same
  // name, of which this status does not speak. (A uid would not do: for custom resources the server ignores it here.)
  const metadata = {name, ...(namespace !== undefined && {namespace}), ...(resourceVersion && {resourceVersion})};
  const intent: unknown = {apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, status};
  const object = await client.applyStatus(resource, intent as Intent<T>, options);
  return {changed: true, object: object as DeepReadonly<T>};
}

/** The intent with the annotation that holds its own hash. */
export function withHash<T extends KubeObject>(
  resource: ResourceType<T>,
  intent: Intent<T>,
  annotation: string,
): KubeObject {
  const wanted: KubeObject = plain({
    ...(intent as KubeObject),
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
  });
  const hash = createHash('sha256').update(canonicalJson(wanted)).digest('hex').slice(0, 32);
  const annotations = {...wanted.metadata.annotations, [annotation]: hash};
  return {...wanted, metadata: {...wanted.metadata, annotations}};
}

/** As it will be after a round trip through JSON: without what is undefined. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The same text for the same content, whatever the order of the keys. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  });
}

/**
 * Whether everything that `wanted` says holds in `actual`. Objects may have further keys (defaults, what others set).
 * Lists must have the same length and order, each element including what is wanted of it; but owner references are
 * told apart by uid, and with finalizers they may be among others, as server-side apply merges them.
 */
export function includes(actual: unknown, wanted: unknown, field = ''): boolean {
  if (Array.isArray(wanted)) return Array.isArray(actual) && includesList(actual, wanted, field);
  if (typeof wanted === 'object' && wanted !== null) {
    if (typeof actual !== 'object' || actual === null) return false;
    const held = actual as Record<string, unknown>;
    return Object.entries(wanted).every(([key, value]) => includes(held[key], value, key));
  }
  return actual === wanted;
}

function includesList(actual: readonly unknown[], wanted: readonly unknown[], field: string): boolean {
  if (field === 'ownerReferences' || field === 'finalizers') {
    return wanted.every(item => actual.some(other => includes(other, item)));
  }
  return actual.length === wanted.length && wanted.every((item, index) => includes(actual[index], item));
}
