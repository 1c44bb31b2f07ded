/** Conditions as the Kubernetes API conventions and KEP-1623 have them. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  /** RFC 3339, UTC, whole seconds. */
  lastTransitionTime: string;
}

/** A condition as a step of a reconcile decides it; its times are settled against what was there before. */
export type DecidedCondition<Type extends string = string> = Omit<
  Condition,
  'type' | 'lastTransitionTime' | 'observedGeneration'
> & {
  type: Type;
};

/** RFC 3339 in whole seconds, as metav1.Time is written. */
export function timestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

export function findCondition<T extends {type: string}>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined {
  return conditions?.find(condition => condition.type === type);
}

/** Gives each decided condition its generation and times: lastTransitionTime moves only where the status changed. */
export function settleConditions(
  previous: readonly Readonly<Condition>[] | undefined,
  decided: readonly DecidedCondition[],
  generation: number,
  nowMs: number,
): Condition[] {
  return decided.map(next => {
    const before = findCondition(previous, next.type);
    const lastTransitionTime = before?.status === next.status ? before.lastTransitionTime : timestamp(nowMs);
    return {...next, observedGeneration: generation, lastTransitionTime};
  });
}
