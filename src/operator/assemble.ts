/** Assembles the operator: caches, controllers, and the DNS scheduler under one manager. */
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {createDns, createResolve, type Verdict} from '../dns/dns.ts';
import {parseAddress} from '../probe/address.ts';
import {createProber, type Prober} from '../probe/prober.ts';
import {Corrections} from '../runtime/apply/corrections.ts';
import {StringPool} from '../runtime/cache/string-pool.ts';
import {createManager, type Manager} from '../runtime/controller/manager.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import type {Clock} from '../time/clock.ts';
import {KeyWaiters} from './apikey/key-waiters.ts';
import {KnownSince} from './caches/known-since.ts';
import {watchPauses} from './caches/paused.ts';
import {createPlaces} from './caches/places.ts';
import {exact} from './caches/slim.ts';
import {createStores, type Stores} from './caches/stores.ts';
import {CertManager} from './certificate/cert-manager.ts';
import {watchForeignApprovals} from './certificate/foreign-approvals.ts';
import {watchIssuance} from './certificate/issuance-problem.ts';
import {watchRefusedRenewals} from './certificate/refused-renewals.ts';
import type {OperatorConfig} from './config/config.ts';
import {addControllers} from './controllers.ts';
import {watchDomains} from './domain/metrics.ts';
import {Outdated} from './domain/outdated.ts';
import {gateway} from './edge/gateway.ts';
import {moving} from './edge/moving.ts';
import {watchEdge} from './edge/problem.ts';
import {traefik} from './edge/traefik.ts';
import {CaAccounts} from './issuer/accounts.ts';
import {watchAcmeDomain} from './issuer/acme-domain.ts';
import {watchOrders} from './issuer/metrics.ts';
import {NameServers} from './issuer/name-servers.ts';
import {OrderSchedule} from './issuer/order-schedule.ts';
import {Responders} from './issuer/responders.ts';
import {challengeHost, DerivedNames} from './kinds/derived-names.ts';
import type {EdgeProvider} from './kinds/edge-provider.ts';
import type {Operator} from './operator.ts';
import {checkPromises} from './threat-model-checks.ts';

const edges = {
  traefik: ({routing}: OperatorConfig) => traefik(routing),
  gateway: ({routing, platform}: OperatorConfig) => gateway(routing, challengeHost(platform)),
} as const;

interface OperatorParts {
  readonly config: OperatorConfig;
  readonly platformKey: Uint8Array;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Unique to this process, usually the pod's name. */
  readonly identity: string;
  /** For requests to CAs. */
  readonly userAgent: string;
  /** The namespace of the Lease and the process. */
  readonly namespace: string;
}

interface AssembledOperator {
  /** Ready to start. A standby has warm caches; only the leader queries DNS and writes. */
  readonly manager: Manager;
  /** Advice for the platform team even though everything works. */
  warning(): string | undefined;
}

export function assembleOperator(parts: OperatorParts): AssembledOperator {
  const {config, client, clock, logger, registry, identity, namespace} = parts;
  const manager = createManager({
    client,
    clock,
    logger,
    registry,
    identity,
    reportingController: 'nameplate.dev/operator',
    reportFailuresAfterMs: config.controller.reportFailuresAfterSeconds * 1000,
    ...leaderElection(config, namespace),
  });
  const edge = edgeOf(config);
  const {movingFrom, apexAddresses, edgeAddresses: next, formerAddresses: former} = config.routing;
  const edgeAddresses = movingFrom === 'none' ? apexAddresses : [...apexAddresses, ...next, ...former];
  const strings = new StringPool();
  const compact = (verdict: Verdict) => strings.share(exact(verdict)); // the Domain's status has the same texts
  const {scheduler} = createDns(config.dns, {logger, registry, clock, edgeAddresses, compact});
  const names = new DerivedNames(parts.platformKey, config.platform);
  const stores = createStores(manager, config, names, edge);
  const prober = proberOf(parts, edge, stores);
  const regarding = {apiVersion: 'v1', kind: 'Pod', metadata: {name: identity, namespace}};
  const watch = {clock, logger, registry, events: manager.events, regarding};
  const certManager = new CertManager({
    ...{client, clock, logger, certificates: stores.certificates},
    lease: config.certificates.certManagerLease,
  });
  const operator: Operator = {
    config,
    names,
    stores,
    places: createPlaces(stores, config, clock),
    scheduler,
    prober,
    orderSchedule: new OrderSchedule(),
    accounts: new CaAccounts(clock, parts.userAgent, client.writeGate('request to a CA')),
    responders: new Responders({...config.certificates.acme.challenges, namespace, clock}),
    nameServers: new NameServers({...config.certificates.acme.nameserver, namespace, clock}),
    earlyRenewals: new Set(),
    namespace,
    outdated: new Outdated(clock),
    keyWaiters: new KeyWaiters(),
    corrections: new Corrections(clock),
    edge,
    events: manager.events,
    logger,
    clock,
    knownSince: new KnownSince(clock),
    certManager,
  };
  addControllers(manager, operator, registry);
  manager.run({name: 'dns', run: signal => scheduler.start(signal)});
  manager.run({name: 'cert-manager', run: signal => certManager.run(signal)});
  const acmeDomain = watchAcmeDomain({
    domain: config.platform.acmeDomain,
    resolve: createResolve(config.dns, clock),
    ...{clock, registry},
  });
  manager.run({name: 'acme-domain', run: acmeDomain.run});
  manager.run({name: 'probes', run: signal => prober.start(signal)});
  manager.run(
    watchDomains({...parts, domains: stores.domains, claims: stores.claims, certificates: stores.certificates}),
  );
  watchOrders(operator, registry);
  const warnings = [
    watchPauses(config, stores, registry),
    ...(config.certificates.approval.enabled && !config.certificates.approval.dryRun
      ? [watchForeignApprovals(stores.certificateRequests, watch)]
      : []),
    checkPromises({config, client, clusterIssuers: stores.clusterIssuers, registry, logger}),
    watchEdge(edge, stores, registry),
    watchIssuance({config, stores, certManager, registry}),
    watchRefusedRenewals({config, stores, clock, registry}),
    () => acmeDomain.warning(),
    () => manager.warning(),
    () => prober.problem(),
  ];
  return {manager, warning: () => warnings.flatMap(warn => warn() ?? []).join(' ') || undefined};
}

/** During a move, both edges. */
function edgeOf(config: OperatorConfig): EdgeProvider {
  const {routing} = config;
  const provider = edges[routing.provider](config);
  return routing.movingFrom === 'none' ? provider : moving(provider, edges[routing.movingFrom](config), routing);
}

/** Without addresses in the configuration, the edge must report its own. */
function proberOf(
  {config: {probes}, clock, registry, logger}: OperatorParts,
  edge: EdgeProvider,
  {platform}: Stores,
): Prober {
  const configured = probes.addresses.map(parseAddress);
  return createProber({
    settings: probes,
    addresses: () => {
      if (!probes.enabled) return [];
      return configured.length > 0 ? configured : (edge.addresses?.(platform) ?? []).map(parseAddress);
    },
    clock,
    registry,
    onError: (key, error) => logger.error({key, err: error}, 'A probe failed unexpectedly.'),
    onReachable: (isReachable, why) =>
      isReachable
        ? logger.info('The edge can be reached again.')
        : logger.warn(
            {why},
            'Probes cannot reach the edge. Hosts keep their state. Check the edge and config.probes.addresses.',
          ),
  });
}

function leaderElection({controller}: OperatorConfig, namespace: string) {
  const {enabled, leaseName, leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds, ...rest} =
    controller.leaderElection;
  if (!enabled) return {};
  return {
    leaderElection: {
      lease: {namespace: rest.namespace ?? namespace, name: leaseName},
      leaseDurationMs: leaseDurationSeconds * 1000,
      renewDeadlineMs: renewDeadlineSeconds * 1000,
      retryPeriodMs: retryPeriodSeconds * 1000,
    },
  };
}
