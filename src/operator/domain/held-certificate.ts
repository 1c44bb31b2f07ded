/** The certificate that the host has now, whatever becomes of the next one. */
import {findCondition, timestamp} from '../../api/conditions.ts';
import {
  type CertificateDates,
  certifiedBy,
  changesAtMs,
  datesOf,
  type HeldCertificate,
  heldCertificate,
} from '../certificate/certificate.ts';
import {earliest} from '../kinds/steps.ts';
import {CertificateReady, type DomainCondition, type StepResult} from './conditions.ts';
import {type HostView, lastReported, unacted} from './host-view.ts';

export interface CertificateResult extends StepResult {
  /** The Secret holds a certificate that is valid: the host may be routed. */
  readonly usable: boolean;
  readonly nextAttemptAtMs?: number;
}

/** The next attempt, and the report if the Secret holds no usable certificate. */
export interface NextCertificate extends StepResult {
  readonly nextAttemptAtMs?: number;
  /** Continues "its renewal is failing:" and says what to do. */
  readonly why: string;
}

/** Of a condition that says everything. */
export function nextOf(
  condition: DomainCondition,
  rest: Omit<NextCertificate, 'condition' | 'why'> = {},
): NextCertificate {
  return {condition, why: condition.message, ...rest};
}

/** Reasons for which no certificate follows automatically soon. */
const TROUBLE: ReadonlySet<string> = new Set([
  'Overdue',
  'Failed',
  'IssuerNotFound',
  'IssuerNotAllowed',
  'CertManagerMissing',
]);

type Facts = Pick<HostView, 'certificate' | 'secret' | 'host' | 'published' | 'owner' | 'nowMs'>;

/** Of the certificate in the Secret; none if it is not for the host. */
export function knownDates({certificate, secret, host, owner}: Facts): CertificateDates {
  return certifiedBy(secret, host).kind === 'host' ? datesOf(certificate, reported(owner)) : {};
}

/** What a Domain reports on its certificate. */
export function reported({status = {}}: Facts['owner']) {
  return 'certificate' in status ? status.certificate : undefined;
}

export function heldBy(view: Facts): HeldCertificate {
  return heldCertificate(view.certificate, certifiedBy(view.secret, view.host), knownDates(view), view.nowMs);
}

/**
 * The host may be routed. If nobody knows the dates of the certificate, an edge that presents it continues to, and
 * otherwise cert-manager's word counts.
 */
export function isUsable(held: HeldCertificate, {published, certificate}: Facts): boolean {
  return held.kind === 'valid' || (held.kind === 'undated' && (published !== undefined || isCalledReady(certificate)));
}

function isCalledReady(certificate: Facts['certificate']): boolean {
  return findCondition(certificate?.status?.conditions, 'Ready')?.status === 'True';
}

export function failedCertificate(view: HostView) {
  const usable = isUsable(heldBy(view), view);
  return (failure: unknown): CertificateResult => ({...unacted(view, failure, CertificateReady, usable), usable});
}

/** The result: what there is decides, and what comes next explains it. */
export function judgeHeld(view: HostView, held: HeldCertificate, next: NextCertificate | undefined): CertificateResult {
  const {nowMs} = view;
  const usable = isUsable(held, view);
  return {
    condition: conditionOf(view, held, next),
    usable,
    ...(next?.nextAttemptAtMs !== undefined && {nextAttemptAtMs: next.nextAttemptAtMs}),
    wakeAtMs: earliest(next?.wakeAtMs, changesAtMs(held, nowMs)),
  };
}

function conditionOf(view: HostView, held: HeldCertificate, next: NextCertificate | undefined): DomainCondition {
  const {nowMs} = view;
  if (next && (next.condition.reason === 'Refused' || next.condition.reason === 'Paused')) return next.condition;
  switch (held.kind) {
    case 'valid': {
      const until = timestamp(held.notAfterMs);
      const isOverdue = nowMs >= held.overdueAtMs;
      if (next && (isOverdue || TROUBLE.has(next.condition.reason))) {
        return CertificateReady.renewalFailing(until, next.why);
      }
      return isOverdue ? CertificateReady.renewalFailing(until, notBegun(view)) : CertificateReady.issued(until);
    }
    case 'expired':
      return CertificateReady.expired(timestamp(held.notAfterMs), next?.why ?? notBegun(view));
    case 'early':
      return CertificateReady.notYetValid(timestamp(held.notBeforeMs));
    default: {
      // Until somebody says when it expires, what was known of a host that is served remains.
      if (held.kind === 'undated' && isCalledReady(view.certificate)) return CertificateReady.issued(undefined);
      const last = held.kind === 'undated' && view.published ? lastReported(view, 'CertificateReady') : undefined;
      if (last?.status === 'True') return {...last, type: 'CertificateReady'};
      return next?.condition ?? CertificateReady.issuing('');
    }
  }
}

export function notBegun(view: Facts): string {
  const {renewalTime} = knownDates(view);
  const due = renewalTime === undefined ? '' : `, although it was due at ${renewalTime}`;
  return `cert-manager has not started the renewal${due}. Ask the platform team to check cert-manager.`;
}
