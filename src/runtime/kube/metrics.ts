import {Counter, Gauge, Histogram, type Registry} from 'prom-client';

/** The names are those of client-go and controller-runtime, which dashboards know, if they have such a metric. */
export interface KubeMetrics {
  readonly requests: Counter<'code' | 'method' | 'host'>;
  readonly requestSeconds: Histogram<'verb' | 'host'>;
  readonly lists: Counter<'resource' | 'result'>;
  readonly watchEnds: Counter<'resource' | 'reason'>;
  readonly cacheObjects: Gauge<'resource'>;
  /** Of each cache, for how many seconds it may have been behind, read when metrics are collected. */
  readonly staleness: {readonly resource: string; readonly seconds: () => number}[];
  readonly leader: Gauge<'name'>;
  readonly events: Counter<'result'>;
}

const metricsOf = new WeakMap<Registry, KubeMetrics>();

/** One set per registry. The first call creates it. */
export function kubeMetrics(registry: Registry): KubeMetrics {
  const metrics = metricsOf.get(registry) ?? createKubeMetrics(registry);
  metricsOf.set(registry, metrics);
  return metrics;
}

function createKubeMetrics(registry: Registry): KubeMetrics {
  const registers = [registry];
  const staleness: KubeMetrics['staleness'] = [];
  new Gauge({
    name: 'reflector_cache_stale_seconds',
    help: 'For how long a cache has had no watch and may be behind the server; 0 while it has one.',
    labelNames: ['resource'],
    registers,
    collect() {
      const longest = new Map<string, number>(); // a kind may have several caches
      for (const {resource, seconds} of staleness) {
        longest.set(resource, Math.max(longest.get(resource) ?? 0, seconds()));
      }
      for (const [resource, seconds] of longest) this.set({resource}, seconds);
    },
  });
  return {
    staleness,
    requests: new Counter({
      name: 'rest_client_requests_total',
      help: 'HTTP requests to the API server by status code ("<error>": no response), method, and host.',
      labelNames: ['code', 'method', 'host'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'Time from sending a request to the end of its response, except for watches.',
      labelNames: ['verb', 'host'],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
      registers,
    }),
    lists: new Counter({
      name: 'reflector_lists_total',
      help: 'Full lists to fill a cache, by outcome.',
      labelNames: ['resource', 'result'],
      registers,
    }),
    watchEnds: new Counter({
      name: 'reflector_watch_ends_total',
      help: 'Watches that ended, by cause.',
      labelNames: ['resource', 'reason'],
      registers,
    }),
    cacheObjects: new Gauge({
      name: 'reflector_cache_objects',
      help: 'Objects held in a cache.',
      labelNames: ['resource'],
      registers,
    }),
    leader: new Gauge({
      name: 'leader_election_master_status',
      help: 'Whether this process holds the lease: 1 or 0.',
      labelNames: ['name'],
      registers,
    }),
    events: new Counter({
      name: 'event_recorder_events_total',
      help: 'Events reported, by outcome: sent, merged, dropped, failed.',
      labelNames: ['result'],
      registers,
    }),
  };
}
