import type {Counter, Gauge, Histogram, Registry} from 'prom-client';
import {metricsIn, perRegistry} from '../../operations/metrics.ts';

/** The names are those of client-go and controller-runtime, which dashboards know, if they have such a metric. */
export interface KubeMetrics {
  readonly requests: Counter<'code' | 'method' | 'host'>;
  readonly requestSeconds: Histogram<'verb' | 'host'>;
  readonly lists: Counter<'resource' | 'result'>;
  readonly watchEnds: Counter<'resource' | 'reason'>;
  readonly cacheObjects: Gauge<'resource'>;
  /** Read when metrics are collected. */
  readonly caches: CacheReadings[];
  readonly leader: Gauge<'name'>;
  readonly events: Counter<'result'>;
}

interface CacheReadings {
  readonly resource: string;
  /** Of labels. Empty: all objects. */
  readonly selector: string;
  /** How many seconds it may be behind. */
  readonly seconds: () => number;
  /** The resourceVersion that it has reached; undefined if it has none, or if that is no number. */
  readonly version: () => number | undefined;
}

/** One set per registry. The first call creates it. */
export const kubeMetrics = perRegistry(createKubeMetrics);

function createKubeMetrics(registry: Registry): KubeMetrics {
  const {counter, gauge, histogram, readings} = metricsIn(registry);
  const caches: KubeMetrics['caches'] = [];
  readings(
    'reflector_cache_stale_seconds',
    'For how long a cache has heard nothing and may be behind the server. Two minutes are normal.',
    ['resource'],
    () => {
      const ofKind = Map.groupBy(caches, ({resource}) => resource); // a kind may have several caches
      return ofKind.entries().map(([resource, all]) => {
        return [{resource}, Math.max(...all.map(({seconds}) => seconds()))] as const;
      });
    },
  );
  readings(
    'reflector_cache_resource_version',
    'The resourceVersion of the last change or bookmark that a cache has taken.',
    ['resource', 'selector'],
    () =>
      caches.flatMap(({resource, selector, version}) => {
        const reached = version();
        return reached === undefined ? [] : [[{resource, selector}, reached] as const];
      }),
  );
  return {
    caches,
    requests: counter(
      'rest_client_requests_total',
      'HTTP requests to the API server by status code ("<error>": no response), method, and host.',
      'code',
      'method',
      'host',
    ),
    requestSeconds: histogram(
      [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
      'rest_client_request_duration_seconds',
      'Time from sending a request to the end of its response, except for watches.',
      'verb',
      'host',
    ),
    lists: counter('reflector_lists_total', 'Full lists to fill a cache, by outcome.', 'resource', 'result'),
    watchEnds: counter('reflector_watch_ends_total', 'Watches that ended, by cause.', 'resource', 'reason'),
    cacheObjects: gauge('reflector_cache_objects', 'Objects held in a cache.', 'resource'),
    leader: gauge('leader_election_master_status', 'Whether this process holds the lease: 1 or 0.', 'name'),
    events: counter('event_recorder_events_total', 'Events reported: sent, repeated, dropped, or failed.', 'result'),
  };
}
