/**
 * One of the servers under comparison: `node server.ts KIND WHERE`, where WHERE is the folder of the database, or the
 * file with its URI. It prints the port it listens on. All answer the same request with the same body. They differ in
 * what they do first and when they answer.
 */
import {isUtf8} from 'node:buffer';
import {randomUUID} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import Fastify, {type FastifyInstance} from 'fastify';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {bearerKey} from '../../src/apikey/authenticator.ts';
import {digestOf} from '../../src/apikey/format.ts';
import {createKeyTable} from '../../src/apikey/key-table.ts';
import {parseConfig} from '../../src/config/load-config.ts';
import {Holdings} from '../../src/messages/access/holdings.ts';
import {AccountLimiter, shareLimits} from '../../src/messages/access/limiter.ts';
import type {MessagesConfig} from '../../src/messages/config.ts';
import {messagesConfigDefinition} from '../../src/messages/config-schema.ts';
import {createApp} from '../../src/messages/http/app.ts';
import {createHandlers} from '../../src/messages/http/handlers.ts';
import {startApiServer} from '../../src/messages/http/server.ts';
import {requestMetrics, storeMetrics} from '../../src/messages/metrics.ts';
import {holdLimits} from '../../src/messages/service.ts';
import {MessageIds} from '../../src/messages/store/message-id.ts';
import type {SessionOptions} from '../../src/messages/store/postgres/session/session.ts';
import {type BatchResult, Engine} from '../../src/messages/store/sqlite/engine.ts';
import {
  type EngineThread,
  openSqliteStore,
  SqliteStore,
  type SqliteStoreOptions,
} from '../../src/messages/store/sqlite/sqlite-store.ts';
import type {AppendOutcome, MessageStore, StoreRules} from '../../src/messages/store/store.ts';
import {Strangers} from '../../src/operations/strangers.ts';
import {systemClock} from '../../src/time/clock.ts';
import {ACCOUNTS, type Kind, keyOf, POSTGRES, type PostgresKind} from './kinds.ts';
import {postgresStores} from './postgres-stores.ts';

const [kind, where] = process.argv.slice(2) as [Kind, string];
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

const forever = 1e12;
const rules: StoreRules = {
  maxAttempts: 5,
  accountBytes: unlimited.storedBytes,
  retention: {doneMs: forever, deadMs: forever, idempotencyMs: forever},
};
const {maxWaiting, maxWaitingBytes} = config.store;

function storeOptions(): SqliteStoreOptions {
  return {
    engine: {...rules, path: join(where, `${kind}.db`), reserveBytes: 0},
    worker: new URL('../../src/messages/store/sqlite/worker.ts', import.meta.url),
    maxWaiting,
    maxWaitingBytes,
    clock: systemClock,
    logger,
    observe: storeMetrics(registry, () => undefined, systemClock).observe,
    onFailed: error => {
      throw error;
    },
  };
}

function openPostgres(of: PostgresKind): Promise<MessageStore> {
  const durability = of === 'PostgreSQL, standby' ? 'synchronous-standby' : 'storage';
  const connection: SessionOptions = {uriFile: where, tls: 'disable', durability, migration: 'none'};
  const {writers} = config.store.postgres;
  const uri = readFileSync(where, 'utf8');
  return postgresStores[of]({uri, connection, rules, writers, maxWaiting, maxWaitingBytes, logger});
}

/** The engine on the service's own thread, to find out whether a separate thread is worthwhile. */
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

/** Collects requests and answers all of them at the end of the turn of the event loop: the control for group commit. */
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

/** Stores nothing. */
function noStore(wait: () => Promise<void>): MessageStore {
  const append = async (): Promise<AppendOutcome> => {
    await wait();
    const now = Date.now();
    return {kind: 'appended', id: ids.next(now), createdAt: now};
  };
  return {perform: append} as unknown as MessageStore;
}

/** What both layers do for each request beyond HTTP. */
function checks({isShared = false} = {}) {
  const keys = Array.from({length: ACCOUNTS}, (_, account) => {
    const [name, sha256] = [`bench-${account}`, digestOf(keyOf(account))];
    return {account: name, keyId: name, sha256, scopes: ['messages:write']} as const;
  });
  const limiter = new AccountLimiter(unlimited, {isShared});
  const holdings = new Holdings(holdLimits(config.limits), systemClock);
  const authenticator = createKeyTable({keys});
  return {authenticator, limiter, holdings, metrics: requestMetrics(registry, holdings), clock: systemClock, logger};
}

function fail(error: unknown): never {
  throw error;
}

async function serveStore(store: MessageStore): Promise<number> {
  const {bodyBytes} = config.limits;
  const handlers = createHandlers({store, bodyBytes, onAccepted: () => {}});
  const common = checks({isShared: store.spend !== undefined});
  const {limiter, clock} = common;
  if (store.spend) shareLimits({limiter, exchange: store.spend, clock}, new AbortController().signal).catch(fail);
  const strangers = new Strangers(config.limits.strangers);
  const app = createApp({
    ...common,
    strangers,
    handlers,
    bodyBytes,
    description: {},
  });
  return (await startApiServer(config.server, app, strangers, '127.0.0.1')).port;
}

const string = {type: 'string'};
const SCHEMA = {
  body: {type: 'object', required: ['message'], properties: {message: string}},
  response: {
    202: {type: 'object', properties: {id: string, message: string, status: string, createdAt: string}},
  },
};

/**
 * The least that fastify needs to give the same answer: the key's hash, JSON, and schemas of the body and the answer.
 */
async function serveFastify(wait: () => Promise<void>): Promise<number> {
  const app = Fastify({logger: false});
  const known = digestOf(keyOf(0));
  app.addHook('onRequest', async (request, reply) => {
    const key = request.headers.authorization?.slice('Bearer '.length) ?? '';
    if (digestOf(key) !== known) await reply.code(401).send();
  });
  answerSubmissions(app, wait);
  return listen(app);
}

/**
 * The same plus what our layer does for each valid request: scope, limits of the account, UTF-8, request id, the same
 * headers, metrics, log. It does not refuse everything that our layer refuses.
 */
async function serveFastifyWithChecks(wait: () => Promise<void>): Promise<number> {
  const {authenticator, limiter, holdings, metrics, clock} = checks();
  const app = Fastify({logger: false, bodyLimit: config.limits.bodyBytes, genReqId: () => randomUUID()});
  app.addHook('onRequest', (request, reply, done) => {
    const start = clock.monotonic();
    const principal = authenticator.authenticate(bearerKey(request.headers.authorization) ?? '');
    if ('refused' in principal || !principal.scopes.has('messages:write')) return reply.code(401).send();
    const hold = holdings.enter(principal.account);
    const length = Number(request.headers['content-length']);
    if (
      typeof hold === 'string' ||
      limiter.take(principal.account, start) ||
      limiter.takeBytes(principal.account, length, start) ||
      hold.grow(length)
    ) {
      return reply.code(429).send();
    }
    reply.raw.on('close', () => {
      hold.release();
      limiter.spend(principal.account, 'answers', length, start);
      metrics.observe('submit', reply.statusCode, clock.monotonic() - start);
      if (logger.isLevelEnabled('debug')) logger.debug({requestId: request.id}, 'request');
    });
    return done();
  });
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', {parseAs: 'buffer'}, (_, body: Buffer, done) =>
    isUtf8(body) ? done(null, JSON.parse(body.toString())) : done(new Error('not UTF-8')),
  );
  app.addHook('onSend', (request, reply, payload, done) => {
    const {id} = request.body as {id?: string};
    reply.headers({'cache-control': 'no-store', 'x-request-id': request.id, location: `messages/${id}`});
    done(null, payload);
  });
  answerSubmissions(app, wait);
  return listen(app);
}

function answerSubmissions(app: FastifyInstance, wait: () => Promise<void>): void {
  app.post<{Body: {message: string; id?: string}}>('/messages', {schema: SCHEMA}, async ({body}, reply) => {
    await wait();
    const now = Date.now();
    body.id = ids.next(now); // For the headers that contain it.
    reply.code(202);
    return {id: body.id, message: body.message, status: 'queued', createdAt: new Date(now).toISOString()};
  });
}

async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({port: 0, host: '127.0.0.1'});
  return (app.server.address() as {port: number}).port;
}

const atOnce = () => Promise.resolve();
const own: Readonly<Record<Exclude<Kind, PostgresKind>, () => Promise<number>>> = {
  'group commit': async () => serveStore(await openSqliteStore(storeOptions())),
  'group commit, no thread': () => serveStore(onThisThread(storeOptions())),
  'commit per request': async () => serveStore(await openSqliteStore({...storeOptions(), worker: SINGLE_COMMITS})),
  'no-op': () => serveStore(noStore(atOnce)),
  'no-op, batched': () => serveStore(noStore(atEndOfTurn())),
  'fastify no-op': () => serveFastify(atOnce),
  'fastify no-op, batched': () => serveFastify(atEndOfTurn()),
  'fastify no-op, checks': () => serveFastifyWithChecks(atOnce),
  'fastify no-op, checks, batched': () => serveFastifyWithChecks(atEndOfTurn()),
};
const isPostgres = (each: Kind): each is PostgresKind => POSTGRES.some(name => name === each);
process.stdout.write(`${await (isPostgres(kind) ? serveStore(await openPostgres(kind)) : own[kind]())}\n`);
