import type {ApiAccess} from '../caches/context.ts';
import type {CertManager} from '../certificate/cert-manager.ts';
import type {Outdated} from '../domain/outdated.ts';
import type {EdgeOperator} from '../edge/context.ts';

export interface ProjectOperator extends EdgeOperator {
  readonly certManager: Pick<CertManager, 'problem' | 'subscribe'>;
  readonly outdated: Outdated;
}

/** Within one reconcile. */
export interface ProjectContext extends ProjectOperator, ApiAccess {}
