/** Which Domains or Projects are requeued when a slot in a plan becomes free. */
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {accountId, waitsForPlan} from '../model/account.ts';
import type {Domain, Project} from '../model/kinds.ts';
import {agesOf} from '../state/age-ranks.ts';
import {accountIn, INDEX, type Stores} from '../state/stores.ts';

type Limited = Domain | Project;

/** How many waiting objects to requeue: more than the slots that can become free before the cache shows who took them. */
const CALLED = 32;

interface PlanQueue<T extends Limited> {
  /** The keys of those in an account that are next. */
  next(account: string | undefined): string[];
  /** Those behind one that is gone, got a slot, or no longer needs one. */
  behind(delta: Delta<T>): string[];
  /** Those that the account of a namespace has elsewhere, if the namespace is gone or has another account now. */
  leftBy(namespace: Delta<KubeObject>): string[];
}

/**
 * Requeues the oldest that wait in each namespace of the account: the others get no slot while these have none.
 * Namespaces differ in their plans. The end of one object therefore does not requeue 50,000 that a tenant has created
 * beyond its plan.
 */
export function planQueue<T extends Limited>(
  stores: Pick<Stores, 'namespaces'>,
  limited: ReadonlyStore<T>,
): PlanQueue<T> {
  const waiting = agesOf(limited, waitsForPlan);
  const next = (account = '') =>
    stores.namespaces.byIndex(INDEX.account, account).flatMap(({metadata}) => waiting.oldest([metadata.name], CALLED));
  return {
    next,
    behind: delta =>
      delta.type === 'deleted' || leavesQueue(delta) ? next(accountIn(stores, delta.object.metadata.namespace)) : [],
    leftBy: ({type, object, old = object}) =>
      type === 'deleted' || accountId(old) !== accountId(object) ? next(accountId(old)) : [],
  };
}

function leavesQueue({object, old}: Delta<Limited>): boolean {
  return old !== undefined && waitsForPlan(old) && !waitsForPlan(object);
}
