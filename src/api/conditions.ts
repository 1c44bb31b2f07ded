/** Conditions according to the Kubernetes API conventions and KEP-1623. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  /** RFC 3339, UTC, whole seconds. */
  lastTransitionTime: string;
}

/** A condition as decided by a step of a reconcile, before its times are set. */
export type DecidedCondition<Type extends string = string> = Omit<
  Condition,
  'type' | 'lastTransitionTime' | 'observedGeneration'
> & {
  type: Type;
};

/** A function for each type of condition; it accepts only the reasons that `reasons` lists for the type. */
export function conditionBuilders<const R extends Record<string, readonly string[]>>(reasons: R) {
  const builders = Object.keys(reasons).map(type => [
    type,
    (status: Condition['status'], reason: string, message: string) => ({type, status, reason, message}),
  ]);
  return Object.fromEntries(builders) as {
    [T in keyof R & string]: (
      status: Condition['status'],
      reason: R[T][number],
      message: string,
    ) => DecidedCondition<T>;
  };
}

/** RFC 3339 in whole seconds, like metav1.Time. */
export function timestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** The UTC day of a `timestamp`, such as "2026-11-27". */
export function dayOf(time: string): string {
  return time.slice(0, 10);
}

export function findCondition<T extends {type: string}>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined {
  return conditions?.find(condition => condition.type === type);
}

/** Stands in a command of a message for the namespace of the object, so that the command runs as it is shown. */
export const IN_NAMESPACE = '-n NAMESPACE';

/**
 * Sets each condition's generation and times, and the namespace in the commands of its message. lastTransitionTime
 * changes only if the status changed.
 */
export function settleConditions(
  previous: readonly Readonly<Condition>[] | undefined,
  decided: readonly DecidedCondition[],
  {generation = 0, namespace = ''}: {readonly generation?: number; readonly namespace?: string},
  nowMs: number,
): Condition[] {
  return decided.map(next => {
    const before = findCondition(previous, next.type);
    const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : timestamp(nowMs);
    const message = next.message.replaceAll(IN_NAMESPACE, `-n ${namespace}`);
    return {...next, message, observedGeneration: generation, lastTransitionTime};
  });
}

/** For messages, such as `1 host` and `2 hosts`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
