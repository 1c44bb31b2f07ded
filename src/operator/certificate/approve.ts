/**
 * Approves the certificate requests that `decide` allows and denies all others, so that no tenant gets a certificate
 * for a host that it does not hold, whatever Certificate or CertificateRequest it writes. Deletes an approved request
 * that it would no longer approve. Replaces cert-manager's own approver:
 * https://cert-manager.io/docs/usage/certificaterequest/#approval
 */
import {timestamp} from '../../api/conditions.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import type {Base, BaseContext} from '../caches/context.ts';
import {deleteAsRead} from '../caches/fresh.ts';
import type {KnownSince} from '../caches/known-since.ts';
import {isPausedHost, isPausedNamespace} from '../caches/paused.ts';
import {isDecided, isOurs, isWithdrawable, requestedHost} from '../kinds/certificate-request.ts';
import {hostKey} from '../kinds/derived-names.ts';
import {CERTIFICATE_REQUEST, type CertificateRequest} from '../kinds/kinds.ts';
import {explainRefusal} from '../kinds/steps.ts';
import {type Decision, decide, decideFreshly} from './decide.ts';

/** A denial is permanent, so it waits until the caches have certainly seen the claim that a request may depend on. */
const GRACE_MS = 10_000;

export function isNew(knownSince: KnownSince, {metadata}: DeepReadonly<CertificateRequest>): boolean {
  return knownSince.leftMs(`${metadata.uid}`, Date.parse(metadata.creationTimestamp ?? ''), GRACE_MS) > 0;
}

/** How often to look whether a pause that holds back an approval has ended. */
const PAUSED_MS = 5_000;

/** Keys are "namespace/name". */
export function reconcileCertificateRequest(operator: Base): Reconcile {
  const {stores, config, knownSince} = operator;
  return async (key, {client, signal}) => {
    const context = {...operator, client, signal};
    const request = stores.certificateRequests.get(key);
    if (!request || request.metadata.deletionTimestamp) return done();
    if ([stores.claims, stores.namespaces, stores.certificates].some(({state}) => state !== 'synced'))
      return after(1000);
    const isApproved = isWithdrawable(config, request);
    if (!isApproved && (isDecided(request) || !isOurs(config, request))) return done();
    const decision = decide(operator, request);
    // The content of the request is certain, and so is a claim that has moved: the API server confirms it. Anything
    // else may be a cache that lags behind.
    const {reason} = decision;
    const isContent = reason === 'NotOneHost' || reason === 'SubjectNotAllowed';
    const isCertain = isContent || (isApproved && reason === 'HostNotHeld');
    if (decision.type === 'Denied' && !isCertain && isNew(knownSince, request)) return after(1000);
    if (isApproved) {
      if (decision.type === 'Denied') await withdrawUnlessAllowed(context, request);
      return done();
    }
    if (decision.type === 'Approved' && isPaused(operator, request, decision)) return after(PAUSED_MS);
    const fresh = await decideFreshly(context, request, {isDenied: decision.type === 'Denied'});
    if (fresh.decision.type !== decision.type) return after(1000); // a cache lags behind
    await writeDecision(context, request, fresh.decision);
    return done();
  };
}

function isPaused(operator: Base, {metadata}: DeepReadonly<CertificateRequest>, {host}: Decision): boolean {
  const {namespace = ''} = metadata;
  return host === undefined ? isPausedNamespace(operator, namespace) : isPausedHost(operator, hostKey(namespace, host));
}

/** An approval cannot be taken back, but without its request, no issuer acts on it. */
async function withdrawUnlessAllowed(context: BaseContext, request: DeepReadonly<CertificateRequest>): Promise<void> {
  const {decision} = await decideFreshly(context, request, {isDenied: true});
  if (decision.type === 'Approved') return;
  const {reason, message} = decision;
  const host = requestedHost(request) ?? '';
  context.logger.info(
    {request: keyOf(request), host, reason},
    `Withdrawing an approved certificate request: ${message}`,
  );
  await deleteAsRead(context, CERTIFICATE_REQUEST, request);
}

/** An Event on the request says why the API server rejects the decision: a request has no condition of ours. */
async function writeDecision(
  {clock, client, signal, events}: BaseContext,
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
