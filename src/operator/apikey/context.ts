import type {Base} from '../caches/context.ts';
import type {KeyWaiters} from './key-waiters.ts';

export interface ApiKeyOperator extends Base {
  readonly keyWaiters: KeyWaiters;
}
