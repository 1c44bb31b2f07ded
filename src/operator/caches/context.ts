import type {Logger} from 'pino';
import type {Corrections} from '../../runtime/apply/corrections.ts';
import type {ReconcileContext} from '../../runtime/controller/controller.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import type {Clock} from '../../time/clock.ts';
import type {OperatorConfig} from '../config/config.ts';
import type {DerivedNames} from '../kinds/derived-names.ts';
import type {KnownSince} from './known-since.ts';
import type {PlacesOfKinds} from './places.ts';
import type {Stores} from './stores.ts';

/** The part of the operator that every reconcile may need. Each room adds its own. */
export interface Base {
  readonly config: OperatorConfig;
  readonly names: DerivedNames;
  readonly stores: Stores;
  readonly places: PlacesOfKinds;
  readonly corrections: Corrections;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly knownSince: KnownSince;
}

/** The API server, within one reconcile. */
export type ApiAccess = Pick<ReconcileContext, 'client' | 'signal'>;

export interface BaseContext extends Base, ApiAccess {}
