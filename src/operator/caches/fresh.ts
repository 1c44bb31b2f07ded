/**
 * Confirms at the API server what justifies an irrevocable act, immediately before the act: a cache may be minutes
 * behind if its watch hangs. If the API server does not confirm what the cache says, the caller waits for the cache.
 * The act itself names the version that it concerns: a former leader's request may still be on its way, and a Lease
 * stops nothing that was already sent.
 */
import {identify} from '../../runtime/apply/corrections.ts';
import {RequeueError} from '../../runtime/controller/outcome.ts';
import {isConflict} from '../../runtime/kube/errors.ts';
import {findByName} from '../../runtime/kube/find-by-name.ts';
import {
  type DeepReadonly,
  type KubeObject,
  type ObjectKey,
  objectKey,
  type ResourceType,
} from '../../runtime/kube/object.ts';
import {NAMESPACE} from '../kinds/kinds.ts';
import type {ApiAccess, Base} from './context.ts';

/** How long to wait for a cache that the API server contradicts. */
export const BEHIND_MS = 1000;

/** The API server does not confirm what the cache says, so a step has done nothing. */
export class BehindError extends RequeueError {
  override readonly name = 'BehindError';

  constructor() {
    super(BEHIND_MS, 'the API server does not confirm what the cache says');
  }
}

/** Undefined if the object does not exist. Fails if the kind is not installed. */
export function readFresh<T extends KubeObject>(
  {client, signal}: ApiAccess,
  resource: ResourceType<T>,
  key: ObjectKey,
  {metadataOnly = false} = {},
): Promise<T | undefined> {
  return findByName(client, resource, key, {metadataOnly, signal});
}

/** Whether an object no longer exists, or goes with its namespace, even if a finalizer delays its deletion. */
export async function isGone(api: ApiAccess, resource: ResourceType, key: string): Promise<boolean> {
  const [namespace = '', name = ''] = key.split('/');
  const object = await readFresh(api, resource, {namespace, name}, {metadataOnly: true});
  if (!object || object.metadata.deletionTimestamp) return true;
  const holder = await readFresh(api, NAMESPACE, {name: namespace}, {metadataOnly: true});
  return !holder || holder.metadata.deletionTimestamp !== undefined;
}

/** With the counts of corrections, if what is deleted may be created again. */
type Deleting = ApiAccess & Partial<Pick<Base, 'corrections'>>;

/**
 * Deletes an object at the version that the cache has. If it was written since, and is still the same object, judges
 * again and deletes it at its current version: a withdrawal must not wait for the cache.
 */
export async function deleteJudged(
  api: Deleting,
  resource: ResourceType,
  object: DeepReadonly<KubeObject>,
  isJustified: () => Promise<boolean>,
): Promise<void> {
  const {uid} = object.metadata;
  try {
    await deleteAsRead(api, resource, object);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const current = await readFresh(api, resource, objectKey(object), {metadataOnly: true});
    if (!current || current.metadata.uid !== uid || !(await isJustified())) throw error;
    await deleteAsRead(api, resource, current);
  }
}

/** Throws Conflict if the object was written since. */
export async function deleteAsRead(
  {client, signal, corrections}: Deleting,
  resource: ResourceType,
  object: DeepReadonly<KubeObject>,
): Promise<void> {
  const {uid, resourceVersion} = object.metadata;
  const preconditions = {...(uid && {uid}), ...(resourceVersion && {resourceVersion})};
  await client.delete(resource, objectKey(object), {preconditions, signal});
  corrections?.forget(identify(resource, object));
}
