import type {ApiAccess, Base} from '../caches/context.ts';
import type {KeyWaiters} from './key-waiters.ts';

export interface ApiKeyOperator extends Base {
  readonly keyWaiters: KeyWaiters;
}

/** Within one reconcile. */
export interface ApiKeyContext extends ApiKeyOperator, ApiAccess {}
