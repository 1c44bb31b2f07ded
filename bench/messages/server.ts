/**
 * One of the servers that are compared: `node server.ts KIND FOLDER`. It prints the port it listens on. All answer the
 * same request with the same body; they differ in what is done before, and in when it is answered.
 */
import {join} from 'node:path';
import Fastify from 'fastify';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {systemClock} from '../../src/base/clock.ts';
import {Holdings} from '../../src/messages/access/holdings.ts';
import {createKeyTable, keyHash} from '../../src/messages/access/key-table.ts';
import {AccountLimiter} from '../../src/messages/access/limiter.ts';
import type {MessagesConfig} from '../../src/messages/config.ts';
import {messagesConfigDefinition} from '../../src/messages/config-schema.ts';
import {createApp} from '../../src/messages/http/app.ts';
import {createHandlers} from '../../src/messages/http/handlers.ts';
import {startApiServer} from '../../src/messages/http/server.ts';
import {requestMetrics, storeMetrics} from '../../src/messages/metrics.ts';
import {holdLimits} from '../../src/messages/service.ts';
import type {EngineThread} from '../../src/messages/store/dispatch/engine-thread.ts';
import {openSqliteStore, SqliteStore, type SqliteStoreOptions} from '../../src/messages/store/dispatch/sqlite-store.ts';
import {MessageIds} from '../../src/messages/store/message-id.ts';
import {Engine} from '../../src/messages/store/sqlite/engine.ts';
import type {BatchResult} from '../../src/messages/store/sqlite/operations.ts';
import type {AppendOutcome, MessageStore} from '../../src/messages/store/store.ts';
import {parseConfig} from '../../src/process/load-config.ts';
import {KEY, type Kind} from './kinds.ts';

const [kind, folder] = process.argv.slice(2) as [Kind, string];
const logger = pino({level: 'silent'});
const registry = new Registry();
const config = parseConfig<MessagesConfig>('server: {port: 0}', 'the benchmark', messagesConfigDefinition);
const unlimited = {
  requestsPerSecond: 1e9,
  bytesPerSecond: 1e12,
  answerBytesPerSecond: 1e12,
  burstSeconds: 5,
  storedBytes: 1e12,
};
const ids = new MessageIds(undefined);
const SINGLE_COMMITS = new URL('./single-commits.ts', import.meta.url);

function storeOptions(): SqliteStoreOptions {
  const forever = 1e12;
  return {
    engine: {
      path: join(folder, `${kind}.db`),
      maxAttempts: 5,
      accountBytes: unlimited.storedBytes,
      reserveBytes: 0,
      retention: {doneMs: forever, deadMs: forever, idempotencyMs: forever},
    },
    worker: new URL('../../src/messages/store/sqlite/worker.ts', import.meta.url),
    maxWaiting: config.store.maxWaiting,
    maxWaitingBytes: config.store.maxWaitingBytes,
    clock: systemClock,
    logger,
    observe: storeMetrics(registry, () => undefined).observe,
    onFailed: error => {
      throw error;
    },
  };
}

/** The engine on the service's own thread: for asking whether a thread of its own pays. */
function onThisThread(options: SqliteStoreOptions): SqliteStore {
  const engine = new Engine(options.engine);
  let answer: (result: BatchResult) => void = () => undefined;
  const thread: EngineThread = {
    post: ({operations, now}) => {
      for (const result of engine.applyAll(operations, now)) answer(result);
    },
    onResult: listener => {
      answer = listener;
    },
    failed: new Promise(() => undefined),
    close: async () => engine.close(),
  };
  return new SqliteStore(options, thread);
}

/** Collects what is to be answered, and answers all of it at the end of the turn: the control for group commit. */
function atEndOfTurn(): () => Promise<void> {
  let waiting: (() => void)[] = [];
  return () =>
    new Promise(resolve => {
      if (waiting.push(resolve) > 1) return;
      setImmediate(() => {
        const batch = waiting;
        waiting = [];
        for (const answer of batch) answer();
      });
    });
}

/** Keeps nothing. */
function noStore(wait: () => Promise<void>): MessageStore {
  const append = async (): Promise<AppendOutcome> => {
    await wait();
    const now = Date.now();
    return {kind: 'appended', id: ids.next(now), createdAt: now};
  };
  return {append} as unknown as MessageStore;
}

async function serveStore(store: MessageStore): Promise<number> {
  const entry = {account: 'bench', keyId: 'bench', sha256: keyHash(KEY), scopes: ['messages:write']} as const;
  const limiter = new AccountLimiter(unlimited);
  const {bodyBytes} = config.limits;
  const handlers = createHandlers({store, bodyBytes});
  const authenticator = createKeyTable({keys: [entry]});
  const holdings = new Holdings(holdLimits(config.limits));
  const metrics = requestMetrics(registry, holdings);
  const clock = systemClock;
  const app = createApp({
    authenticator,
    handlers,
    holdings,
    limiter,
    clock,
    bodyBytes,
    description: {},
    metrics,
    logger,
  });
  return (await startApiServer(config.server, app, '127.0.0.1')).port;
}

/**
 * The least that fastify can do and still answer the same: the key's hash, JSON, schema of body and answer. What our
 * layer does beyond that at each request: the check of UTF-8, the account's limits, a request id, metrics, the log.
 */
async function serveFastify(wait: () => Promise<void>): Promise<number> {
  const app = Fastify({logger: false});
  const known = keyHash(KEY);
  app.addHook('onRequest', async (request, reply) => {
    const key = request.headers.authorization?.slice('Bearer '.length) ?? '';
    if (keyHash(key) !== known) await reply.code(401).send();
  });
  const string = {type: 'string'};
  const properties = {id: string, message: string, status: string, createdAt: string};
  const schema = {
    body: {type: 'object', required: ['message'], properties: {message: string}},
    response: {202: {type: 'object', properties}},
  };
  app.post<{Body: {message: string}}>('/messages', {schema}, async (request, reply) => {
    await wait();
    const now = Date.now();
    reply.code(202);
    return {id: ids.next(now), message: request.body.message, status: 'queued', createdAt: new Date(now).toISOString()};
  });
  await app.listen({port: 0, host: '127.0.0.1'});
  return (app.server.address() as {port: number}).port;
}

const atOnce = () => Promise.resolve();
const servers: Readonly<Record<Kind, () => Promise<number>>> = {
  'group commit': async () => serveStore(await openSqliteStore(storeOptions())),
  'group commit, no thread': () => serveStore(onThisThread(storeOptions())),
  'commit per request': async () => serveStore(await openSqliteStore({...storeOptions(), worker: SINGLE_COMMITS})),
  'no-op': () => serveStore(noStore(atOnce)),
  'no-op, batched': () => serveStore(noStore(atEndOfTurn())),
  'fastify no-op': () => serveFastify(atOnce),
  'fastify no-op, batched': () => serveFastify(atEndOfTurn()),
};
process.stdout.write(`${await servers[kind]()}\n`);
