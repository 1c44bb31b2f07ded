/**
 * The platform team's metrics of all Domains. They contain no name of a tenant unless that is configured.
 */
import {once} from 'node:events';
import type {Registry} from 'prom-client';
import {findCondition} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {metricsIn} from '../../operations/metrics.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {Runnable} from '../../runtime/controller/manager.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import type {OperatorConfig} from '../config/config.ts';
import {hostKey} from '../kinds/derived-names.ts';
import type {Certificate, Domain, DomainClaim} from '../kinds/kinds.ts';
import {DOMAIN_REASONS} from './reasons.ts';
import type {DomainState} from './summary.ts';

const STATES: readonly DomainState[] = ['Unverified', 'Verified', 'Live', 'Degraded', 'Blocked'];
/** Without the policy on our own kinds, a tenant may write any reason; each would be another series. */
const KNOWN: ReadonlySet<string> = new Set(
  Object.entries(DOMAIN_REASONS).flatMap(([condition, reasons]) => reasons.map(reason => `${condition}/${reason}`)),
);
/** The state of a Domain that Nameplate has not judged yet. */
const NO_STATE = 'Unknown';

interface MetricsParts {
  readonly config: Pick<OperatorConfig, 'metrics'>;
  readonly domains: ReadonlyStore<Domain>;
  readonly claims: ReadonlyStore<DomainClaim>;
  readonly certificates: ReadonlyStore<Certificate>;
  readonly registry: Registry;
  readonly clock: Clock;
}

/** Every replica exports the gauges. The returned Runnable counts events, on the leader only. */
export function watchDomains(parts: MetricsParts): Runnable {
  countDomains(parts);
  countCertificates(parts);
  if (parts.config.metrics.perDomain) describeDomains(parts);
  const followers = [followClaims(parts), followDomains(parts)];
  return {
    name: 'metrics',
    run: async signal => {
      const ends = followers.map(follow => follow());
      if (!signal.aborted) await once(signal, 'abort');
      for (const end of ends) end();
    },
  };
}

function countDomains({domains, registry}: MetricsParts): void {
  const {gauge} = metricsIn(registry);
  const states = gauge('nameplate_domains', 'Domains by state.', 'state');
  const conditions = gauge(
    'nameplate_domain_conditions',
    'Domains by the reason of each condition.',
    'condition',
    'reason',
  );
  for (const state of [...STATES, NO_STATE]) states.set({state}, 0);
  for (const [condition, reasons] of Object.entries(DOMAIN_REASONS)) {
    for (const reason of reasons) conditions.set({condition, reason}, 0);
  }
  const count = ({status}: DeepReadonly<Domain>, by: 1 | -1) => {
    const state = STATES.find(known => known === status?.state) ?? NO_STATE;
    states.inc({state}, by);
    for (const {type: condition, reason} of status?.conditions ?? []) {
      if (KNOWN.has(`${condition}/${reason}`)) conditions.inc({condition, reason}, by);
    }
  };
  const counted = new Map<string, DeepReadonly<Domain>>(); // a deletion may show a newer object than was counted
  domains.subscribe(({type, object}) => {
    const key = keyOf(object);
    const before = counted.get(key);
    if (before) count(before, -1);
    counted.delete(key);
    if (type === 'deleted') return;
    count(object, 1);
    counted.set(key, object);
  });
}

const CERTIFICATE_STATES = ['valid', 'overdue', 'expiring', 'expired'] as const;

/** By the clock, so that an expiry shows even if nothing else works. */
function countCertificates({certificates, domains, registry, clock}: MetricsParts): void {
  metricsIn(registry).readings(
    'nameplate_certificates',
    'Certificates of hosts: valid, overdue for renewal by a tenth of their lifetime, expiring (less than a tenth of it is left), or expired. renewable is false if the DNS of the host forbids a renewal.',
    ['state', 'renewable'],
    function* () {
      for (const state of CERTIFICATE_STATES) {
        for (const renewable of ['true', 'false']) yield [{state, renewable}, 0] as const;
      }
      const nowMs = clock.now();
      for (const certificate of certificates.list()) {
        const state = certificateState(certificate, nowMs);
        if (state === undefined) continue;
        const renewable = state === 'valid' || isRenewable(certificate, domains);
        yield [{state, renewable: `${renewable}`}, 1] as const;
      }
    },
  );
}

function certificateState(
  {status}: DeepReadonly<Certificate>,
  nowMs: number,
): (typeof CERTIFICATE_STATES)[number] | undefined {
  const {notBefore = '', notAfter = '', renewalTime = ''} = status ?? {};
  const expiresMs = Date.parse(notAfter);
  if (Number.isNaN(expiresMs)) return undefined;
  if (nowMs >= expiresMs) return 'expired';
  const tenthMs = (expiresMs - Date.parse(notBefore)) / 10;
  if (nowMs >= expiresMs - tenthMs) return 'expiring';
  return nowMs >= Date.parse(renewalTime) + tenthMs ? 'overdue' : 'valid';
}

/** Only its owner can restore the records of a host. */
function isRenewable({metadata}: DeepReadonly<Certificate>, domains: ReadonlyStore<Domain>): boolean {
  const host = metadata.annotations?.[ANNOTATION.host] ?? '';
  const {conditions} = domains.get(hostKey(metadata.namespace ?? '', host))?.status ?? {};
  const isDrifted = findCondition(conditions, 'DNSVerified')?.reason === 'Drifted';
  return !isDrifted && findCondition(conditions, 'CAAAllowed')?.reason !== 'Forbidden';
}

/** Blocked Domains are left out: a tenant may create any number of them. */
function describeDomains({domains, registry}: MetricsParts): void {
  const described = () =>
    Iterator.from(domains.list()).filter(({status}) => status?.state !== undefined && status.state !== 'Blocked');
  const {readings} = metricsIn(registry);
  readings(
    'nameplate_domain_info',
    'State of each Domain, with the reason of its condition Ready. Blocked Domains are left out.',
    ['namespace', 'host', 'project', 'state', 'reason'],
    () =>
      described().map(({metadata: {namespace = ''}, spec, status}) => {
        const reason = findCondition(status?.conditions, 'Ready')?.reason ?? '';
        return [{namespace, host: spec.host, project: spec.projectRef.name, state: status?.state ?? '', reason}, 1];
      }),
  );
  readings(
    'nameplate_domain_certificate_expiration_timestamp_seconds',
    'When the certificate of each Domain expires. Blocked Domains are left out.',
    ['namespace', 'host'],
    () =>
      described().flatMap(({metadata: {namespace = ''}, spec, status}) => {
        const notAfter = status?.certificate?.notAfter;
        return notAfter === undefined ? [] : [[{namespace, host: spec.host}, Date.parse(notAfter) / 1000] as const];
      }),
  );
}

/** Starts to count; returns what stops it. */
type Follow = () => () => void;

function followClaims({claims, registry}: MetricsParts): Follow {
  const moved = metricsIn(registry).counter(
    'nameplate_claims_moved_total',
    'Hosts that moved from one account to another, because the new one proved that it owns them.',
  );
  return () =>
    claims.subscribe(({type, object, old}) => {
      if (type !== 'updated' || old?.spec.releasedAt !== undefined) return;
      if (old?.spec.account !== object.spec.account) moved.inc();
    });
}

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;

function followDomains({domains, registry, clock}: MetricsParts): Follow {
  const seconds = metricsIn(registry).histogram(
    [
      ...[1, 2.5, 5, 10, 30].map(n => n * SECOND),
      ...[1, 2, 5, 10, 30].map(n => n * MINUTE),
      ...[1, 3, 12, 24].map(n => n * HOUR),
    ],
    'nameplate_domain_activation_duration_seconds',
    'Time from the check that found the DNS record of a Domain correct until the Domain was Live.',
  );
  return () => {
    const verifiedAtMs = new Map<string, number>();
    return domains.subscribe(delta => {
      const key = keyOf(delta.object);
      if (delta.initial) return;
      if (delta.type === 'deleted' || !isVerified(delta.object)) {
        verifiedAtMs.delete(key);
        return;
      }
      if (becomesVerified(delta)) verifiedAtMs.set(key, clock.monotonic());
      const sinceMs = verifiedAtMs.get(key);
      if (sinceMs === undefined || delta.object.status?.state !== 'Live') return;
      verifiedAtMs.delete(key);
      seconds.observe((clock.monotonic() - sinceMs) / 1000);
    });
  };
}

function isVerified({status}: DeepReadonly<Domain>): boolean {
  return findCondition(status?.conditions, 'DNSVerified')?.status === 'True';
}

/** A Domain whose record was lost and is back was served all the time. */
function becomesVerified({object, old}: Delta<Domain>): boolean {
  const wasServed = old?.status?.state === 'Live' || old?.status?.state === 'Degraded';
  return !wasServed && isVerified(object) && (old === undefined || !isVerified(old));
}
