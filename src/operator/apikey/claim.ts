/**
 * The records of an APIKey's keys, the only source from which the messages API knows them. A record's name is the hash
 * of the key, and names are unique in the API server, so the API server decides who held the key first. The operator
 * creates a record by POST and changes it by PUT at a resourceVersion; it retries a lost race, which is a Conflict.
 */
import {isDeepStrictEqual} from 'node:util';
import {timestamp} from '../../api/conditions.ts';
import type {KeyClaimSpec} from '../../api/generated/keyclaim.ts';
import {API_VERSION} from '../../api/names.ts';
import {type APIKey, isOverlapOver, KEY_CLAIM, type KeyClaim, letGoMs} from '../../apikey/apikey.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {readFresh} from '../caches/fresh.ts';
import {INDEX, type Stores} from '../caches/stores.ts';
import {comesBefore, type FirstHolder} from './first-holder.ts';
import type {KeySecrets} from './read-secret.ts';
import type {IssuedKey} from './secret.ts';

export interface ClaimContext {
  readonly apiKey: DeepReadonly<APIKey>;
  readonly account: string;
  readonly stores: Stores;
  readonly keySecrets: KeySecrets;
  readonly nowMs: number;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

interface Wanted {
  /** The Secret holds the current key, but only the hash of the previous one, which proves nothing. */
  readonly which: FirstHolder['which'];
  readonly sha256: string;
  /** Only for the previous key. */
  readonly validUntil?: string;
}

/**
 * Records the keys of the APIKey, and releases all others that it held. Returns the hashes that are this APIKey's; a
 * key that another APIKey held first is not among them. Throws Conflict or AlreadyExists if another writer was faster.
 */
export async function claimKeys(context: ClaimContext, key: IssuedKey | undefined): Promise<ReadonlySet<string>> {
  const {apiKey, stores, nowMs, client, signal} = context;
  const held = new Set<string>();
  const wanted = key ? wantedOf(context, key) : [];
  for (const each of wanted) if (await claimKey(context, each)) held.add(each.sha256);
  for (const claim of stores.keyClaims.byIndex(INDEX.uid, apiKey.metadata.uid ?? '')) {
    const isWanted = wanted.some(({sha256}) => sha256 === claim.metadata.name);
    if (!isWanted && letGoMs(claim.spec, nowMs) === undefined) await releaseKey(claim, nowMs, client, signal);
  }
  return held;
}

export async function releaseKey(
  claim: DeepReadonly<KeyClaim>,
  nowMs: number,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  await client.replace(KEY_CLAIM, {...claim, spec: {...claim.spec, releasedAt: timestamp(nowMs)}}, {signal});
}

function wantedOf({apiKey, nowMs}: ClaimContext, {sha256, previous}: IssuedKey): Wanted[] {
  const overlaps = previous && previous.sha256 !== sha256 && !isOverlapOver(apiKey, previous.validUntil, nowMs);
  return [{which: 'current', sha256}, ...(overlaps ? [{which: 'previous', ...previous} as const] : [])];
}

async function claimKey(context: ClaimContext, wanted: Wanted): Promise<boolean> {
  const {client, signal} = context;
  const claim = await recordOf(context, wanted);
  if (!claim) {
    // A previous key got its record while it was current. Without a record, it has ended or was never ours.
    if (wanted.which === 'previous' || (await hasOlderHolder(context, wanted))) return false;
    await createClaim(context, wanted);
    return true;
  }
  if (!mayHave(context, claim)) return false;
  const spec = specOf(context, wanted);
  if (!isDeepStrictEqual(claim.spec, spec)) await client.replace(KEY_CLAIM, {...claim, spec}, {signal});
  return true;
}

/**
 * If the cache is behind, creating a current key's record fails. A previous key's record is read from the API server,
 * because that key must end on time.
 */
async function recordOf(context: ClaimContext, {which, sha256}: Wanted): Promise<DeepReadonly<KeyClaim> | undefined> {
  const cached = context.stores.keyClaims.get(sha256);
  return cached || which === 'current' ? cached : await readFresh(context, KEY_CLAIM, {name: sha256});
}

async function createClaim(context: ClaimContext, wanted: Wanted): Promise<void> {
  const {client, signal} = context;
  const metadata = {name: wanted.sha256};
  const spec = specOf(context, wanted);
  await client.create<KeyClaim>(KEY_CLAIM, {apiVersion: API_VERSION, kind: 'KeyClaim', metadata, spec}, {signal});
}

function specOf({apiKey: {metadata, spec}, account}: ClaimContext, {validUntil}: Wanted): DeepReadonly<KeyClaimSpec> {
  const {name, namespace = '', uid = ''} = metadata;
  const {scopes, expiresAt, revoked} = spec;
  return {
    account,
    namespace,
    name,
    uid,
    scopes,
    ...(expiresAt !== undefined && {expiresAt}),
    ...(revoked && {revoked}),
    ...(validUntil !== undefined && {validUntil}),
  };
}

/**
 * A record stays with its APIKey. Once that APIKey has released the key, or was deleted, another APIKey of the same
 * account may take it: after a restore, an APIKey has another uid. Other accounts wait until the record has lingered,
 * because a leaked key is most often one that was just replaced or deleted, while clients still send it.
 */
function mayHave({apiKey, account, nowMs}: ClaimContext, {spec}: DeepReadonly<KeyClaim>): boolean {
  const {name, namespace, uid} = apiKey.metadata;
  if (spec.uid === uid) return true;
  const isReplaced = spec.namespace === namespace && spec.name === name; // a name has one APIKey, and this one has it
  return spec.account === account && (isReplaced || letGoMs(spec, nowMs) !== undefined);
}

/**
 * If no record shows who was first (a restore without records), the APIKey that shows the key in its status comes first,
 * then the one that has the key and not only its hash, then the older one. A status alone keeps nobody from a key,
 * because a tenant's role may write it: the other APIKey's Secret must hold the key or its hash as well.
 */
async function hasOlderHolder(
  {apiKey, stores, keySecrets, client, signal}: ClaimContext,
  {sha256, which}: Wanted,
): Promise<boolean> {
  for (const other of stores.apiKeys.byIndex(INDEX.sha256, sha256)) {
    if (other.metadata.uid === apiKey.metadata.uid) continue;
    const found = await keySecrets.find(other, undefined, {client, signal});
    const held = heldAs(found?.key, sha256);
    if (held && comesBefore({apiKey: other, which: held}, {apiKey, which}, sha256)) return true;
  }
  return false;
}

function heldAs(key: IssuedKey | undefined, sha256: string): FirstHolder['which'] | undefined {
  if (key?.sha256 === sha256) return 'current';
  return key?.previous?.sha256 === sha256 ? 'previous' : undefined;
}
