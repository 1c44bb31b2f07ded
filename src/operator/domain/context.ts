import type {DnsScheduler} from '../../dns/dns.ts';
import type {Prober} from '../../probe/prober.ts';
import type {ApiAccess} from '../caches/context.ts';
import type {CertManager} from '../certificate/cert-manager.ts';
import type {EdgeOperator} from '../edge/context.ts';
import type {OrderSchedule} from '../issuer/order-schedule.ts';
import type {Outdated} from './outdated.ts';

/** For the steps that the default host of a Project takes, too. */
export interface HostOperator extends EdgeOperator {
  readonly certManager: Pick<CertManager, 'problem' | 'subscribe'>;
  readonly orderSchedule: OrderSchedule;
  readonly outdated: Outdated;
  readonly prober: Prober;
}

export interface DomainOperator extends HostOperator {
  readonly scheduler: DnsScheduler;
}

/** Within one reconcile. */
export interface HostContext extends HostOperator, ApiAccess {}
export interface DomainContext extends DomainOperator, ApiAccess {}
