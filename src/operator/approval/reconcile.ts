/**
 * Approves the certificate requests that `decide` allows and denies all others, so that no tenant gets a certificate
 * for a host that it does not hold, whatever Certificate or CertificateRequest it writes. Withdraws an approval that
 * it would no longer give. Requests that order from a CA account of the platform wait for ../issuance/place-orders.ts
 * to approve them. Replaces cert-manager's own approver:
 * https://cert-manager.io/docs/usage/certificaterequest/#approval
 */
import {timestamp} from '../../api/conditions.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {caAccountOf} from '../model/ca-account.ts';
import {
  isDecided,
  isForHost,
  isOurs,
  isWithdrawable,
  requestedHost,
  UNANSWERED,
  wasUnanswered,
} from '../model/certificate-request.ts';
import {CERTIFICATE_REQUEST, type CertificateRequest} from '../model/kinds.ts';
import {explainRefusal} from '../model/write-conditions.ts';
import type {Context, Operator} from '../state/context.ts';
import type {KnownSince} from '../state/known-since.ts';
import {isPausedHost, isPausedNamespace} from '../state/paused.ts';
import {type Decision, decide, isOfPlatform} from './decide.ts';
import {decideFreshly} from './decide-freshly.ts';
import {openChallenges} from './open-challenges.ts';
import {accountOfObject, approvalId, Slots} from './slots.ts';
import {failRequest, hasOrder, withdrawOrders, withdrawRequest} from './withdraw.ts';

/** A denial is permanent, so it waits until the caches have certainly seen the claim that a request may depend on. */
const GRACE_MS = 10_000;

export function isNew(knownSince: KnownSince, {metadata}: DeepReadonly<CertificateRequest>): boolean {
  return knownSince.leftMs(`${metadata.uid}`, Date.parse(metadata.creationTimestamp ?? ''), GRACE_MS) > 0;
}

/** How often to look whether a request that waits for its order must be denied: whatever allowed it may be gone. */
const ORDER_MS = 60_000;

/** How often to look whether a pause that holds back an approval has ended. */
export const PAUSED_MS = 5_000;

/** Keys are "namespace/name". */
export function reconcileCertificateRequest(operator: Operator): Reconcile {
  const {stores, config, knownSince} = operator;
  return async (key, {client, signal}) => {
    const context = {...operator, client, signal};
    const request = stores.certificateRequests?.get(key);
    if (!request || request.metadata.deletionTimestamp) return done();
    if ([stores.claims, stores.namespaces, stores.certificates].some(({state}) => state !== 'synced'))
      return after(1000);
    if (isDecided(request) && wasUnanswered(request)) {
      await withdrawOrders(context, request);
      return done();
    }
    const isApproved = isWithdrawable(config, request);
    if (!isApproved && (isDecided(request) || !isOurs(config, request))) return done();
    const decision = decide(operator, request);
    // What the request contains is certain, and so is a claim that has moved: the API server confirms it. Everything
    // else may be a cache that lags behind.
    const {reason} = decision;
    const isContent = reason === 'NotOneHost' || reason === 'SubjectNotAllowed';
    const isCertain = isContent || (isApproved && reason === 'HostNotHeld');
    if (decision.type === 'Denied' && !isCertain && isNew(knownSince, request)) return after(1000);
    if (isApproved) {
      if (decision.type === 'Approved') return endIfOverdue(context, request);
      await withdrawUnlessAllowed(context, request);
      return done();
    }
    // It orders from the platform's account at the CA: reconcileOrders approves it. Until then, it may lose its host.
    const caAccount = caAccountOf(config, request.metadata.namespace ?? '', request.spec.issuerRef);
    if (decision.host !== undefined && caAccount !== undefined) return after(ORDER_MS);
    if (decision.type === 'Approved' && isPaused(operator, request, decision)) return after(PAUSED_MS);
    const needsSlot = decision.type === 'Approved' && decision.host !== undefined;
    if (needsSlot && !reserveSlot(operator, request)) return after(1000);
    const isWritten = await operator.reservations.releaseUnless(request, async () => {
      const fresh = await decideFreshly(context, request, {isDenied: decision.type === 'Denied'});
      if (fresh.decision.type !== decision.type) return false;
      await writeDecision(context, request, fresh.decision);
      return true;
    });
    return isWritten ? done() : after(1000); // a cache lags behind
  };
}

function isPaused(operator: Operator, {metadata}: DeepReadonly<CertificateRequest>, {host}: Decision): boolean {
  const {namespace = ''} = metadata;
  return host === undefined ? isPausedNamespace(operator, namespace) : isPausedHost(operator, `${namespace}/${host}`);
}

function reserveSlot(operator: Operator, request: DeepReadonly<CertificateRequest>): boolean {
  const account = accountOfObject(operator, request);
  if (!new Slots(operator).take(account, false)) return false;
  operator.reservations.add(account, request);
  return true;
}

async function withdrawUnlessAllowed(context: Context, request: DeepReadonly<CertificateRequest>): Promise<void> {
  const {decision} = await decideFreshly(context, request, {isDenied: true});
  if (decision.type === 'Approved') return;
  const {reason, message} = decision;
  const host = requestedHost(request) ?? '';
  context.logger.info(
    {request: keyOf(request), host, reason},
    `Withdrawing an approved certificate request: ${message}`,
  );
  await withdrawRequest(context, request);
}

/**
 * A challenge that is never solved occupies one of the few slots for challenges that cert-manager processes at a time.
 */
async function endIfOverdue(context: Context, request: DeepReadonly<CertificateRequest>): Promise<Outcome> {
  if (!isForHost(request)) return done(); // the platform's own requests may take longer
  const {timeoutSeconds} = context.config.certificates.challenges;
  // Regardless of the wall clock, a request that this process approves or finds in progress gets the whole time.
  const leftMs = timeoutSeconds * 1000 - context.knownSince.ageMs(approvalId(request));
  if (leftMs > 0) return after(leftMs);
  const challenges = openChallenges(context, request).filter(({status}) => status?.state !== 'valid');
  if (challenges.length === 0) return endIfUnanswered(context, request);
  // One that cert-manager does not process yet waits behind others; each change of a challenge triggers this again.
  if (!challenges.some(({status}) => status?.processing)) return done();
  const host = requestedHost(request) ?? '';
  context.logger.info(
    {request: keyOf(request), host},
    'Ending a certificate request whose challenge was not solved in time.',
  );
  const message = `The challenge for ${host} was not solved within ${timeoutSeconds} seconds. Check that ${host} points to this platform and that nothing in this namespace answers in place of the solver.`;
  await failRequest(context, request, message);
  return done();
}

/**
 * A tenant's ACME server that never answers occupies workers of cert-manager. The platform's own CA may take as long as
 * it needs: after an outage, nobody should have to wait because of a failed attempt. The failed request then loses its
 * Orders, which nothing else would delete: cert-manager would keep querying the server. A request without an Order is
 * of another type of issuer.
 */
async function endIfUnanswered(context: Context, request: DeepReadonly<CertificateRequest>): Promise<Outcome> {
  if (isOfPlatform(context.config, request) || !(await hasOrder(context, request))) return done();
  const {timeoutSeconds} = context.config.certificates.challenges;
  const message = `${UNANSWERED}has not issued the certificate within ${timeoutSeconds} seconds, and no challenge is in progress. Check that it answers, with one authorization for each name of the order, or use the platform's issuer. cert-manager will retry.`;
  const {name} = request.spec.issuerRef;
  context.logger.warn(
    {request: keyOf(request), issuer: name},
    'Ending a request that its ACME server has not answered.',
  );
  await failRequest(context, request, message);
  return done();
}

/** An Event on the request says why the API server rejects the decision: a request has no condition of ours. */
export async function writeDecision(
  {clock, client, signal, events}: Context,
  request: DeepReadonly<CertificateRequest>,
  {type, reason, message}: Decision,
): Promise<void> {
  const {name, namespace = '', resourceVersion = ''} = request.metadata;
  const condition = {type, status: 'True', reason, message, lastTransitionTime: timestamp(clock.now())};
  // At the version that was read: otherwise, a new request of the same name would get this one's decision.
  const asRead = {name, namespace, resourceVersion};
  const identity = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata: asRead};
  try {
    await client.applyStatus(CERTIFICATE_REQUEST, {...identity, status: {conditions: [condition]}}, {signal});
  } catch (error) {
    if (classifyFailure(error) === 'refusal') {
      const note = explainRefusal('the decision on this request', (error as Error).message);
      events.event(request, 'Warning', 'DecisionRefused', 'Decide', note);
    }
    throw error;
  }
}
