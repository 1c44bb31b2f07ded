import type {Logger} from 'pino';
import type {Clock} from '../../base/clock.ts';
import type {DnsScheduler} from '../../dns/dns.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import type {OperatorConfig} from '../model/config.ts';
import type {Identity} from '../model/derived-names.ts';
import type {Flavour} from '../model/edge-provider.ts';
import type {OrderBoard} from './order-schedule.ts';
import type {Reservations} from './reservations.ts';
import type {Stores} from './stores.ts';

/** What every reconcile of the operator works with. */
export interface Operator {
  readonly config: OperatorConfig;
  readonly identity: Identity;
  readonly stores: Stores;
  readonly scheduler: DnsScheduler;
  readonly orders: OrderBoard;
  readonly reservations: Reservations;
  readonly flavour: Flavour;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly clock: Clock;
}
