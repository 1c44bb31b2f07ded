import type {Logger} from 'pino';
import type {DnsScheduler} from '../dns/scheduler.ts';
import type {Clock} from '../runtime/clock.ts';
import type {EventRecorder} from '../runtime/kube/events.ts';
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
  readonly flavour: Flavour;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly clock: Clock;
}
