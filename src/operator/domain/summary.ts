/** Summarizes the steps: Ready, kstatus's Reconciling and Stalled, and a one-word state for people. Pure. */
import {type Condition, timestamp} from '../../api/conditions.ts';
import type {DomainStatus} from '../../api/generated/domain.ts';
import {type DomainCondition, Ready, Reconciling, Stalled} from './conditions.ts';
import {type DomainConditionType, STALLED_AT_ONCE} from './reasons.ts';

export type DomainState = NonNullable<DomainStatus['state']>;

/** In the order of the reconcile: Accepted, DNSVerified, Claimed, CAAAllowed, CertificateReady, Routed, Probed. */
export type Steps = readonly DomainCondition[];

/** Claimed comes first: if another account holds the host, the tenant must know that before fixing records. */
const BLAME: readonly DomainConditionType[] = [
  'Accepted',
  'Claimed',
  'DNSVerified',
  'CAAAllowed',
  'CertificateReady',
  'Routed',
  'Probed',
];

/** Traffic continues, but a person must act. */
const DEGRADING: ReadonlySet<string> = new Set(['Drifted', 'Forbidden']);

/** Everything stays in place, but Nameplate cannot renew or change it. */
const FAILING: ReadonlySet<string> = new Set(['RenewalFailing', 'Refused']);

export function readyOf(steps: Steps): DomainCondition {
  const essential = ['Accepted', 'CertificateReady', 'Routed'].map(type => step(steps, type));
  const lost = step(steps, 'Claimed').status === 'False';
  const answers = step(steps, 'Probed').status !== 'False';
  if (!lost && answers && essential.every(condition => condition.status === 'True')) {
    const trouble = degradationOf(steps) ?? steps.find(({status, reason}) => status === 'True' && reason === 'Paused');
    return trouble ? {...Ready.yes(trouble.message), reason: trouble.reason} : Ready.yes(step(steps, 'Routed').message);
  }
  const blamed =
    BLAME.map(type => step(steps, type)).find(condition => condition.status === 'False') ??
    steps.find(condition => condition.status === 'Unknown') ??
    step(steps, 'Routed');
  return Ready.no(blamed.reason, blamed.message);
}

export function stateOf(steps: Steps, ready: DomainCondition, published: boolean): DomainState {
  if (ready.status === 'True') return degradationOf(steps) ? 'Degraded' : 'Live';
  // The edge usually answers within seconds.
  const isPending = ['Routed', 'Probed'].some(type => step(steps, type).reason === 'Pending');
  if (published && !isPending) return 'Degraded';
  if (step(steps, 'Accepted').status !== 'True') return 'Blocked';
  const proved = step(steps, 'DNSVerified').status === 'True' && step(steps, 'Claimed').status === 'True';
  return proved ? 'Verified' : 'Unverified';
}

function degradationOf(steps: Steps): DomainCondition | undefined {
  const trouble = steps.find(({status, reason}) => status === 'False' && DEGRADING.has(reason));
  return trouble ?? steps.find(({status, reason}) => status === 'True' && FAILING.has(reason));
}

export interface Progress {
  /** Reconciling, or Stalled, or nothing. */
  readonly conditions: readonly DomainCondition[];
  /** When Reconciling becomes Stalled if nothing changes. */
  readonly stallsAtMs?: number;
}

/**
 * Progress as kstatus defines it. A fault that only a person can fix stalls immediately. Any other DNS fault counts as
 * progress for the time that propagation may take after the last change of the spec. Checks continue either way.
 */
export function progressOf(
  steps: Steps,
  ready: DomainCondition,
  previous: readonly Readonly<Condition>[] | undefined,
  {generation, propagationSeconds, nowMs}: {generation: number; propagationSeconds: number; nowMs: number},
): Progress {
  // The current spec may not be in force yet.
  if (ready.reason === 'Refused' || ready.reason === 'Paused')
    return {conditions: [Reconciling(ready.reason, ready.message)]};
  if (ready.status === 'True') return {conditions: []};
  if (STALLED_AT_ONCE.has(ready.reason)) return {conditions: [Stalled(ready.reason, ready.message)]};
  const reconciling: Progress = {conditions: [Reconciling(ready.reason, ready.message)]};
  const waitsForDns = step(steps, 'Accepted').status === 'True' && step(steps, 'DNSVerified').status === 'False';
  if (!waitsForDns) return reconciling;
  const stalled: Progress = {conditions: [Stalled(ready.reason, ready.message)]};
  const before = previous?.find(
    ({type, observedGeneration}) => observedGeneration === generation && isProgressType(type),
  );
  if (before?.type === 'Stalled') return STALLED_AT_ONCE.has(before.reason) ? reconciling : stalled;
  const sinceMs = Date.parse(before?.lastTransitionTime ?? timestamp(nowMs));
  const stallsAtMs = sinceMs + propagationSeconds * 1000;
  return nowMs >= stallsAtMs ? stalled : {...reconciling, stallsAtMs};
}

export function isProgressType(type: string): boolean {
  return type === 'Reconciling' || type === 'Stalled';
}

function step(steps: Steps, type: string): DomainCondition {
  const found = steps.find(condition => condition.type === type);
  if (!found) throw new Error(`no step decided ${type}`);
  return found;
}
