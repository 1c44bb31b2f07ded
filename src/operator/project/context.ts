import type {ApiAccess} from '../caches/context.ts';
import type {HostOperator} from '../domain/context.ts';

export interface ProjectOperator extends HostOperator {}

/** Within one reconcile. */
export interface ProjectContext extends ProjectOperator, ApiAccess {}
