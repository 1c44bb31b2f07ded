import type {Logger} from 'pino';
import type {Clock} from '../base/clock.ts';
import type {DnsScheduler} from '../dns/dns.ts';
import type {EventRecorder} from '../runtime/kube/events.ts';
import type {Reservations} from './approval/slots.ts';
import type {OperatorConfig} from './config.ts';
import type {Identity} from './identity.ts';
import type {OrderBoard} from './orders/board.ts';
import type {Flavour} from './routing/flavour.ts';
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
