import {readFileSync} from 'node:fs';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {metricsIn} from '../operations/metrics.ts';
import {type CheckResult, createScheduler, type Scheduler} from '../schedule/scheduler.ts';
import type {Clock} from '../time/clock.ts';
import {TtlCache} from '../time/ttl-cache.ts';
import type {DnsConfig} from './config.ts';
import {createDelegations} from './resolve/delegation.ts';
import {createRecursiveDirectory, type Directory} from './resolve/directory.ts';
import {rootServers} from './resolve/root-hints.ts';
import {createTargets, type Targets} from './resolve/targets.ts';
import type {CaaRecord} from './verdict/caa.ts';
import {type PollResult, poll} from './verdict/poll.ts';
import type {ProofQuestion, Sign, Verdict} from './verdict/verdict.ts';
import {type Confirmation, type VerifyDependencies, verifyQuestion} from './verdict/verify.ts';
import {
  type Endpoint,
  formatEndpoint,
  mayQueryAddress,
  ownFamilies,
  parseEndpoint,
  rangesOf,
} from './wire/addresses.ts';
import {canonicalAddress, type QueryType} from './wire/codec.ts';
import {createTransport, type Reply} from './wire/transport.ts';

// biome-ignore lint/performance/noBarrelFile: all that the rest of src imports, except for the reader of packets.
export {type DnsConfig, defaultDnsConfig} from './config.ts';
export {formLabel, isApex, isWildcard, parseHost, registrableDomain} from './names/hosts.ts';
export type {DnsReason, ProofQuestion, Verdict} from './verdict/verdict.ts';
export {parseEndpoint, rangesOf} from './wire/addresses.ts';
export {addressType, canonicalAddress} from './wire/codec.ts';
export {createTransport, type DnsTransport} from './wire/transport.ts';

/** The most public suffixes whose CAA sets are cached. */
const REGISTRIES = 1_000;

/** How long a poll may take, in `queryTimeoutMs`: one query over UDP, with its repetition. */
const POLL_TIMEOUTS = 1.5;

export type DnsScheduler = Scheduler<ProofQuestion, Verdict>;
export type DnsCheck = CheckResult<Verdict>;

export interface Dns {
  readonly scheduler: DnsScheduler;
  /** Faults of DNS are verdicts. Rejects only if the signal aborts. */
  verify(question: ProofQuestion, signal: AbortSignal): Promise<Verdict>;
  /** Whether a check may now find something else than this verdict, by a query or two. Verifies nothing. */
  poll(verdict: Verdict, everything: boolean, signal: AbortSignal): Promise<PollResult>;
}

interface DnsDependencies {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly clock: Clock;
  /** IP addresses that count as those of every target. Default: none. */
  readonly edgeAddresses?: readonly string[];
  /**
   * Returns an equal verdict that takes less memory, because each host's verdict is kept as long as the host. Default:
   * unchanged.
   */
  readonly compact?: (verdict: Verdict) => Verdict;
  /** The port of authoritative servers: 53, except in tests. */
  readonly port?: number;
}

/** Throws a RangeError that names the entry of the configuration that is not an address or not a CIDR. */
export function createDns(
  config: DnsConfig,
  {logger, registry, clock, edgeAddresses = [], compact = verdict => verdict, port = 53}: DnsDependencies,
): Dns {
  const recursives = config.recursives.map(parseEndpoint);
  const targets = createTargets(
    clock,
    edgeAddresses.flatMap(address => canonicalAddress(address) ?? []),
  );
  const deps = verifierOf(config, recursives, targets, clock, port);
  const metrics = createMetrics(registry);
  const transportFor = ({recursive}: Sign) => (recursive ? deps.fallback : deps.authoritative)?.transport;
  const pollMs = POLL_TIMEOUTS * config.queryTimeoutMs;

  async function verify(question: ProofQuestion, signal: AbortSignal): Promise<Verdict> {
    const started = clock.monotonic();
    metrics.inFlight.inc();
    try {
      const verdict = await verifyQuestion(question, deps, signal);
      metrics.verdicts.inc({reason: verdict.reason});
      metrics.seconds.observe((clock.monotonic() - started) / 1000);
      const {reason, agreed, caa} = verdict;
      logger.debug({host: question.host, reason, agreed, caa: caa.outcome}, 'checked DNS');
      return verdict;
    } finally {
      metrics.inFlight.dec();
    }
  }

  async function pollSigns({signs}: Verdict, everything: boolean, signal: AbortSignal): Promise<PollResult> {
    if (signs === undefined) return 'changed';
    const result = await poll(signs, everything, transportFor, pollMs, signal);
    metrics.polls.inc({result});
    return result;
  }

  const scheduler = createScheduler<ProofQuestion, Verdict>({
    verify: async (question, signal) => compact(await verify(question, signal)),
    shown: ({minTtlSeconds: _, signs: __, ...shown}) => shown,
    poll: pollSigns,
    checks: config.checks,
    driftAfterSeconds: config.driftAfterSeconds,
    clock,
    random: Math.random,
    onError: (key, error) => logger.error({key, err: error}, 'A DNS check failed unexpectedly.'),
  });
  return {scheduler, verify, poll: pollSigns};
}

/** What a recursive resolver says about a name: the first one of the configuration that gives an answer. */
export type Resolve = (name: string, type: QueryType, signal: AbortSignal) => Promise<Reply>;

const SERVFAIL = 2;

export function createResolve({recursives, queryTimeoutMs}: DnsConfig, clock: Clock): Resolve {
  const endpoints = recursives.length > 0 ? recursives.map(text => parseEndpoint(text)) : systemRecursives();
  const transport = createTransport({mayQuery: among(endpoints), timeoutMs: queryTimeoutMs, ours: true, clock});
  return async (name, type, signal) => {
    let last: Reply = {ok: false, failure: 'unreachable', detail: 'there is no resolver'};
    for (const endpoint of endpoints) {
      last = await transport.query({endpoint, name, type, recursionDesired: true}, signal);
      if (last.ok && last.message.rcode !== SERVFAIL) break;
    }
    return last;
  };
}

function verifierOf(
  config: DnsConfig,
  configured: readonly Endpoint[],
  targets: Targets,
  clock: Clock,
  port: number,
): VerifyDependencies {
  const timeoutMs = config.queryTimeoutMs;
  const recursives = configured.length > 0 ? configured : systemRecursives();
  const mayQueryRecursive = among(recursives);
  const transport = createTransport({mayQuery: mayQueryRecursive, timeoutMs, ours: true, clock});
  const recursive = createRecursiveDirectory(recursives, transport);
  const directories: {authoritative?: Directory; fallback?: Directory; confirm?: Confirmation} = {};
  if (config.mode !== 'recursive') directories.authoritative = authoritative(config, clock, port);
  if (config.mode !== 'authoritative') directories.fallback = recursive;
  if (config.mode === 'auto') directories.confirm = {directory: recursive, answer: configured.length > 0};
  const caches = {
    targets,
    blocked: new TtlCache<true>(clock, 1),
    registryCaa: new TtlCache<readonly CaaRecord[]>(clock, REGISTRIES),
  };
  return {...caches, ...directories, clock, timeoutMs: config.verdictTimeoutMs};
}

/** The platform's own root servers may have any address. Servers that strangers' records name must be allowed. */
function authoritative(config: DnsConfig, clock: Clock, port: number): Directory {
  const families = ownFamilies();
  const roots = rootServers(config.rootServers, port, families);
  const isRoot = among(roots.flatMap(root => root.endpoints));
  const allowed = rangesOf(config.allowAddresses);
  const mayQuery = (endpoint: Endpoint) =>
    isRoot(endpoint) || (endpoint.port === port && mayQueryAddress(endpoint.address, allowed));
  const transport = createTransport({mayQuery, timeoutMs: config.queryTimeoutMs, clock});
  return createDelegations({transport, roots, port, families, clock});
}

function among(endpoints: readonly Endpoint[]): (endpoint: Endpoint) => boolean {
  const known = new Set(endpoints.map(formatEndpoint));
  return endpoint => known.has(formatEndpoint(endpoint));
}

function systemRecursives(): Endpoint[] {
  const lines = readResolvConf().split('\n');
  const addresses = lines.flatMap(line => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
  return addresses.filter(text => canonicalAddress(text) !== undefined).map(parseEndpoint);
}

function readResolvConf(): string {
  try {
    return readFileSync('/etc/resolv.conf', 'utf8');
  } catch {
    return '';
  }
}

function createMetrics(registry: Registry) {
  const {counter, gauge, histogram} = metricsIn(registry);
  return {
    verdicts: counter('nameplate_dns_verdicts_total', 'DNS verdicts, by reason.', 'reason'),
    seconds: histogram(
      [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      'nameplate_dns_verdict_duration_seconds',
      'Duration of a DNS verdict.',
    ),
    polls: counter('nameplate_dns_polls_total', 'Polls between two DNS checks, by what they found.', 'result'),
    inFlight: gauge('nameplate_dns_verdicts_in_flight', 'DNS verdicts in progress.'),
  };
}
