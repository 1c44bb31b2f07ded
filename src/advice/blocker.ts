/** The step at which a Domain or a Project waits. */
import {type Condition, findCondition} from '../api/conditions.ts';
import type {Domain, Project} from '../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';

/** They only summarize the others. */
const SUMMARIES = new Set(['Ready', 'Reconciling', 'Stalled', 'DomainsReady']);

/**
 * The waiting step or, of several, the one whose reason the operator shows as the reason of Ready. If the whole is
 * Ready, an Unknown step does not matter.
 */
export function blockerOf({status}: DeepReadonly<Domain | Project>): DeepReadonly<Condition> | undefined {
  const conditions: readonly DeepReadonly<Condition>[] = status?.conditions ?? [];
  const ready = findCondition(conditions, 'Ready');
  const isReady = ready?.status === 'True';
  const steps = conditions.filter(({type}) => !SUMMARIES.has(type));
  const waiting = steps.filter(({status: done}) => done === 'False' || (done === 'Unknown' && !isReady));
  return waiting.find(({reason}) => reason === ready?.reason) ?? waiting[0];
}

/** Moves waiting items to the front; otherwise keeps their order. */
export function waitingFirst<T>(items: readonly T[], waits: (item: T) => boolean): readonly T[] {
  return [...items.filter(waits), ...items.filter(item => !waits(item))];
}

/** By host, the waiting ones first. */
export function sortedDomains(domains: readonly DeepReadonly<Domain>[]): readonly DeepReadonly<Domain>[] {
  const byHost = [...domains].sort((a, b) => (a.spec.host < b.spec.host ? -1 : 1));
  return waitingFirst(byHost, domain => blockerOf(domain) !== undefined);
}
