import type {KeyWaiters} from '../../apikey/key-waiters.ts';
import type {ApiAccess, Base} from '../caches/context.ts';

export interface ApiKeyOperator extends Base {
  readonly keyWaiters: KeyWaiters;
}

/** Within one reconcile. */
export interface ApiKeyContext extends ApiKeyOperator, ApiAccess {}
