/**
 * What delays a certificate: what a former holder left, a pause after failures, and the CA's budget of orders. Each
 * function returns undefined if nothing does.
 */
import {timestamp} from '../../api/conditions.ts';
import {recordHasRoom} from '../../api/held-hosts-size.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {budgetBlockedUntilMs, pausedUntilMs} from '../issuance/certificate.ts';
import {explainShortage} from '../issuance/explain-shortage.ts';
import {caAccountOf} from '../model/ca-account.ts';
import {type Certificate, HELD_HOSTS_NAME} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {INDEX} from '../state/stores.ts';
import {CertificateReady} from './conditions.ts';
import {hasUsableCertificate, type NextCertificate, nextOf} from './held-certificate.ts';
import {before, claimId, type DomainView} from './view.ts';

/** After this time, nothing left by the former holder can delay the new holder. */
const WITHDRAWAL_MS = 60_000;
/** How often a host that is not in the record looks whether there is still room for it. */
const RECORD_MS = 60_000;

/** A first certificate waits until no former holder blocks it, and the policy on challenges knows the host. */
export function awaitWithdrawal(operator: Operator, view: DomainView): NextCertificate | undefined {
  const {stores, logger, knownSince} = operator;
  const {host, namespace, claim, nowMs} = view;
  if (stores.heldHosts.state === 'synced') {
    const record = stores.heldHosts.get(`${namespace}/${HELD_HOSTS_NAME}`);
    if (record?.spec.hosts[host] === undefined) return awaitRecord(operator, view, record?.spec.hosts ?? {});
  }
  const left = ofOthers(operator, view);
  if (left.length === 0) return undefined;
  const leftMs = claim ? knownSince.leftMs(claimId(claim), Date.parse(claim.spec.since), WITHDRAWAL_MS) : 0;
  if (leftMs > 0) return nextOf(CertificateReady.waitingForWithdrawal(), {wakeAtMs: nowMs + leftMs});
  logger.warn({host, namespace, left}, 'Requesting a certificate although the former holder has open requests.');
  return undefined;
}

function awaitRecord(
  {recordRefusals}: Operator,
  view: DomainView,
  recorded: Readonly<Record<string, string>>,
): NextCertificate {
  const {host, namespace, nowMs} = view;
  const refusal = recordRefusals.get(namespace);
  if (refusal !== undefined) {
    const what = `HeldHosts ${HELD_HOSTS_NAME}, the record of the hosts that this namespace holds`;
    return nextOf(CertificateReady.refused(refusal, hasUsableCertificate(view), what));
  }
  if (!recordHasRoom(recorded, host)) {
    return nextOf(CertificateReady.namespaceFull(namespace, Object.keys(recorded).length));
  }
  // A change of the record requeues only the hosts that it concerns, so nothing else tells this one that it is full.
  return nextOf(CertificateReady.waitingForRecord(), {wakeAtMs: nowMs + RECORD_MS});
}

/** "Kind namespace/name" of what could still become a certificate for the host in another namespace. */
function ofOthers({stores}: Operator, {host, namespace}: DomainView): string[] {
  const {heldHosts, challenges, certificateRequests} = stores;
  const found = [heldHosts, challenges, ...(certificateRequests ? [certificateRequests] : [])].flatMap(store => [
    ...store.byIndex(INDEX.host, host),
  ]);
  const others = found.filter(({metadata}) => metadata.namespace !== namespace);
  return others.map(object => `${object.kind} ${keyOf(object)}`);
}

/**
 * Re-adding a host avoids neither the pause nor the budget, because the claim remembers the failures. A verify request
 * ends the pause, but cannot exceed the budget.
 */
export function awaitNextAttempt({config}: Operator, view: DomainView): NextCertificate | undefined {
  const {claim, nowMs, host} = view;
  const {failures = [], accountSince = ''} = claim?.spec ?? {};
  const blockedUntilMs = budgetBlockedUntilMs(failures, config.certificates, nowMs);
  const own = failures.filter(time => time >= accountSince); // those of a former holder had their own cause
  const untilMs = blockedUntilMs ?? (isRequested(view) ? undefined : pausedUntilMs(own, nowMs));
  if (untilMs === undefined) return undefined;
  const next = timestamp(untilMs);
  const condition =
    blockedUntilMs === undefined
      ? CertificateReady.failed(host, 'the last attempts failed, before the host was removed and added again.', next)
      : CertificateReady.rateLimited('Too many certificate attempts have failed for this host.', next);
  return nextOf(condition, {nextAttemptAtMs: untilMs, wakeAtMs: untilMs});
}

export function isRequested({verifyRequest, check}: DomainView): boolean {
  return verifyRequest !== undefined && check?.request === verifyRequest;
}

/** The time by which the orders are sure to be planned. */
const PLAN_MS = 5_000;

/** Reasons of a host for which an order may be waiting. */
const SHOWS_ORDER: ReadonlySet<string> = new Set(['OrderBudget', 'RenewalFailing', 'Expired']);

/**
 * A certificate that is requested, and whose order waits for the CA's budget, or whose request cannot be approved.
 * `isAwaited`: the host needs it.
 */
export function awaitOrder(
  {orderSchedule, config, stores}: Operator,
  view: DomainView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
  isAwaited: boolean,
): NextCertificate | undefined {
  const {key, host, namespace, domain, nowMs} = view;
  const caAccount = stores.certificateRequests && caAccountOf(config, namespace, issuerRef);
  const planned = caAccount === undefined ? undefined : orderSchedule.get(caAccount, key);
  if (planned === undefined) return undefined;
  if (planned !== 'unknown' && planned.refusal !== undefined) {
    const what = 'the decision on the certificate request';
    return nextOf(CertificateReady.refused(planned.refusal, hasUsableCertificate(view), what));
  }
  if (!isAwaited) return undefined;
  const last = before(view, 'CertificateReady');
  const shownMs = SHOWS_ORDER.has(last?.reason ?? '')
    ? Date.parse(domain.status?.certificate?.nextAttemptAt ?? '')
    : Number.NaN;
  if (planned === 'unknown') {
    // After a restart, until the orders are planned again, the last condition remains.
    if (last?.reason !== 'OrderBudget' || Number.isNaN(shownMs)) return undefined;
    return nextOf({...last, type: 'CertificateReady'}, {nextAttemptAtMs: shownMs, wakeAtMs: nowMs + PLAN_MS});
  }
  // Other orders come and go, and the plan shifts each time: a published time stays unless the order can be earlier.
  const atMs = shownMs > nowMs ? Math.min(shownMs, planned.atMs) : planned.atMs;
  const why = explainShortage(planned.shortage ?? 'orders', host, config.certificates);
  const condition = CertificateReady.awaitsOrder(why, timestamp(atMs));
  return nextOf(condition, {nextAttemptAtMs: atMs, wakeAtMs: atMs});
}
