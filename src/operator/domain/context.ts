import type {DnsScheduler} from '../../dns/dns.ts';
import type {Prober} from '../../probe/prober.ts';
import type {ApiAccess} from '../caches/context.ts';
import type {CertManager} from '../certificate/cert-manager.ts';
import type {EdgeOperator} from '../edge/context.ts';
import type {OrderSchedule} from '../issuer/order-schedule.ts';
import type {Outdated} from './outdated.ts';

export interface DomainOperator extends EdgeOperator {
  readonly scheduler: DnsScheduler;
  readonly prober: Prober;
  readonly certManager: Pick<CertManager, 'problem' | 'subscribe'>;
  readonly orderSchedule: OrderSchedule;
  readonly outdated: Outdated;
}

/** Within one reconcile. */
export interface DomainContext extends DomainOperator, ApiAccess {}
