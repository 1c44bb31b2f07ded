/** The one status write at the end of a reconcile, and only if something changed. */
import {isDeepStrictEqual} from 'node:util';
import {type Condition, findCondition, settleConditions, timestamp} from '../../api/conditions.ts';
import type {DomainStatus} from '../../api/generated/domain.ts';
import {applyStatusIfChanged} from '../../runtime/apply/apply.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {DOMAIN} from '../kinds/kinds.ts';
import type {DomainCondition, StepResult} from './conditions.ts';
import type {DomainContext, DomainOperator} from './context.ts';
import {type CertificateResult, knownDates} from './held-certificate.ts';
import {isProgressType, progressOf, readyOf, stateOf} from './summary.ts';
import {type DomainView, requiredRecords} from './view.ts';

/** Rotating answers must not each cause a write: if only the evidence changed, it is written at most this often. */
const EVIDENCE_PAUSE_MS = 30_000;

/** A status that only names the next step is written only if the step takes longer than this. */
const PROGRESS_PAUSE_MS = 5_000;
/**
 * The pause is at least this long for each Domain of the namespace that is already waiting. Such a write costs the API
 * server more than the step, so with many new Domains it would delay what they wait for.
 */
const PROGRESS_SHARE_MS = 200;
const MAX_PROGRESS_PAUSE_MS = 120_000;

/** Reasons of a Domain whose next step follows automatically, usually within a second. */
const PROGRESS: ReadonlySet<string> = new Set(['Waiting', 'Checking', 'Issuing', 'Pending']);

/** The operator reports these once. */
const OUTAGES = ['CertManagerDown', 'IssuerNotReady'] as const;

/** Reasons of a Domain that require nobody to act, so no Event reports them. */
const UNEVENTFUL: ReadonlySet<string> = new Set([
  ...PROGRESS,
  'Propagating',
  'OrderBudget',
  'TargetNotLive',
  'Paused',
  'Outdated',
  ...OUTAGES,
]);

/** The decisions of the steps. */
export interface Decided {
  readonly accepted: DomainCondition;
  readonly proof: StepResult;
  readonly claim: StepResult;
  readonly caa: DomainCondition;
  readonly certificate: CertificateResult;
  readonly routed: StepResult;
  readonly probed: StepResult;
}

/** Of hosts for which no record would help. */
const WITHOUT_RECORDS: ReadonlySet<string> = new Set(['InvalidHost', 'ReservedHost', 'WildcardUnsupported']);

export class Reporter {
  /** When a status was last written, by key, on the monotonic clock; forgotten with the Domain. */
  readonly #writtenAtMs = new Map<string, number>();
  /** Until when a status is held back, by namespace and key, on the monotonic clock. */
  readonly #heldUntilMs = new Map<string, Map<string, number>>();
  /** Keys of which a Warning was the last Event. */
  readonly #warned = new Set<string>();

  forget(key: string): void {
    this.#writtenAtMs.delete(key);
    this.#release(key);
    this.#warned.delete(key);
  }

  /** Returns the times at which the Domain must be reconciled again even if nothing changes. */
  async report(context: DomainContext, view: DomainView, decided: Decided): Promise<number[]> {
    const {status, wakeAtMs} = statusOf(context, view, decided);
    const {domain, key, nowMs} = view;
    const {clock} = context;
    const writtenAtMs = this.#writtenAtMs.get(key) ?? Number.NEGATIVE_INFINITY;
    const restMs = writtenAtMs + EVIDENCE_PAUSE_MS - clock.monotonic();
    if (restMs > 0 && isDeepStrictEqual(withoutEvidence(status), withoutEvidence(domain.status ?? {}))) {
      this.#release(key);
      const waits = !isDeepStrictEqual(status, domain.status);
      return waits ? [...wakeAtMs, nowMs + restMs] : wakeAtMs;
    }
    const maxMs = namesProblem(domain.status) ? PROGRESS_PAUSE_MS : MAX_PROGRESS_PAUSE_MS;
    const holdMs = onlyNamesNextStep(domain.status, status) ? this.#holdMs(context, key, maxMs) : 0;
    if (holdMs > 0) return [...wakeAtMs, nowMs + holdMs];
    const {changed} = await applyStatusIfChanged(context.client, DOMAIN, domain, status, {signal: context.signal});
    this.#release(key);
    if (changed) {
      this.#writtenAtMs.set(key, clock.monotonic());
      this.#announce(context, key, domain, status);
    }
    return wakeAtMs;
  }

  /**
   * An Event for each change that a person would want to see in `kubectl describe`. A host that goes live without
   * anyone having to act gets no Event: its conditions say so, and with many new hosts, an Event for each would cost as
   * much as a route.
   */
  #announce({events}: DomainOperator, key: string, domain: DomainView['domain'], status: DomainStatus): void {
    const ready = findCondition(status.conditions, 'Ready');
    const last = findCondition(domain.status?.conditions, 'Ready');
    if (!ready || (ready.reason === last?.reason && status.state === domain.status?.state)) return;
    if (UNEVENTFUL.has(ready.reason)) return;
    const isLive = ready.reason === 'Live';
    const wasReported = this.#warned.has(key) || (last !== undefined && !UNEVENTFUL.has(last.reason));
    if (isLive) this.#warned.delete(key);
    else this.#warned.add(key);
    if (isLive && !wasReported) return;
    events.event(domain, isLive ? 'Normal' : 'Warning', ready.reason, 'Reconcile', ready.message);
  }

  #holdMs({clock}: DomainOperator, key: string, maxMs: number): number {
    const namespace = namespaceIn(key);
    const held = this.#heldUntilMs.get(namespace) ?? new Map<string, number>();
    const pauseMs = Math.min(Math.max(held.size * PROGRESS_SHARE_MS, PROGRESS_PAUSE_MS), maxMs);
    const untilMs = held.get(key) ?? clock.monotonic() + pauseMs;
    this.#heldUntilMs.set(namespace, held.set(key, untilMs));
    return untilMs - clock.monotonic();
  }

  #release(key: string): void {
    const namespace = namespaceIn(key);
    const held = this.#heldUntilMs.get(namespace);
    held?.delete(key);
    if (held?.size === 0) this.#heldUntilMs.delete(namespace);
  }
}

function namespaceIn(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** Whether the status names a problem, which is outdated once only the next step is pending. */
function namesProblem(status: DeepReadonly<DomainStatus> | undefined): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return ready !== undefined && !PROGRESS.has(ready.reason);
}

/** Whether the status only says that the Domain is not Ready yet, because its next step will follow. */
function onlyNamesNextStep(before: DeepReadonly<DomainStatus> | undefined, status: DomainStatus): boolean {
  const [last, ready] = [before, status].map(({conditions} = {}) => findCondition(conditions, 'Ready'));
  if (last?.status === 'True' || !ready || !PROGRESS.has(ready.reason)) return false;
  const facts = ({dns, lastHandledVerifyRequest, certificate}: DeepReadonly<DomainStatus>) =>
    [dns?.required, lastHandledVerifyRequest, certificate?.nextAttemptAt] as const;
  return last === undefined || isDeepStrictEqual(facts(before ?? {}), facts(status));
}

function statusOf(
  operator: DomainOperator,
  view: DomainView,
  decided: Decided,
): {status: DomainStatus; wakeAtMs: number[]} {
  const {domain, nowMs, check} = view;
  const {accepted, proof, claim, caa, certificate: issued, routed, probed} = decided;
  const steps = [accepted, proof.condition, claim.condition, caa, issued.condition, routed.condition, probed.condition];
  const published = view.published !== undefined || routed.condition.status === 'True';
  const handled = handledRequest(operator, view, decided);
  const generation = domain.metadata.generation ?? 0;
  const {propagationSeconds} = operator.config.dns;
  const previous = domain.status?.conditions;
  const ready = readyOf(steps);
  const progress = progressOf(steps, ready, previous, {generation, propagationSeconds, nowMs});
  const settled = previous?.filter(
    ({type, observedGeneration}) => !isProgressType(type) || observedGeneration === generation,
  );
  const showRecords = !WITHOUT_RECORDS.has(accepted.reason);
  const observed = check ? check.verdict.observed.map(record => ({...record})) : domain.status?.dns?.observed;
  const {nextAttemptAtMs} = issued;
  const {notAfter, renewalTime} = knownDates(view);
  const status: DomainStatus = {
    observedGeneration: generation,
    state: stateOf(steps, ready, published),
    ...(showRecords && {
      dns: {required: requiredRecords(view), ...(observed && observed.length > 0 && {observed: [...observed]})},
    }),
    ...((notAfter || renewalTime || nextAttemptAtMs !== undefined) && {
      certificate: {
        ...(notAfter && {notAfter}),
        ...(renewalTime && {renewalTime}),
        ...(nextAttemptAtMs !== undefined && {nextAttemptAt: timestamp(nextAttemptAtMs)}),
      },
    }),
    ...(handled && {lastHandledVerifyRequest: handled}),
    conditions: settleConditions(settled, [...steps, ready, ...progress.conditions], domain.metadata, nowMs),
  };
  return {status, wakeAtMs: progress.stallsAtMs === undefined ? [] : [progress.stallsAtMs]};
}

/**
 * A request is handled once DNS has answered it, and a certificate attempt that it starts has been started; or
 * immediately if the plan does not include custom domains. A live host keeps its condition through an outage of DNS, and
 * a write may be held back by a pause, refused, or unanswered: then the request waits, as the checks and writes do.
 */
function handledRequest(
  {events}: DomainOperator,
  {verifyRequest, check, account, domain}: DomainView,
  {proof, certificate}: Decided,
): string | undefined {
  const last = domain.status?.lastHandledVerifyRequest;
  if (!verifyRequest) return last;
  if (!account.plan.customDomains) {
    const note = `The verify request was refused: plan ${account.planName} does not include custom domains. Nameplate keeps checking as scheduled.`;
    events.event(domain, 'Warning', 'PlanRequired', 'Verify', note);
    return verifyRequest;
  }
  if (check?.request !== verifyRequest || certificate.failure !== undefined) return last;
  const {verdict} = check;
  const saysWhyNot = proof.condition.status !== 'True';
  const isUnanswered = !verdict.verified && !verdict.agreed && UNANSWERED.has(verdict.reason);
  return saysWhyNot || !isUnanswered ? verifyRequest : last;
}

/** Reasons of a check that no name server answered, or that has not asked all: it was no attempt. */
const UNANSWERED: ReadonlySet<string> = new Set(['NameServersUnreachable', 'Checking']);

/** Conditions whose messages quote name servers. */
const QUOTING: ReadonlySet<string> = new Set(['DNSVerified', 'CAAAllowed']);

/** The status without DNS evidence and the messages that quote it, for comparison: rotating answers change them. */
function withoutEvidence({dns, conditions = [], ...rest}: DeepReadonly<DomainStatus>): unknown {
  const quotes = new Set(conditions.filter(({type}) => QUOTING.has(type)).map(({message}) => message));
  const outcomes = conditions.map(({message, ...condition}: DeepReadonly<Condition>) => ({
    ...condition,
    ...(!quotes.has(message) && {message}),
  }));
  return {...rest, required: dns?.required, outcomes};
}
