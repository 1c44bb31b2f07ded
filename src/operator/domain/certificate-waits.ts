/**
 * The delays of a certificate: a pause after failures, and the CA's budget of orders. Each function returns undefined if
 * there is none.
 */
import {timestamp} from '../../api/conditions.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {pausedUntilMs} from '../certificate/certificate.ts';
import {explainShortage, limitsOf} from '../claim/order-windows.ts';
import {acmeIssuerOf} from '../kinds/issuers.ts';
import type {Certificate} from '../kinds/kinds.ts';
import {CertificateReady} from './conditions.ts';
import type {HostOperator} from './context.ts';
import {type NextCertificate, nextOf, reported} from './held-certificate.ts';
import {before, type HostView} from './host-view.ts';

/** Re-adding a host does not avoid the pause, because the claim remembers the failures. A verify request ends it. */
export function awaitNextAttempt({claim, nowMs, isRequested, again}: HostView): NextCertificate | undefined {
  const {failures = [], accountSince = ''} = claim?.spec ?? {};
  const own = failures.filter(time => time >= accountSince); // those of a former holder had their own cause
  const untilMs = isRequested ? undefined : pausedUntilMs(own, nowMs);
  if (untilMs === undefined) return undefined;
  const why = 'the last attempts failed, before the host was removed and added again.';
  const condition = CertificateReady.failed(why, timestamp(untilMs), again);
  return nextOf(condition, {nextAttemptAtMs: untilMs, wakeAtMs: untilMs});
}

/** The time by which the orders are sure to be planned. */
const PLAN_MS = 5_000;

/** Reasons of a Domain for which an order may be waiting. */
const SHOWS_ORDER: ReadonlySet<string> = new Set(['OrderBudget', 'RenewalFailing', 'Expired']);
/** Of a Domain, and of a Project. */
const QUEUED: ReadonlySet<string> = new Set(['OrderBudget', 'CertificateNotReady']);

interface OrderSources extends Pick<HostOperator, 'orderSchedule'> {
  readonly stores: {readonly acmeIssuers: Pick<HostOperator['stores']['acmeIssuers'], 'get'>};
}

/**
 * A certificate that is requested, and whose order waits for the CA's budget. A Project reports no time: it has no field
 * for it, and each estimate would be another message. `isAwaited`: the host needs the certificate.
 */
export function awaitOrder(
  {orderSchedule, stores}: OrderSources,
  view: HostView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
  isAwaited: boolean,
): NextCertificate | undefined {
  const {key, host, owner, nowMs} = view;
  const issuer = stores.acmeIssuers.get(acmeIssuerOf(issuerRef) ?? '');
  const planned = issuer && orderSchedule.get(issuer.metadata.name, key);
  if (!issuer || planned === undefined || !isAwaited) return undefined;
  const last = before(view, 'CertificateReady');
  const shownMs = SHOWS_ORDER.has(last?.reason ?? '') ? Date.parse(reported(owner)?.nextAttemptAt ?? '') : Number.NaN;
  if (planned === 'unknown') {
    // After a restart, until the orders are planned again, the last condition remains.
    if (!last || !QUEUED.has(last.reason)) return undefined;
    const shown = Number.isNaN(shownMs) ? {} : {nextAttemptAtMs: shownMs};
    return nextOf({...last, type: 'CertificateReady'}, {...shown, wakeAtMs: nowMs + PLAN_MS});
  }
  // Other orders come and go, and the plan shifts each time: a published time stays unless the order can be earlier.
  const atMs = shownMs > nowMs ? Math.min(shownMs, planned.atMs) : planned.atMs;
  const why = explainShortage(planned.shortage, host, limitsOf(issuer.spec));
  const condition = CertificateReady.awaitsOrder(why, view.isDefault ? undefined : timestamp(atMs));
  return nextOf(condition, {nextAttemptAtMs: atMs, wakeAtMs: atMs});
}
