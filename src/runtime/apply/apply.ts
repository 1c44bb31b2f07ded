import {createHash} from 'node:crypto';
import {isDeepStrictEqual} from 'node:util';
import type {ReadonlyStore} from '../cache/store.ts';
import type {CallOptions} from '../kube/calls.ts';
import type {KubeClient} from '../kube/client.ts';
import {isAlreadyExists, isNotFound} from '../kube/errors.ts';
import {findByName} from '../kube/find-by-name.ts';
import {
  apiVersionOf,
  type DeepReadonly,
  type Intent,
  type KubeObject,
  keyOf,
  type OwnerReference,
  objectKey,
  type ResourceType,
} from '../kube/object.ts';
import {type Corrections, identify} from './corrections.ts';
import {mergePatch, withoutNulls} from './merge-patch.ts';

interface ApplyOptions extends CallOptions {
  /** The annotation for the hash of what was last applied. */
  readonly hashAnnotation: string;
  /**
   * If given, an object that others keep changing or deleting is corrected less and less often. The caller must retry
   * when the pause ends.
   */
  readonly corrections?: Corrections;
}

export interface ApplyResult<T extends KubeObject> {
  /** Whether a write was sent. */
  readonly changed: boolean;
  readonly object: DeepReadonly<T>;
}

/** `corrections` pauses the creation of an object that others keep deleting. */
interface Missing {
  readonly changed: false;
  readonly object?: undefined;
}

/**
 * Writes what we want of an object: creates it, or changes it by merge patch at the resourceVersion that was read.
 * Sends nothing if the annotation has the hash of the intent (an earlier one may have had more), and every field that we
 * set is intact (otherwise, it reverts foreign edits).
 *
 * Also sends nothing while `corrections` pauses the object, which then differs from the intent.
 *
 * Fields that others set stay: finalizers, owner references, labels, annotations, and fields of the spec (or `data`)
 * that we do not name. The content of the fields that we name is replaced. Labels and annotations with the prefix of
 * the hash annotation are ours, and null in the intent removes a field.
 */
export async function applyIfChanged<T extends KubeObject>(
  client: KubeClient,
  store: ReadonlyStore<T>,
  resource: ResourceType<T>,
  intent: Intent<T>,
  options: ApplyOptions,
): Promise<ApplyResult<T> | Missing> {
  const wanted = withHash(resource, intent, options.hashAnnotation);
  const cached = store.get(keyOf(wanted));
  if (cached && includes(cached, wanted)) return {changed: false, object: cached};
  const {corrections, hashAnnotation} = options;
  const [id, hash] = [identify(resource, wanted), wanted.metadata.annotations?.[hashAnnotation] ?? ''];
  if (corrections && corrections.pauseMs(id, hash) > 0) {
    return cached ? {changed: false, object: cached} : {changed: false};
  }
  const written = cached
    ? {changed: true, object: await change(client, resource, cached, wanted, options)}
    : await createOrChange(client, resource, wanted, options);
  if (written.changed) corrections?.wrote(id, hash);
  return written;
}

async function createOrChange<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  wanted: KubeObject,
  options: ApplyOptions,
): Promise<ApplyResult<T>> {
  try {
    return {changed: true, object: await create(client, resource, wanted, options)};
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // The cache lags behind, or its selector excludes the object, because somebody has removed our label.
    const found = await read(client, resource, wanted, options);
    if (!found) throw error;
    if (includes(found, wanted)) return {changed: false, object: found};
    return {changed: true, object: await change(client, resource, found, wanted, options)};
  }
}

async function create<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  wanted: KubeObject,
  options: CallOptions,
): Promise<DeepReadonly<T>> {
  return (await client.create(resource, withoutNulls(wanted) as DeepReadonly<T>, options)) as DeepReadonly<T>;
}

async function change<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  known: DeepReadonly<T>,
  wanted: KubeObject,
  options: ApplyOptions,
): Promise<DeepReadonly<T>> {
  const {ownerReferences: owners = []} = wanted.metadata;
  const keepsOwners = owners.length === 0 || includes(known.metadata, {ownerReferences: owners});
  // A patch replaces the whole list, of which a cache may hold only a part.
  const whole = keepsOwners ? known : await read(client, resource, wanted, options);
  if (!whole) return await create(client, resource, wanted, options);
  const patch = changeOf(whole, wanted, options);
  if (!keepsOwners) patch.metadata.ownerReferences = ownersOf(whole, owners);
  try {
    return (await client.patch(resource, objectKey(wanted), patch, options)) as DeepReadonly<T>;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return await create(client, resource, wanted, options); // somebody deleted it after it was read
  }
}

function ownersOf({metadata}: DeepReadonly<KubeObject>, ours: readonly OwnerReference[]): OwnerReference[] {
  const others = (metadata.ownerReferences ?? []).filter(({uid}) => !ours.some(owner => owner.uid === uid));
  return [...others.map(owner => ({...owner})), ...ours];
}

/** From the API server. */
async function read<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  wanted: KubeObject,
  options: CallOptions,
): Promise<DeepReadonly<T> | undefined> {
  return (await findByName(client, resource, objectKey(wanted), options)) as DeepReadonly<T> | undefined;
}

/** The merge patch that makes the object as wanted, at its resourceVersion. */
function changeOf(
  known: DeepReadonly<KubeObject>,
  wanted: KubeObject,
  {hashAnnotation}: ApplyOptions,
): {metadata: Record<string, unknown>} & Record<string, unknown> {
  const {apiVersion: _, kind: __, metadata, ...content} = wanted;
  const prefix = hashAnnotation.slice(0, hashAnnotation.indexOf('/') + 1);
  const values = (before: DeepReadonly<Record<string, string>> = {}, after: Record<string, string> = {}) => {
    const ours = Object.keys(before).filter(name => name.startsWith(prefix));
    return mergePatch(before, {...Object.fromEntries(ours.map(name => [name, null])), ...after}, 1);
  };
  const {resourceVersion, labels, annotations} = known.metadata;
  return {
    ...(mergePatch(known, content, 2) as object),
    metadata: {
      ...(resourceVersion && {resourceVersion}),
      labels: values(labels, metadata.labels),
      annotations: values(annotations, metadata.annotations),
    },
  };
}

/**
 * Writes `status` if it differs from the status of the object that was read. The whole status is ours: a field that is
 * not in `status` is removed.
 */
export async function applyStatusIfChanged<T extends KubeObject & {status?: unknown}>(
  client: KubeClient,
  resource: ResourceType<T>,
  read: DeepReadonly<T>,
  status: DeepReadonly<NonNullable<T['status']>>,
  options: CallOptions = {},
): Promise<ApplyResult<T>> {
  const wanted = plain(status);
  if (isDeepStrictEqual(read.status, wanted)) return {changed: false, object: read};
  // At the resourceVersion that was read: a Conflict if the object has changed since, or if it is another object of the
  // same name.
  const {resourceVersion} = read.metadata;
  const patch = {...(resourceVersion && {metadata: {resourceVersion}}), status: mergePatch(read.status, wanted)};
  const object = await client.patch(resource, objectKey(read), patch, {...options, subresource: 'status'});
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
  const hash = createHash('sha256')
    .update(canonicalJson(withoutNulls(wanted)))
    .digest('hex')
    .slice(0, 32);
  const annotations = {...wanted.metadata.annotations, [annotation]: hash};
  return {...wanted, metadata: {...wanted.metadata, annotations}};
}

/** The value after a round trip through JSON, which drops undefined fields. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The same text for the same content, in any order of its keys. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  });
}

/**
 * Whether `actual` has everything in `wanted`, and nothing where that is null. Objects may have further keys (defaults,
 * fields of others). Lists must have the same length and order, and each element must contain the wanted one.
 * Exceptions: owner references are identified by uid, and both they and finalizers may be among others.
 */
export function includes(actual: unknown, wanted: unknown, field = ''): boolean {
  if (Array.isArray(wanted)) return Array.isArray(actual) && includesList(actual, wanted, field);
  if (typeof wanted === 'object' && wanted !== null) {
    if (typeof actual !== 'object' || actual === null) return false;
    const held = actual as Record<string, unknown>;
    return Object.entries(wanted).every(([key, value]) => includes(held[key], value, key));
  }
  return actual === wanted || (wanted === null && actual === undefined);
}

function includesList(actual: readonly unknown[], wanted: readonly unknown[], field: string): boolean {
  if (field === 'ownerReferences' || field === 'finalizers') {
    return wanted.every(item => actual.some(other => includes(other, item)));
  }
  return actual.length === wanted.length && wanted.every((item, index) => includes(actual[index], item));
}
