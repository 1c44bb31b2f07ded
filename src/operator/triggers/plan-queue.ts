/** Which Domains, Projects, or APIKeys are requeued when a slot in a plan becomes free. */
import type {APIKey} from '../../keys/apikey.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {accountId, waitsForPlan} from '../model/account.ts';
import type {Domain, Project} from '../model/kinds.ts';
import {agesOf} from '../state/age-ranks.ts';
import {accountIn, INDEX, type Stores} from '../state/stores.ts';

type Limited = Domain | Project | APIKey;

/**
 * How many waiting objects to requeue: more than the slots that can become free before the cache shows who took them.
 */
const CALLED = 32;

interface PlanQueue<T extends Limited> {
  /** The keys of the next waiting objects in an account. */
  next(account: string | undefined): string[];
  /** The next ones after an object that is gone, got a slot, or no longer needs one. */
  behind(delta: Delta<T>): string[];
  /** The next ones in the other namespaces of an account, after a namespace is gone or has changed its account. */
  leftBy(namespace: Delta<KubeObject>): string[];
}

/**
 * Requeues the oldest waiting objects in each namespace of the account, because namespaces differ in their plans. The
 * others get no slot before these do. So the end of one object does not requeue 50,000 that a tenant has created beyond
 * its plan. `isNext`: whether a slot is all that the object waits for.
 */
export function planQueue<T extends Limited>(
  stores: Pick<Stores, 'namespaces'>,
  limited: ReadonlyStore<T>,
  isNext: (object: DeepReadonly<T>) => boolean = () => true,
): PlanQueue<T> {
  const waiting = agesOf(limited, waitsForPlan);
  const next = (account = '') =>
    stores.namespaces
      .byIndex(INDEX.account, account)
      .flatMap(({metadata}) => waiting.oldest([metadata.name], CALLED, object => isNext(object as DeepReadonly<T>)));
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
