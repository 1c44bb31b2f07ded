import type {Refusals} from '../../runtime/controller/refusals.ts';
import type {ApiAccess} from '../caches/context.ts';
import type {CertManager} from '../certificate/cert-manager.ts';
import type {EdgeOperator} from '../edge/context.ts';

export interface ProjectOperator extends EdgeOperator {
  readonly certManager: Pick<CertManager, 'problem' | 'subscribe'>;
  /** Of managed Domains, by "namespace/host": one that does not exist has no conditions. */
  readonly domainRefusals: Refusals;
}

/** Within one reconcile. */
export interface ProjectContext extends ProjectOperator, ApiAccess {}
