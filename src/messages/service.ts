/** The messages API as a whole: store, operations, and server, started and stopped in order. */
import {join} from 'node:path';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {Authenticator} from '../apikey/authenticator.ts';
import type {HealthCheck} from '../operations/operations-server.ts';
import {Strangers} from '../operations/strangers.ts';
import type {Clock} from '../time/clock.ts';
import {Holdings, type HoldLimits} from './access/holdings.ts';
import {AccountLimiter, shareLimits} from './access/limiter.ts';
import type {LimitsConfig, MessagesConfig, PostgresConfig, StoreConfig} from './config.ts';
import {createApp} from './http/app.ts';
import {answerBytes, createHandlers} from './http/handlers.ts';
import {describeApi} from './http/openapi.ts';
import {LIST_MAX} from './http/schemas.ts';
import {startApiServer} from './http/server.ts';
import {requestMetrics, storeMetrics, type WatchedStore} from './metrics.ts';
import {PostgresStore} from './store/postgres/postgres-store.ts';
import type {SessionOptions} from './store/postgres/session/session.ts';
import {PROMISES} from './store/postgres/session/settings.ts';
import {openSqliteStore} from './store/sqlite/sqlite-store.ts';
import type {MessageStore, StoreRules} from './store/store.ts';

export interface ServiceOptions {
  readonly config: MessagesConfig;
  readonly authenticator: Authenticator;
  /** The entry module of the database's thread. */
  readonly storeWorker: URL;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** The store has failed permanently: the process should exit. */
  readonly onFailed: (error: Error) => void;
}

interface MessagesService {
  /** The port of the API. */
  readonly port: number;
  readonly liveness: readonly HealthCheck[];
  readonly readiness: readonly HealthCheck[];
  /** Finishes the requests in progress, for at most `graceMs`, then closes the store. */
  close(graceMs: number): Promise<void>;
}

/** The database in the configured folder. */
export function databasePath(folder: string): string {
  return join(folder, 'messages.db');
}

/** Rejects if it cannot open the SQLite database or listen on the port. PostgreSQL is connected in the background. */
export async function startMessagesService(options: ServiceOptions): Promise<MessagesService> {
  const {config, authenticator, clock, logger, registry} = options;
  const store = await openStore(options);
  const {account, bodyBytes} = config.limits;
  const limiter = new AccountLimiter(account, {isShared: store.spend !== undefined});
  const holdings = new Holdings(holdLimits(config.limits), clock);
  const metrics = requestMetrics(registry, holdings);
  const strangers = new Strangers(config.limits.strangers);
  const app = createApp({
    authenticator,
    handlers: createHandlers({store, bodyBytes, onAccepted: metrics.accepted}),
    holdings,
    limiter,
    strangers,
    clock,
    bodyBytes,
    description: describeApi({bodyBytes, maxAttempts: config.queue.maxAttempts}),
    metrics,
    logger,
  });
  const server = await startApiServer(config.server, app, strangers).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const end = new AbortController();
  const sharing = store.spend && shareLimits({limiter, exchange: store.spend, clock}, end.signal);
  let closing = false;
  return {
    port: server.port,
    liveness: [{name: 'process', problem: () => undefined}],
    readiness: [
      {name: 'shutdown', problem: () => (closing ? 'shutting down' : undefined)},
      {name: 'keys', problem: () => authenticator.problem()},
      storeCheck(store, config.store),
    ],
    close: async graceMs => {
      closing = true;
      await server.close(graceMs);
      end.abort();
      await sharing;
      await store.close();
    },
  };
}

/** How many requests may be in progress in total, which also limits the memory for their objects. */
const TOTAL_REQUESTS = 8192;

/** As configured, but raised if the longest body or response would not fit, or one account could take everything. */
export function holdLimits({bodyBytes, heldBytes, account}: LimitsConfig): HoldLimits {
  const longest = answerBytes(LIST_MAX, bodyBytes);
  const accountBytes = Math.max(account.heldBytes, 2 * longest);
  return {
    accountBytes,
    totalBytes: Math.max(heldBytes, 2 * accountBytes),
    accountRequests: account.requestsAtOnce,
    totalRequests: Math.max(TOTAL_REQUESTS, 2 * account.requestsAtOnce),
  };
}

type OpenStore = MessageStore & WatchedStore;

async function openStore(options: ServiceOptions): Promise<OpenStore> {
  const {config, storeWorker, clock, logger, registry, onFailed} = options;
  const {kind, folder, reserveBytes, maxWaiting, maxWaitingBytes, postgres} = config.store;
  let opened: OpenStore | undefined;
  const {observe} = storeMetrics(registry, () => opened, clock);
  const rules = rulesOf(config);
  const common = {maxWaiting, maxWaitingBytes, clock, logger, observe};
  if (kind === 'postgres') {
    opened = new PostgresStore({...common, connection: connectionOf(postgres), writers: postgres.writers, rules});
  } else {
    const engine = {path: databasePath(folder), reserveBytes, ...rules};
    opened = await openSqliteStore({...common, engine, worker: storeWorker, onFailed});
  }
  return opened;
}

export function connectionOf({uriFile = '', awaitMigration, ...connection}: PostgresConfig): SessionOptions {
  return {...connection, uriFile, migration: awaitMigration ? 'awaited' : 'none'};
}

function rulesOf({queue, limits, retention}: MessagesConfig): StoreRules {
  return {
    maxAttempts: queue.maxAttempts,
    accountBytes: limits.account.storedBytes,
    retention: {
      doneMs: retention.doneSeconds * 1000,
      deadMs: retention.deadSeconds * 1000,
      idempotencyMs: retention.idempotencySeconds * 1000,
    },
  };
}

/** A full store keeps its traffic: reading and processing continue and free up space. */
function storeCheck(store: WatchedStore, {kind, postgres}: StoreConfig): HealthCheck {
  const is = (kind: 'full' | 'down') => {
    const state = store.state();
    return state.kind === kind ? `store ${kind}: ${state.problem}` : undefined;
  };
  const note = kind === 'postgres' ? PROMISES[postgres.durability] : 'a response waits for the disk';
  return {name: 'store', problem: () => is('down'), warning: () => is('full'), note};
}
