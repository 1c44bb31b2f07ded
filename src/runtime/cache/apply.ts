import {createHash} from 'node:crypto';
import {isDeepStrictEqual} from 'node:util';
import type {CallOptions, KubeClient} from '../kube/client.ts';
import {
  apiVersionOf,
  type DeepReadonly,
  type Intent,
  type KubeObject,
  keyOf,
  type ResourceType,
} from '../kube/object.ts';
import type {ReadonlyStore} from './store.ts';

export interface ApplyOptions extends CallOptions {
  /** The annotation for the hash of what was last applied. */
  readonly hashAnnotation: string;
}

export interface ApplyResult<T extends KubeObject> {
  /** Whether a request was sent. */
  readonly changed: boolean;
  readonly object: DeepReadonly<T>;
}

/**
 * Applies what we want of an object. Sends nothing if the object already is as wanted.
 *
 * The cache has no managedFields, so this compares two things: the hash of the intent with the annotation from the last
 * apply (without a field that we no longer want, the hash differs, and server-side apply removes the field), and every
 * field that we set with the cache (to revert foreign edits). It ignores fields that only others set.
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
 * Writes `status` if it differs from the status of the object that was read, on the status subresource and with our
 * field manager. The whole status is ours: a field that is not in `status` is removed.
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
  // At the resourceVersion that was read: a Conflict if the object has changed since, or if it is another object of the
  // same name. (A uid would not work: for custom resources, the server ignores it here.)
  const metadata = {name, ...(namespace !== undefined && {namespace}), ...(resourceVersion && {resourceVersion})};
  const intent: unknown = {apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, status};
  const object = await client.applyStatus(resource, intent as Intent<T>, options);
  return {changed: true, object: object as DeepReadonly<T>};
}

/** The intent, annotated with its own hash. */
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

/** The value after a round trip through JSON, which drops undefined fields. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The same text for the same content, in whatever order its keys are. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  });
}

/**
 * Whether `actual` has everything in `wanted`. Objects may have further keys (defaults, fields of others). Lists must
 * have the same length and order, and each element must have what is wanted of it. But owner references are
 * distinguished by uid, and both they and finalizers may be among others, because server-side apply merges them.
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
