/**
 * The steps of a reconcile: when each must run again, and the one way in which it says that it could not act. A step
 * throws; `stepAfter` turns a refusal, an outage, or a pause into a condition, and rethrows everything else.
 */

import {type Condition, type DecidedCondition, findCondition} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {after, done, type Outcome, retry} from '../../runtime/controller/outcome.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';

/** The shortest pause, even if some of the times are already past. */
const SHORTEST_MS = 1000;

/** The first of some times; undefined if there is none. */
export function earliest(...timesMs: readonly (number | undefined)[]): number | undefined {
  const known = timesMs.filter(time => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** How a step ended. */
export interface StepEnd {
  /** When the step must run again even if nothing changes. */
  readonly wakeAtMs?: number | undefined;
  /** Why the step could not act: a write failed, or a pause held it back. The reconcile is retried after a failure. */
  readonly failure?: unknown;
}

/** The decision of a step. */
export interface Step<C = DecidedCondition> extends StepEnd {
  readonly condition: C;
}

/** After the backoff if a step failed, and not only because of a pause; otherwise, when the first must run again. */
export function outcomeOf(steps: readonly StepEnd[], nowMs: number): Outcome {
  const failed = steps.find(({failure}) => failure !== undefined && !(failure instanceof PausedError));
  if (failed) return retry(failed.failure);
  const wakeAtMs = earliest(...steps.map(step => step.wakeAtMs));
  return wakeAtMs === undefined ? done() : after(Math.max(wakeAtMs - nowMs, SHORTEST_MS));
}

/** The write was not sent, because a pause holds it back. */
export class PausedError extends Error {
  override readonly name = 'PausedError';

  constructor() {
    super('paused');
  }
}

interface AfterFailure<C> {
  /** The host is served, or the key works, as before the write. */
  readonly works: boolean;
  /** As in `ReconcileContext`. */
  readonly keepsFailing: boolean;
  /** The condition before, if it speaks of the current spec. */
  readonly last: C | undefined;
  readonly refused: (message: string) => C;
  readonly retrying: (message: string) => C;
  /** Absent if no pause concerns the write. */
  readonly paused?: () => C;
}

export function stepAfter<C extends {readonly reason: string}>(failure: unknown, after: AfterFailure<C>): Step<C> {
  return {condition: conditionAfter(failure, after), failure};
}

/**
 * A refusal or a pause concerns the object: its condition says so. An outage does not: the last condition stays, unless
 * the outage has lasted and nothing works yet. Throws the failure if there is nothing to say.
 */
function conditionAfter<C extends {readonly reason: string}>(failure: unknown, after: AfterFailure<C>): C {
  const {works, keepsFailing, last, refused, retrying, paused} = after;
  if (paused && failure instanceof PausedError) return paused();
  const kind = classifyFailure(failure);
  const message = failure instanceof Error ? failure.message : String(failure);
  if (kind === 'refusal') return refused(message);
  if (kind !== 'outage') throw failure;
  // Reported once: the next failure may have another message.
  if (keepsFailing && !works) return last?.reason === 'Retrying' ? last : retrying(message);
  if (!last) throw failure;
  return last;
}

/** The last condition, if it observed this generation of the spec. */
export function lastCondition<Type extends string>(
  type: Type,
  conditions: readonly DeepReadonly<Condition>[] | undefined,
  generation: number | undefined,
): (DecidedCondition<Type> & {reason: string}) | undefined {
  const last = findCondition(conditions, type);
  if (!last || last.observedGeneration !== generation) return undefined;
  const {status, reason, message} = last;
  return {type, status, reason, message};
}

/** A quota, a policy, a webhook that is down, or a kind that is not installed. */
export function explainRefusal(what: string, message: string): string {
  return `The API server rejected ${what}: ${trimmed(message)}. Nameplate will retry. Ask the platform team to fix the cause.`;
}

export function explainRetrying(what: string, message: string): string {
  return `The API server has not accepted ${what} for several minutes: ${trimmed(message)}. Nameplate will retry. Ask the platform team to check the API server.`;
}

export function explainPause(what: string): string {
  return `Nameplate is paused and does not write ${what}. To continue, remove the annotation ${ANNOTATION.paused} from the Domain, the Project, and the namespace. If none of them has it, ask the platform team: the whole cluster is paused.`;
}

function trimmed(message: string): string {
  return message.replace(/[.\s]+$/, '');
}

/**
 * https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md: Reconciling and Stalled, both absent
 * once everything is done. `isStalled`: only a person can change what Ready says.
 */
export function progressOfReady({status, reason, message}: DecidedCondition, isStalled: boolean): DecidedCondition[] {
  if (status === 'True' && reason !== 'Refused' && reason !== 'Paused') return [];
  return [{type: isStalled ? 'Stalled' : 'Reconciling', status: 'True', reason, message}];
}
