/** Ends the records of keys whose APIKey is gone, and deletes those that have lingered. */
import {API_KEY, type APIKey, KEY_CLAIM, type KeyClaim, letGoMs} from '../../apikey/apikey.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import {BEHIND_MS, deleteAsRead} from '../caches/fresh.ts';
import {INDEX, isTerminating, type Stores} from '../caches/stores.ts';
import type {OperatorConfig} from '../config/config.ts';
import {releaseKey} from './claim.ts';

/** A tenant can replace and delete keys as fast as it likes: at most this many ended records may remain per account. */
const ENDING_PER_ACCOUNT = 1000;

interface ReleaseParts {
  readonly stores: Pick<Stores, 'keyClaims' | 'apiKeys' | 'namespaces'>;
  readonly config: Pick<OperatorConfig, 'claims'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Keys are hashes. An APIKey that is missing from the cache proves nothing, so the operator confirms at the API server
 * that it is gone before it ends a key and before it deletes the record. The deletion of a namespace is final, but a
 * finalizer in it can delay the deletion of its APIKeys indefinitely: their keys end when it begins.
 */
export function reconcileKeyClaim({stores, config, clock}: ReleaseParts): Reconcile {
  return async (sha256, {client, signal}) => {
    const claim = stores.keyClaims.get(sha256);
    if (!claim || claim.metadata.deletionTimestamp) return done();
    if (stores.apiKeys.state !== 'synced') return after(BEHIND_MS);
    const nowMs = clock.now();
    const {namespace, name, validUntil} = claim.spec;
    const goesWithNamespace = isTerminating(stores, namespace);
    const isSeen = !goesWithNamespace && isHolder(stores.apiKeys.get(`${namespace}/${name}`), claim);
    const sinceMs = letGoMs(claim.spec, nowMs);
    if (sinceMs === undefined && isSeen) return validUntil ? after(Date.parse(validUntil) - nowMs) : done();
    const leftMs = (sinceMs ?? nowMs) + config.claims.lingerSeconds * 1000 - nowMs;
    if (sinceMs !== undefined && leftMs > 0 && crowdedOut(stores, claim, nowMs) !== sha256) return after(leftMs);
    // An existing APIKey released this key because of its Secret, which was read from the API server.
    if (!isSeen && !goesWithNamespace && !(await isGone(claim, client, signal))) return after(BEHIND_MS);
    if (sinceMs === undefined) {
      await releaseKey(claim, nowMs, client, signal);
      return after(leftMs);
    }
    await deleteAsRead({client, signal}, KEY_CLAIM, claim);
    return done();
  };
}

/**
 * The record that ended first, for an account with more ended records than may remain; its deletion triggers the next
 * one. The index keeps the order in which the records got their end.
 */
export function crowdedOut(
  {keyClaims}: Pick<Stores, 'keyClaims'>,
  {spec}: DeepReadonly<KeyClaim>,
  nowMs: number,
): string | undefined {
  const ending = keyClaims.byIndex(INDEX.ending, spec.account);
  if (ending.length <= ENDING_PER_ACCOUNT) return undefined;
  return ending.find(claim => letGoMs(claim.spec, nowMs) !== undefined)?.metadata.name;
}

async function isGone({spec}: DeepReadonly<KeyClaim>, client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const {namespace, name} = spec;
  return !isHolder(await client.get(API_KEY, {namespace, name}, {signal}), {spec});
}

/** An APIKey that is being deleted holds nothing, no matter how long its finalizers keep it. */
function isHolder(apiKey: DeepReadonly<APIKey> | undefined, {spec}: Pick<DeepReadonly<KeyClaim>, 'spec'>): boolean {
  return apiKey !== undefined && apiKey.metadata.uid === spec.uid && !apiKey.metadata.deletionTimestamp;
}
