import {Registry} from 'prom-client';
import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {Store} from '../../runtime/cache/store.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import type {Certificate, Domain, DomainClaim} from '../kinds/kinds.ts';
import {watchDomains} from './metrics.ts';

type State = NonNullable<NonNullable<Domain['status']>['state']>;

let clock: ManualClock;
let registry: Registry;
let domains: Store<Domain>;
let claims: Store<DomainClaim>;
let certificates: Store<Certificate>;
let version: number;
let leadership: AbortController;
let lead: () => Promise<void>;

beforeEach(() => {
  start({perDomain: false});
});

function start(metrics: {perDomain: boolean}): void {
  clock = new ManualClock(Date.parse('2026-11-21T12:00:00Z'));
  registry = new Registry();
  [domains, claims, certificates] = [newStore<Domain>(), newStore<DomainClaim>(), newStore<Certificate>()];
  version = 0;
  leadership = new AbortController();
  const runnable = watchDomains({config: {metrics}, domains, claims, certificates, registry, clock});
  lead = () => runnable.run(leadership.signal);
}

function newStore<T extends KubeObject>(): Store<T> {
  return new Store<T>({
    onHandlerError: error => {
      throw error;
    },
  });
}

/** `reasons`: those of DNSVerified and Ready. */
function domain(state?: State, verified = true, certificate = {}): Domain {
  const condition = (type: string, isTrue: boolean, reason: string) => ({
    ...{type, reason, message: '', lastTransitionTime: ''},
    status: isTrue ? ('True' as const) : ('False' as const),
  });
  const conditions = [
    condition('DNSVerified', verified, verified ? 'Verified' : 'Drifted'),
    condition('Ready', state === 'Live', state === 'Live' ? 'Live' : 'Issuing'),
  ];
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Domain',
    metadata: {name: 'shop.test', namespace: 'acme', uid: 'uid', resourceVersion: `${++version}`},
    spec: {host: 'shop.test', projectRef: {name: 'shop'}},
    ...(state && {status: {state, certificate, conditions}}),
  };
}

function claim(account: string, releasedAt?: string): DomainClaim {
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'DomainClaim',
    metadata: {name: 'shop.test', uid: 'uid', resourceVersion: `${++version}`},
    spec: {account, namespace: account, since: '2026-11-21T12:00:00Z', ...(releasedAt && {releasedAt})},
  };
}

async function samples(name: string): Promise<object> {
  const {values} = (await registry.getSingleMetric(name)?.get()) ?? {values: []};
  return Object.fromEntries(
    values.filter(({value}) => value !== 0).map(({labels, value}) => [Object.values(labels).join(' '), value]),
  );
}

test('Domains are counted by state and reason, also when a deletion shows a newer one than the last', async () => {
  domains.upsert(domain());
  expect(await samples('nameplate_domains')).toEqual({Unknown: 1});
  domains.upsert(domain('Degraded', false));
  expect(await samples('nameplate_domains')).toEqual({Degraded: 1});
  expect(await samples('nameplate_domain_conditions')).toEqual({'DNSVerified Drifted': 1});
  domains.remove(domain('Live'));
  expect(await samples('nameplate_domains')).toEqual({});
  expect(await samples('nameplate_domain_conditions')).toEqual({});
});

test('there is a series for every state and reason before any Domain has it', async () => {
  const text = await registry.metrics();
  expect(text).toContain('nameplate_domains{state="Blocked"} 0');
  expect(text).toContain('nameplate_domain_conditions{condition="CertificateReady",reason="RenewalFailing"} 0');
  expect(text).not.toContain('nameplate_domain_info');
});

test('each Domain has its own series only if that is configured, and none while it is blocked', async () => {
  start({perDomain: true});
  domains.upsert(domain('Live', true, {notAfter: '2026-12-01T00:00:00Z'}));
  expect(await samples('nameplate_domain_info')).toEqual({'acme shop.test shop Live Live': 1});
  expect(await samples('nameplate_domain_certificate_expiration_timestamp_seconds')).toEqual({
    'acme shop.test': Date.parse('2026-12-01T00:00:00Z') / 1000,
  });
  domains.upsert(domain('Blocked', true, {notAfter: '2026-12-01T00:00:00Z'}));
  expect(await samples('nameplate_domain_info')).toEqual({});
  expect(await samples('nameplate_domain_certificate_expiration_timestamp_seconds')).toEqual({});
});

test('a host that moves to another account counts while this process leads; a released one does not', async () => {
  const moved = () => samples('nameplate_claims_moved_total');
  claims.upsert(claim('a'));
  claims.upsert(claim('b'));
  expect(await moved()).toEqual({});
  const led = lead();
  claims.upsert(claim('c'));
  claims.upsert(claim('c', '2026-11-21T12:00:00Z'));
  claims.upsert(claim('d'));
  expect(await moved()).toEqual({'': 1});
  leadership.abort();
  await led;
  claims.upsert(claim('e'));
  expect(await moved()).toEqual({'': 1});
});

test('the time from the correct record to Live counts once, and not after drift', async () => {
  const activation = async () => {
    const text = await registry.metrics();
    return /nameplate_domain_activation_duration_seconds_(sum|count) \S+/g[Symbol.match](text);
  };
  void lead();
  domains.upsert(domain('Unverified', false));
  await clock.advance(60_000);
  domains.upsert(domain('Verified'));
  await clock.advance(4000);
  domains.upsert(domain('Live'));
  const once = [
    'nameplate_domain_activation_duration_seconds_sum 4',
    'nameplate_domain_activation_duration_seconds_count 1',
  ];
  expect(await activation()).toEqual(once);
  domains.upsert(domain('Degraded', false));
  domains.upsert(domain('Live'));
  expect(await activation()).toEqual(once);
});

const DAY_MS = 86_400_000;

/** Of 90 days, to be renewed after 60. */
function certificate(name: string, ageDays: number, host = `${name}.test`): Certificate {
  const inDays = (days: number) => new Date(clock.now() + days * DAY_MS).toISOString();
  return {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: {
      ...{name, namespace: 'acme', uid: name, resourceVersion: `${++version}`},
      annotations: {'nameplate.dev/host': host},
    },
    spec: {secretName: name, issuerRef: {name: 'ca'}},
    status: {notBefore: inDays(-ageDays), notAfter: inDays(90 - ageDays), renewalTime: inDays(60 - ageDays)},
  };
}

test('certificates are counted by the clock, and those whose DNS prevents a renewal separately', async () => {
  domains.upsert(domain('Degraded', false));
  for (const [name, ageDays] of Object.entries({young: 1, due: 65, overdue: 70, expiring: 82, expired: 91})) {
    certificates.upsert(certificate(name, ageDays));
  }
  certificates.upsert(certificate('drifted', 91, 'shop.test'));
  expect(await samples('nameplate_certificates')).toEqual({
    'valid true': 2,
    'overdue true': 1,
    'expiring true': 1,
    'expired true': 1,
    'expired false': 1,
  });
  await clock.advance(10 * DAY_MS);
  expect(await samples('nameplate_certificates')).toMatchObject({'expired true': 2, 'overdue true': 2});
});
