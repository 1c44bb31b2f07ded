import type {Logger} from 'pino';
import type {Clock} from '../../base/clock.ts';
import type {DnsScheduler} from '../../dns/dns.ts';
import type {KeyWaiters} from '../../keys/key-waiters.ts';
import type {Prober} from '../../probe/prober.ts';
import type {Corrections} from '../../runtime/apply/corrections.ts';
import type {ReconcileContext} from '../../runtime/controller/controller.ts';
import type {Refusals} from '../../runtime/controller/refusals.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import type {OperatorConfig} from '../config/config.ts';
import type {Outdated} from '../domain/outdated.ts';
import type {CaAccounts} from '../issuer/accounts.ts';
import type {OrderSchedule} from '../issuer/order-schedule.ts';
import type {Responders} from '../issuer/responders.ts';
import type {DerivedNames} from '../kinds/derived-names.ts';
import type {EdgeProvider} from '../kinds/edge-provider.ts';
import type {KnownSince} from './known-since.ts';
import type {PlacesOfKinds} from './places.ts';
import type {Stores} from './stores.ts';

/** A program without which nothing continues. */
export interface Dependency {
  /** Why it does not work; undefined if it does, or nobody knows. */
  problem(): string | undefined;
  /** Calls `handler` when it stops or starts to work. */
  subscribe(handler: () => void): void;
}

/** The context of every reconcile of the operator. */
export interface Operator {
  readonly config: OperatorConfig;
  readonly names: DerivedNames;
  readonly stores: Stores;
  readonly places: PlacesOfKinds;
  readonly scheduler: DnsScheduler;
  readonly prober: Prober;
  readonly orderSchedule: OrderSchedule;
  readonly accounts: CaAccounts;
  readonly responders: Responders;
  /** Certificates, by "namespace/name", that the CA wants to be renewed before cert-manager does. */
  readonly earlyRenewals: Set<string>;
  /** The namespace of the operator. */
  readonly namespace: string;
  readonly outdated: Outdated;
  /** Of managed Domains, by "namespace/host": one that does not exist has no conditions. */
  readonly domainRefusals: Refusals;
  readonly keyWaiters: KeyWaiters;
  readonly corrections: Corrections;
  readonly edge: EdgeProvider;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly knownSince: KnownSince;
  readonly certManager: Dependency;
}

/** The API server, within one reconcile. */
export type ApiAccess = Pick<ReconcileContext, 'client' | 'signal'>;

/** The context of the steps of one reconcile. */
export interface Context extends Operator, ApiAccess {}
