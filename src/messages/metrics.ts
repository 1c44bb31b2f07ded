import {Counter, Gauge, Histogram, type Registry} from 'prom-client';
import type {Clock} from '../base/clock.ts';
import type {RequestMetrics} from './http/app.ts';
import {type StoreHealth, type StoreObservation, UNKNOWN_BACKLOG} from './store/store.ts';

interface StoreMetrics {
  observe(observation: StoreObservation): void;
}

/** No metric has an account label: there are too many accounts, and they are confidential. */
export function requestMetrics(registry: Registry, holdings: {readonly bytes: number}): RequestMetrics {
  new Gauge({
    name: 'nameplate_messages_held_bytes',
    help: 'Bytes of bodies and responses that requests in progress hold.',
    registers: [registry],
    collect() {
      this.set(holdings.bytes);
    },
  });
  const seconds = new Histogram({
    name: 'nameplate_messages_request_duration_seconds',
    help: 'Duration of requests by operation and status, from the end of the headers to the response.',
    labelNames: ['route', 'status'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const accepted = new Counter({
    name: 'nameplate_messages_accepted_total',
    help: 'New messages that are stored durably.',
    registers: [registry],
  });
  const refused = new Counter({
    name: 'nameplate_messages_requests_refused_total',
    help: 'Requests that were answered with a problem, by operation and code of the problem.',
    labelNames: ['route', 'reason'],
    registers: [registry],
  });
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
  const registers = [registry];
  const depth = new Gauge({
    name: 'nameplate_messages_backlog',
    help: 'Messages of all accounts that are neither done nor dead, by status. With PostgreSQL, at most 500,000 of each are counted.',
    labelNames: ['status'],
    registers,
  });
  let {oldestAt} = UNKNOWN_BACKLOG;
  new Gauge({
    name: 'nameplate_messages_oldest_age_seconds',
    help: 'Age of the oldest message that is neither done nor dead; 0 if there is none.',
    registers,
    collect() {
      if (oldestAt === 'unknown') this.remove();
      else this.set(oldestAt === undefined ? 0 : Math.max(0, clock.now() - oldestAt) / 1000);
    },
  });
  const rows = new Gauge({
    name: 'nameplate_messages_store_rows',
    help: "Rows of the table of messages in PostgreSQL, as the server's statistics estimate them: live, and dead ones that it has not removed yet.",
    labelNames: ['state'],
    registers,
  });
  const operations = new Histogram({
    name: 'nameplate_messages_store_batch_operations',
    help: 'Operations per batch.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
    registers,
  });
  const commit = new Histogram({
    name: 'nameplate_messages_store_commit_duration_seconds',
    help: 'Duration of a batch with writes, until it is durable.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const lapsed = new Counter({
    name: 'nameplate_messages_leases_lapsed_total',
    help: 'Leases that expired before the message was acknowledged, as found by the sweep.',
    registers,
  });
  const deleted = new Counter({
    name: 'nameplate_messages_deleted_total',
    help: 'Messages deleted at the end of their retention.',
    registers,
  });
  new Gauge({
    name: 'nameplate_messages_store_waiting',
    help: 'Operations that wait for the disk.',
    registers,
    collect() {
      this.set(store()?.waiting ?? 0);
    },
  });
  new Gauge({
    name: 'nameplate_messages_store_state',
    help: '1 for the current state of the store.',
    labelNames: ['state'],
    registers,
    collect() {
      const current = store()?.state().kind ?? 'down';
      for (const state of ['ok', 'full', 'down']) this.set({state}, state === current ? 1 : 0);
    },
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
