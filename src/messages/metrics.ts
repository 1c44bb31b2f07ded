import type {Registry} from 'prom-client';
import {metricsIn} from '../operations/metrics.ts';
import type {Clock} from '../time/clock.ts';
import type {RequestMetrics} from './http/app.ts';
import {type StoreHealth, type StoreObservation, UNKNOWN_BACKLOG} from './store/store.ts';

interface StoreMetrics {
  observe(observation: StoreObservation): void;
}

/** No metric has an account label: there are too many accounts, and they are confidential. */
export function requestMetrics(registry: Registry, holdings: {readonly bytes: number}): RequestMetrics {
  const {counter, histogram, reading} = metricsIn(registry);
  reading(
    'nameplate_messages_held_bytes',
    'Bytes of bodies and responses that requests in progress hold.',
    () => holdings.bytes,
  );
  const seconds = histogram(
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    'nameplate_messages_request_duration_seconds',
    'Duration of requests by operation and status, from the end of the headers to the response.',
    'route',
    'status',
  );
  const accepted = counter('nameplate_messages_accepted_total', 'New messages that are stored durably.');
  const refused = counter(
    'nameplate_messages_requests_refused_total',
    'Requests that were answered with a problem, by operation and code of the problem.',
    'route',
    'reason',
  );
  return {
    observe: (route, status, ms) => seconds.observe({route, status}, ms / 1000),
    accepted: () => accepted.inc(),
    refused: (route, reason) => refused.inc({route, reason}),
  };
}

/** Metrics of the running store. */
export interface WatchedStore {
  state(): StoreHealth;
  readonly waiting: number;
}

export function storeMetrics(
  registry: Registry,
  store: () => WatchedStore | undefined,
  clock: Pick<Clock, 'now'>,
): StoreMetrics {
  const {counter, gauge, histogram, reading, readings} = metricsIn(registry);
  const depth = gauge(
    'nameplate_messages_backlog',
    'Messages of all accounts that are neither done nor dead, by status. With PostgreSQL, at most 500,000 of each are counted.',
    'status',
  );
  let {oldestAt} = UNKNOWN_BACKLOG;
  reading(
    'nameplate_messages_oldest_age_seconds',
    'Age of the oldest message that is neither done nor dead; 0 if there is none.',
    () => {
      if (oldestAt === 'unknown') return undefined;
      return oldestAt === undefined ? 0 : Math.max(0, clock.now() - oldestAt) / 1000;
    },
  );
  const rows = gauge(
    'nameplate_messages_store_rows',
    "Rows of the table of messages in PostgreSQL, as the server's statistics estimate them: live, and dead ones that it has not removed yet.",
    'state',
  );
  const operations = histogram(
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    'nameplate_messages_store_batch_operations',
    'Operations per batch.',
  );
  const commit = histogram(
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    'nameplate_messages_store_commit_duration_seconds',
    'Duration of a batch with writes, until it is durable.',
  );
  const lapsed = counter(
    'nameplate_messages_leases_lapsed_total',
    'Leases that expired before the message was acknowledged, as found by the sweep.',
  );
  const deleted = counter('nameplate_messages_deleted_total', 'Messages deleted at the end of their retention.');
  reading('nameplate_messages_store_waiting', 'Operations that wait for the disk.', () => store()?.waiting ?? 0);
  readings('nameplate_messages_store_state', '1 for the current state of the store.', ['state'], () => {
    const current = store()?.state().kind ?? 'down';
    return ['ok', 'full', 'down'].map(state => [{state}, state === current ? 1 : 0]);
  });
  return {
    observe: observation => {
      if (observation.kind === 'sweep') {
        lapsed.inc(observation.lapsed);
        deleted.inc(observation.deleted);
        if (observation.backlog) {
          const {queued, leased} = observation.backlog;
          for (const [status, count] of Object.entries({queued, leased})) {
            if (count === undefined) depth.remove({status});
            else depth.set({status}, count);
          }
          ({oldestAt} = observation.backlog);
        }
        if (observation.rows === 'unknown') rows.reset();
        else if (observation.rows) {
          rows.set({state: 'live'}, observation.rows.live);
          rows.set({state: 'dead'}, observation.rows.dead);
        }
        return;
      }
      operations.observe(observation.operations);
      if (observation.commitMs > 0) commit.observe(observation.commitMs / 1000);
    },
  };
}
