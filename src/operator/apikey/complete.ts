/**
 * Records, once, the keys that were issued before records existed, and then creates a record that says so. Until that
 * record exists, the messages API judges no key: it neither refuses a key that has no record yet, nor trusts an
 * APIKey's status.
 */
import {API_VERSION} from '../../api/names.ts';
import type {APIKey} from '../../keys/apikey.ts';
import {COMPLETE, KEY_CLAIM, type KeyClaim} from '../../keys/keyclaim.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {accountId} from '../model/account.ts';
import type {Operator} from '../state/context.ts';
import {claimUnrecorded, ignoreAlreadyExists} from './claim.ts';
import type {FirstHolder} from './first-holder.ts';
import {KeySecrets} from './read-secret.ts';
import {createdMs} from './secret.ts';

/** How many APIKeys are recorded in parallel; each costs two requests. */
const AT_ONCE = 8;
/** The time limit of one reconcile, well below its deadline; the next one continues where it ended. */
const TURN_MS = 20_000;

/** The only key is the name of the record. */
export function completeKeyClaims(operator: Operator): Reconcile {
  const {stores, clock} = operator;
  const recorded = {current: new Set<string | undefined>(), previous: new Set<string | undefined>()};
  return async (_key, {client, signal}) => {
    if (stores.keyClaims.get(COMPLETE)) {
      recorded.current.clear();
      recorded.previous.clear();
      return done();
    }
    const isKnown = [stores.keyClaims, stores.apiKeys, stores.namespaces].every(({state}) => state === 'synced');
    if (!isKnown) return after(1000);
    const untilMs = clock.monotonic() + TURN_MS;
    // All current keys first: a Secret has only the hash of its previous key, which proves nothing.
    for (const which of ['current', 'previous'] as const) {
      const waiting = [...stores.apiKeys.list()].filter(({metadata}) => !recorded[which].has(metadata.uid));
      const oldestFirst = waiting.toSorted((a, b) => createdMs(a) - createdMs(b));
      while (oldestFirst.length > 0) {
        if (clock.monotonic() > untilMs) return after(0);
        const batch = oldestFirst.splice(0, AT_ONCE);
        await Promise.all(batch.map(apiKey => record(operator, apiKey, which, client, signal)));
        for (const {metadata} of batch) recorded[which].add(metadata.uid);
      }
    }
    const marker: KeyClaim = {apiVersion: API_VERSION, kind: 'KeyClaim', metadata: {name: COMPLETE}, spec: {}};
    await client.create(KEY_CLAIM, marker, {signal}).catch(ignoreAlreadyExists);
    return done();
  };
}

/** Reads the Secret and changes only records: no tenant's write can make this fail or delay it. */
async function record(
  {stores, clock}: Operator,
  apiKey: DeepReadonly<APIKey>,
  which: FirstHolder['which'],
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const namespace = stores.namespaces.get(apiKey.metadata.namespace ?? '');
  if (!namespace || namespace.metadata.deletionTimestamp || apiKey.metadata.deletionTimestamp) return;
  const keySecrets = new KeySecrets();
  const key = (await keySecrets.find(apiKey, undefined, {client, signal}))?.key;
  const context = {apiKey, account: accountId(namespace), stores, keySecrets, nowMs: clock.now(), client, signal};
  if (key) await claimUnrecorded(context, key, which);
}
