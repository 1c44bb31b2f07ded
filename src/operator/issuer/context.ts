import type {ApiAccess, Base} from '../caches/context.ts';
import type {CaAccounts} from './accounts.ts';
import type {NameServers} from './name-servers.ts';
import type {OrderSchedule} from './order-schedule.ts';
import type {Responders} from './responders.ts';

export interface IssuerOperator extends Base {
  readonly orderSchedule: OrderSchedule;
  readonly accounts: CaAccounts;
  readonly responders: Responders;
  readonly nameServers: NameServers;
  /** Certificates, by "namespace/name", that the CA wants to be renewed before cert-manager does. */
  readonly earlyRenewals: Set<string>;
  /** The namespace of the operator. */
  readonly namespace: string;
}

/** Within one reconcile. */
export interface IssuerContext extends IssuerOperator, ApiAccess {}
