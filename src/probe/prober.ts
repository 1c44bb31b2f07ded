/** Probes each host that the edge serves. The rate is limited, and accounts take turns. */
import type {Registry} from 'prom-client';
import {metricsIn} from '../operations/metrics.ts';
import {createScheduler, type Scheduler} from '../schedule/scheduler.ts';
import type {Clock} from '../time/clock.ts';
import {judgeVisit, type ProbeQuestion, type ProbeVerdict} from './judge.ts';
import {type Address, type VisitResult, visit} from './visit.ts';

interface ProbeSettings {
  /** How often a host is probed if there are few. */
  readonly steadySeconds: number;
  /** With more hosts than this allows, each is probed less often. */
  readonly perSecond: number;
  /** How long failures must last before a live host is reported. */
  readonly failAfterSeconds: number;
  readonly timeoutMs: number;
}

interface ProberParts {
  readonly settings: ProbeSettings;
  /** The edge's addresses, as currently known; if empty, nothing is probed. */
  readonly addresses: () => readonly Address[];
  readonly clock: Clock;
  readonly registry: Registry;
  readonly onError: (key: string, error: unknown) => void;
  /** Called when the edge becomes reachable or unreachable. */
  readonly onReachable: (isReachable: boolean, why: string) => void;
}

export interface Prober extends Scheduler<ProbeQuestion, ProbeVerdict> {
  /** Whether there is an edge to probe. One that loses its address later cannot be reached. */
  readonly isOn: boolean;
  /** Why the edge cannot be reached; undefined if it can. */
  problem(): string | undefined;
}

const SOON_SECONDS = 0.5;
const RETRY_MAX_SECONDS = 10;
const IN_FLIGHT = 32;
/** An edge that answered for another host within this time is reachable. */
const RECENT_MS = 10_000;
const MAX_ADDRESSES = 4;

export function createProber({settings, addresses, clock, registry, onError, onReachable}: ProberParts): Prober {
  const metrics = createMetrics(registry);
  const watched = new Set<string>();
  let hadAddress = false;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let unreachable: string | undefined;
  const pace = (seconds: number) => Math.max(seconds, watched.size / settings.perSecond);
  const scheduler = createScheduler<ProbeQuestion, ProbeVerdict>({
    verify: probe,
    shown: ({reason}) => reason,
    checks: {
      soonSeconds: SOON_SECONDS,
      get pendingMaxSeconds() {
        return pace(RETRY_MAX_SECONDS);
      },
      get steadySeconds() {
        return pace(settings.steadySeconds);
      },
      inFlight: IN_FLIGHT,
    },
    driftAfterSeconds: settings.failAfterSeconds,
    clock,
    random: Math.random,
    onError,
  });

  async function probe(question: ProbeQuestion, signal: AbortSignal): Promise<ProbeVerdict> {
    const startedMs = clock.monotonic();
    const verdict = judgeVisit(question, reached(await ask(question, signal)), clock.now());
    metrics.seconds.observe((clock.monotonic() - startedMs) / 1000);
    metrics.probes.inc({reason: verdict.reason});
    return verdict;
  }

  async function ask({host, redirect, route}: ProbeQuestion, signal: AbortSignal): Promise<VisitResult> {
    const path = redirect ? '/' : route?.path;
    let answer: VisitResult = {kind: 'unreachable', why: 'it has no address'};
    for (const address of addresses().slice(0, MAX_ADDRESSES)) {
      answer = await visit(address, {host, ...(path !== undefined && {path})}, settings.timeoutMs, signal);
      if (answer.kind === 'answered' || answer.kind === 'closed' || signal.aborted) return answer;
    }
    return answer;
  }

  /** An edge that is silent for one host and answers for others refuses that host. */
  function reached(answer: VisitResult): VisitResult {
    const nowMs = clock.monotonic();
    if (answer.kind === 'answered' || answer.kind === 'closed') {
      answeredMs = nowMs;
      setUnreachable(undefined);
      return answer;
    }
    if (nowMs - answeredMs >= RECENT_MS) setUnreachable(answer.why);
    else if (answer.kind === 'silent') return {...answer, kind: 'closed'};
    return answer;
  }

  function setUnreachable(why: string | undefined): void {
    if ((why === undefined) !== (unreachable === undefined)) onReachable(why === undefined, why ?? '');
    unreachable = why;
    metrics.reachable.set(why === undefined ? 1 : 0);
  }

  return {
    ...scheduler,
    get isOn() {
      hadAddress ||= addresses().length > 0;
      return hadAddress;
    },
    problem: () => (unreachable === undefined ? undefined : `The edge cannot be reached (${unreachable}).`),
    watch(key, host) {
      watched.add(key);
      scheduler.watch(key, host);
    },
    unwatch(key) {
      watched.delete(key);
      scheduler.unwatch(key);
    },
  };
}

function createMetrics(registry: Registry) {
  const {counter, gauge, histogram} = metricsIn(registry);
  const reachable = gauge('nameplate_edge_reachable', '1 unless probes cannot reach the edge at all.');
  reachable.set(1);
  return {
    probes: counter('nameplate_probes_total', 'Probes of hosts at the edge, by what they showed.', 'reason'),
    seconds: histogram(
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      'nameplate_probe_duration_seconds',
      'Duration of a probe.',
    ),
    reachable,
  };
}
