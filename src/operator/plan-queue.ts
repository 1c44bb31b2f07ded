/** Which Domains are requeued when a slot in a plan becomes free. */
import {findCondition} from '../api/conditions.ts';
import type {Delta} from '../runtime/cache/store.ts';
import {type DeepReadonly, keyOf} from '../runtime/kube/object.ts';
import type {Domain} from './model/kinds.ts';
import {isOlder} from './state/ages.ts';
import {accountIn, INDEX, type Stores} from './state/stores.ts';

/** More than the slots that become free before the cache shows who took them. */
const CALLED = 32;

/** The keys of the account's Domains that come next when a slot in its plan becomes free. */
export function waitingForPlan(stores: Stores, account: string | undefined): string[] {
  const waiting = stores.domains.byIndex(INDEX.waitsFor, 'Accepted/PlanLimitReached');
  return nextInQueue(waiting.filter(({metadata}) => accountIn(stores, metadata.namespace) === account)).map(keyOf);
}

/**
 * The oldest waiting Domains of each namespace: the others get no slot while these have none. Namespaces differ in
 * their plans. The end of one Domain therefore does not requeue 50,000 that a tenant has created beyond its plan.
 */
export function nextInQueue(waiting: Iterable<DeepReadonly<Domain>>): DeepReadonly<Domain>[] {
  const oldest = new Map<string, DeepReadonly<Domain>[]>();
  for (const domain of waiting) {
    const {namespace = ''} = domain.metadata;
    const queue = oldest.get(namespace) ?? [];
    oldest.set(namespace, queue);
    const last = queue.at(-1);
    if (last && queue.length === CALLED && isOlder(last, domain)) continue;
    const at = queue.findIndex(other => isOlder(domain, other));
    queue.splice(at < 0 ? queue.length : at, 0, domain);
    queue.length = Math.min(queue.length, CALLED);
  }
  return [...oldest.values()].flat();
}

/** Whether it got a slot, or no longer needs one: then the Domains behind it are requeued. */
export function leavesQueue({type, object, old}: Delta<Domain>): boolean {
  return type === 'updated' && old !== undefined && waitsForPlan(old) && !waitsForPlan(object);
}

function waitsForPlan({status}: DeepReadonly<Domain>): boolean {
  const accepted = findCondition(status?.conditions, 'Accepted');
  return accepted?.status === 'False' && accepted.reason === 'PlanLimitReached';
}
