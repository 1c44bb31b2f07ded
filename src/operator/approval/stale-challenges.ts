/**
 * Challenges that nothing justifies any longer: their namespace has lost the host, or their request has failed. The
 * policy refuses new ones of the first kind. This controller withdraws open ones, also after a restart, and also if an
 * operator died while withdrawing.
 */
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly, KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import {accountOf, holderOf} from '../model/account.ts';
import {hasFailed} from '../model/certificate-request.ts';
import {CERTIFICATE_REQUEST, type Challenge, DOMAIN_CLAIM, type DomainClaim, ORDER} from '../model/kinds.ts';
import type {ApiAccess, Context, Operator} from '../state/context.ts';
import {hasOpenRequest} from './open-challenges.ts';
import {releaseChallenge, withdrawChallenge, withdrawOrder} from './withdraw.ts';

/** How long cert-manager may take to clean up before Nameplate ends the challenge without it. */
const CLEANUP_MS = 60_000;
const HANGS =
  'cert-manager has still not cleaned up this challenge after a minute. Nameplate removes its finalizer, so that it delays no other challenge for its host. A DNS record of the challenge may be left at the DNS provider; delete it there.';

/** Keys are "namespace/name". */
export function reconcileChallenge(operator: Operator): Reconcile {
  const {stores, knownSince, logger} = operator;
  const caches = [
    stores.claims,
    stores.namespaces,
    ...(stores.certificateRequests ? [stores.certificateRequests] : []),
  ];
  return async (key, {client, signal}) => {
    const context = {...operator, client, signal};
    const challenge = stores.challenges.get(key);
    if (!challenge) return done();
    if (caches.some(({state}) => state !== 'synced')) return after(1000);
    const host = challenge.spec.dnsName;
    const reason = await reasonToWithdraw(context, challenge);
    if (!reason) return done();
    const {deletionTimestamp, uid} = challenge.metadata;
    if (!deletionTimestamp) logger.info({challenge: key, host}, `Withdrawing a challenge: ${reason}.`);
    const leftMs = deletionTimestamp
      ? knownSince.leftMs(`deleted ${uid}`, Date.parse(deletionTimestamp), CLEANUP_MS)
      : CLEANUP_MS;
    if (leftMs <= 0) {
      // First, because a stuck challenge blocks the next holder's, and the steps after this may fail.
      logger.warn({challenge: key, host}, HANGS);
      operator.events.event(challenge, 'Warning', 'CleanupHangs', 'Withdraw', HANGS);
      await releaseChallenge(context, challenge);
    }
    await withdrawChallenge(context, challenge);
    return leftMs > 0 ? after(leftMs) : done();
  };
}

/** For the log. */
async function reasonToWithdraw(context: Context, challenge: DeepReadonly<Challenge>): Promise<string | undefined> {
  if (await isForLostHost(context, challenge)) return 'its namespace has lost the host';
  // A request in progress explains the challenge; without approval, the operator does not judge requests.
  if (!context.stores.certificateRequests || hasOpenRequest(context, challenge)) return undefined;
  const order = await ownerOf(context, ORDER, challenge);
  if (order === 'gone') return 'its Order is gone';
  const request = order && (await ownerOf(context, CERTIFICATE_REQUEST, order));
  if (!order || !request || request === 'gone' || !hasFailed(request)) return undefined;
  await withdrawOrder(context, order);
  return 'its certificate request has failed';
}

/** Decided by the caches first, and then confirmed at the API server. */
export async function isForLostHost(context: Context, challenge: DeepReadonly<Challenge>): Promise<boolean> {
  const {client, signal, stores} = context;
  const name = challenge.spec.dnsName;
  if (!isLost(context, challenge, stores.claims.get(name))) return false;
  return isLost(context, challenge, await client.get(DOMAIN_CLAIM, {name}, {signal}));
}

/** Undefined if it has no owner of this kind: cert-manager did not create it. */
async function ownerOf<T extends KubeObject>(
  {client, signal}: ApiAccess,
  kind: ResourceType<T>,
  {metadata: {namespace, ownerReferences = []}}: DeepReadonly<KubeObject>,
): Promise<T | 'gone' | undefined> {
  const reference = ownerReferences.find(owner => owner.kind === kind.kind && owner.controller);
  if (!reference) return undefined;
  const owner = await client.get(kind, {namespace, name: reference.name}, {signal});
  return owner?.metadata.uid === reference.uid ? owner : 'gone';
}

/** Another namespace holds the host, or this one released it. If nobody ever claimed it, nothing was lost. */
function isLost(
  {stores, config}: Operator,
  {metadata: {namespace = ''}}: DeepReadonly<Challenge>,
  claim: DeepReadonly<DomainClaim> | undefined,
): boolean {
  if (config.certificates.approval.exemptNamespaces.includes(namespace)) return false;
  const object = stores.namespaces.get(namespace);
  if (!claim || !object) return false;
  return holderOf(claim, accountOf(object, config), namespace) !== 'us';
}
