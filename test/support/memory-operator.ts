/** A whole operator without an API server, a CA, or an edge, and views of Domains: for tests of single steps. */
import {pino} from 'pino';
import type {DnsCheck, Verdict} from '../../src/dns/dns.ts';
import {KeyWaiters} from '../../src/operator/apikey/key-waiters.ts';
import {KnownSince} from '../../src/operator/caches/known-since.ts';
import {createPlaces} from '../../src/operator/caches/places.ts';
import {createStores} from '../../src/operator/caches/stores.ts';
import type {OperatorConfig} from '../../src/operator/config/config.ts';
import {Outdated} from '../../src/operator/domain/outdated.ts';
import type {DomainView} from '../../src/operator/domain/view.ts';
import {traefik} from '../../src/operator/edge/traefik.ts';
import {CaAccounts} from '../../src/operator/issuer/accounts.ts';
import {NameServers} from '../../src/operator/issuer/name-servers.ts';
import {OrderSchedule} from '../../src/operator/issuer/order-schedule.ts';
import {Responders} from '../../src/operator/issuer/responders.ts';
import {accountOf} from '../../src/operator/kinds/account.ts';
import {DerivedNames} from '../../src/operator/kinds/derived-names.ts';
import type {EdgeProvider} from '../../src/operator/kinds/edge-provider.ts';
import type {Operator} from '../../src/operator/operator.ts';
import {Corrections} from '../../src/runtime/apply/corrections.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {ManualClock} from './manual-clock.ts';
import {memoryCaches} from './memory-caches.ts';
import {domain} from './objects.ts';
import {operatorConfig} from './operator-config.ts';

interface MemoryOptions {
  readonly config?: OperatorConfig;
  readonly clock?: ManualClock;
  readonly edge?: EdgeProvider;
}

/** Its caches are synced, and `put` fills them; nothing is checked or probed. */
export function memoryOperator(options: MemoryOptions = {}) {
  const {config = operatorConfig(), clock = new ManualClock(), edge = traefik(config.routing)} = options;
  const {manager, put, store} = memoryCaches();
  const names = new DerivedNames(new Uint8Array(32), config.platform);
  const stores = createStores(manager, config, names, edge);
  const events: string[] = [];
  const unchecked = {
    ...{watch: () => undefined, unwatch: () => undefined, request: () => undefined, get: () => undefined},
    ...{subscribe: () => () => undefined, start: async () => undefined},
  };
  const operator: Operator = {
    ...{config, clock, names, stores, edge, namespace: 'nameplate'},
    logger: pino({level: 'silent'}),
    events: {
      event: (_, type, reason) => void events.push(`${type} ${reason}`),
      flush: async () => undefined,
    },
    places: createPlaces(stores, config, clock),
    corrections: new Corrections(clock),
    knownSince: new KnownSince(clock),
    scheduler: unchecked,
    prober: {...unchecked, isOn: false, problem: () => undefined},
    certManager: {problem: () => undefined, subscribe: () => undefined},
    orderSchedule: new OrderSchedule(),
    outdated: new Outdated(clock),
    accounts: new CaAccounts(clock, 'test', dispatch => dispatch),
    responders: new Responders({...config.certificates.acme.challenges, namespace: 'nameplate', clock}),
    nameServers: new NameServers({...config.certificates.acme.nameserver, namespace: 'nameplate', clock}),
    earlyRenewals: new Set(),
    keyWaiters: new KeyWaiters(),
  };
  return {operator, put, store, events, clock, config};
}

type ClientMethods = {readonly [Name in keyof KubeClient]?: unknown};

/** An API server of which a test implements only what it needs. */
export function apiOf(methods: ClientMethods) {
  const client = methods as unknown as KubeClient;
  return {client, signal: new AbortController().signal};
}

/** The same, for a reconcile. */
export function reconcileContext(methods: ClientMethods) {
  return {...apiOf(methods), logger: pino({level: 'silent'}), keepsFailing: false};
}

/** A check that found nothing, with some findings. */
export function dnsCheck(verdict: Partial<Verdict>, times: Partial<DnsCheck> = {}): DnsCheck {
  const nothing: Verdict = {
    ...{reason: 'RecordMissing', verified: false, agreed: false, message: 'There is no record.', addressesOnly: false},
    ...{observed: [], txtValues: [], caa: {outcome: 'unchecked', message: ''}},
  };
  return {verdict: {...nothing, ...verdict}, startedAt: 0, checkedAt: 0, ...times};
}

const DEFAULTS = operatorConfig(); // once: it is validated

/** A new Domain of Project `shop` in namespace `a`, of which nothing is known. */
export function domainView(more: Partial<DomainView> = {}): DomainView {
  const {host = 'shop.example.com', namespace = 'a'} = more;
  const metadata = {name: namespace, uid: namespace, labels: {'nameplate.dev/plan': 'pro'}};
  const account = accountOf({apiVersion: 'v1', kind: 'Namespace', metadata}, DEFAULTS);
  const applied = domain(namespace, host, 'shop');
  const {domain: owner = {...applied, metadata: {...applied.metadata, uid: 'uid', generation: 1}}} = more;
  return {
    ...{key: `${namespace}/${host}`, host, namespace, account, holder: 'nobody'},
    ...{domain: owner, owner, isDefault: false, isRequested: false, again: 'run: it'},
    question: {
      ...{host, target: 'acct.edge.test', txtName: `_nameplate.${host}`, txtValue: 'token'},
      ...{apexProof: 'txt', caaIdentities: []},
    },
    ...{project: undefined, check: undefined, claim: undefined, certificate: undefined, secret: undefined},
    ...{published: undefined, verifyRequest: undefined, isPaused: false, keepsFailing: false, nowMs: 0},
    ...more,
  };
}
