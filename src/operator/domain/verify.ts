/** Proof by DNS and CAA, from the verdicts that the scheduler keeps; never waits for DNS. */
import {timestamp} from '../../api/conditions.ts';
import {CaaAllowed, DnsVerified, type DomainCondition, type StepResult} from './conditions.ts';
import type {DomainOperator} from './context.ts';
import {lastReported} from './host-view.ts';
import {type DomainView, isOlderThanClaim} from './view.ts';

export interface Proof extends StepResult {
  /** The Domain is accepted, and the last DNS check found the proof. */
  readonly mayStart: boolean;
}

type VerifyOperator = Pick<DomainOperator, 'scheduler' | 'knownSince' | 'config' | 'clock'>;

/** Watches the DNS of hosts that may start or are held, and judges the last check. */
export function verifyDns(operator: VerifyOperator, view: DomainView, accepted: DomainCondition): Proof {
  const {scheduler} = operator;
  const {key, holder, domain, account, question, published} = view;
  const isAccepted = accepted.status === 'True';
  if (!isAccepted && holder !== 'us' && !published) {
    scheduler.unwatch(key);
    return {condition: DnsVerified.waiting('the Domain to be accepted'), mayStart: false};
  }
  const held = holder === 'us' || (published !== undefined && holder !== 'another');
  scheduler.watch(key, {
    account: account.id,
    uid: domain.metadata.uid ?? key,
    question,
    urgency: urgencyOf(view),
    ...(!held && {waitsSinceMs: Date.parse(domain.metadata.creationTimestamp ?? '') || 0}),
  });
  const request = requestOf(operator, view);
  if (request) scheduler.request(key, request);
  const {check} = view;
  if (!check) return {condition: unchecked(view, held), mayStart: false};
  if (check.verdict.verified) return {condition: DnsVerified.yes(check.verdict.message), mayStart: isAccepted};
  if (!held) return {condition: DnsVerified.no(check.verdict.reason, check.verdict.message), mayStart: false};
  return {mayStart: false, ...judgeHeld(operator, view)};
}

/**
 * Steady: a check can hasten nothing. The host is live and healthy, as far as is known (after a restart, the last status
 * counts), or it waits for its certificate or its route. With many new hosts, more checks would delay these.
 */
function urgencyOf(view: DomainView): 'pending' | 'steady' {
  const {published, holder, check} = view;
  if (holder === 'another') return 'pending';
  const isLive = published !== undefined && holder === 'us';
  // A check that was cut short is continued soon anyway.
  const allows =
    check && !check.verdict.unfinished
      ? check.verdict.verified && ['allowed', 'unchecked'].includes(check.verdict.caa.outcome)
      : isLive && (['DNSVerified', 'CAAAllowed'] as const).every(type => lastReported(view, type)?.status === 'True');
  return allows ? 'steady' : 'pending';
}

/** The tenant's request, or our own after a check that is too old to decide who may hold the host. */
function requestOf(
  {knownSince}: VerifyOperator,
  {verifyRequest, account, holder, claim, check}: DomainView,
): string | undefined {
  if (verifyRequest && account.plan.customDomains) return verifyRequest;
  const isStale =
    holder === 'another' && claim && check?.verdict.verified && isOlderThanClaim(knownSince, check, claim);
  return isStale ? `claim of ${claim.spec.since}, after the check of ${check.startedAt}` : undefined;
}

function unchecked(view: DomainView, held: boolean): DomainCondition {
  const last = lastReported(view, 'DNSVerified');
  if (last && last.status !== 'Unknown') return {...last, type: 'DNSVerified'};
  return held ? DnsVerified.held(view.host) : DnsVerified.checking(view.host);
}

/** A failed check of a host that we hold. A live host drifts only if all servers agree for the configured time. */
function judgeHeld({config, clock}: VerifyOperator, view: DomainView): Pick<Proof, 'condition' | 'wakeAtMs'> {
  const {check, published, host, nowMs} = view;
  if (!check) return {condition: DnsVerified.held(host)};
  const {verdict, agreedSince, agreedSinceEpochMs = 0} = check;
  const last = lastReported(view, 'DNSVerified');
  if (!published) {
    const keep = !verdict.agreed && last?.status === 'True';
    return {condition: keep ? {...last, type: 'DNSVerified'} : DnsVerified.no(verdict.reason, verdict.message)};
  }
  const leftMs =
    agreedSince === undefined ? undefined : agreedSince + config.dns.driftAfterSeconds * 1000 - clock.monotonic();
  if (verdict.agreed && leftMs !== undefined && leftMs <= 0) {
    const since = DnsVerified.driftedSince(last) ?? timestamp(agreedSinceEpochMs); // checks restart with the process
    return {condition: DnsVerified.drifted(since, verdict.message)};
  }
  const condition =
    last && last.status !== 'Unknown' ? {...last, type: 'DNSVerified' as const} : DnsVerified.held(host);
  return {condition, wakeAtMs: leftMs === undefined ? undefined : nowMs + leftMs};
}

/** CAA, from the last DNS check. If the lookup fails, a CA must refuse (RFC 8659), so nothing is requested. */
export function checkCaa(view: DomainView): DomainCondition {
  const caa = view.check?.verdict.caa;
  if (!caa) {
    const last = lastReported(view, 'CAAAllowed');
    return last ? {...last, type: 'CAAAllowed'} : CaaAllowed.waiting();
  }
  switch (caa.outcome) {
    case 'allowed':
      return CaaAllowed.yes(caa.message);
    case 'forbidden':
      return CaaAllowed.forbidden(caa.message);
    case 'lookup-failed': {
      // An outage changes nothing: what was allowed stays allowed until a CAA record forbids it.
      const last = lastReported(view, 'CAAAllowed');
      return last?.status === 'True' ? {...last, type: 'CAAAllowed'} : CaaAllowed.lookupFailed(caa.message);
    }
    case 'unchecked':
      return view.question.caaIdentities.length > 0 ? CaaAllowed.waiting() : CaaAllowed.notChecked();
  }
}
