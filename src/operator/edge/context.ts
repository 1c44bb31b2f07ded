import type {ApiAccess, Base} from '../caches/context.ts';
import type {EdgeProvider} from '../kinds/edge-provider.ts';

export interface EdgeOperator extends Base {
  readonly edge: EdgeProvider;
}

/** Within one reconcile. */
export interface EdgeContext extends EdgeOperator, ApiAccess {}
