/**
 * What a hostile key costs the others, with SQLite and with PostgreSQL: the time of another account's POST during an
 * attack and without one (goal: at most 3 times the p99), and the memory that the attack takes. Also, for SQLite, how
 * the time of a claim depends on the number of delayed messages, and the size of the file compared with what is
 * charged.
 *
 *     node bench/hostile/run.ts messages
 */
import {once} from 'node:events';
import {mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {Engine} from '../../src/messages/store/sqlite/engine.ts';
import type {LeasedMessage} from '../../src/messages/store/store.ts';
import {startPostgres} from '../../test/integration/messages/postgres/server.ts';
import {startReadyPod} from '../../test/integration/messages/postgres/service.ts';
import {head, MIB, RawClient, residentBytes, SMALL_HEAP} from '../../test/integration/messages/raw.ts';
import {removeFolders, type Service, startService} from '../../test/integration/messages/service.ts';

const SAMPLES = 100;
const POSTS = 500;
/** The attacker has used most of this. */
const QUOTA = 3 * MIB;

function engineAt(path: string): Engine {
  const retention = {doneMs: 1e12, deadMs: 1e12, idempotencyMs: 1e12};
  return new Engine({path, maxAttempts: 5, accountBytes: 1e12, reserveBytes: 0, retention});
}

/** Milliseconds to claim one message of an account that has this many delayed ones. */
function claimMs(folder: string, delayed: number): number {
  const engine = engineAt(join(folder, `claim-${delayed}.db`));
  const account = 'mine';
  const all = (operations: Parameters<Engine['applyAll']>[0], now: number) =>
    [...engine.applyAll(operations, now)].flatMap(({results}) => results.map(result => result.ok && result.value));
  const times = (count: number) => Array.from({length: count}, (_, n) => n);
  all(
    times(delayed + SAMPLES).map(n => ({kind: 'append', given: {account, message: `${n}`}})),
    0,
  );
  for (let left = delayed; left > 0; left -= 100) {
    const claimed = all([{kind: 'claim', given: {account, limit: 100, leaseMs: 1e6}}], 0).flat() as LeasedMessage[];
    all(
      claimed.map(({id, lease}) => ({kind: 'nack', given: {account, id, lease, delayMs: 1e6}})),
      0,
    );
  }
  const start = performance.now();
  all(
    times(SAMPLES).map(() => ({kind: 'claim', given: {account, limit: 1, leaseMs: 1e6}})),
    1,
  );
  const ms = (performance.now() - start) / SAMPLES;
  engine.close();
  return ms;
}

/** Bytes of the file per byte charged, for messages of one character with the longest idempotency keys. */
function fileRatio(folder: string): number {
  const path = join(folder, 'file.db');
  const engine = engineAt(path);
  const operations = Array.from({length: 5000}, (_, n) => {
    const idempotency = {key: `${n}`.padStart(255, 'k'), fingerprint: 'f'.repeat(43)};
    return {kind: 'append', given: {account: `account-${n % 101}`, message: 'x', idempotency}} as const;
  });
  for (const _ of engine.applyAll(operations, 0));
  engine.close();
  const db = new DatabaseSync(path);
  const charged = Number(db.prepare('SELECT sum(bytes) AS bytes FROM accounts').get()?.bytes);
  db.close();
  return statSync(path).size / charged;
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** The time of a POST by another account, in milliseconds. */
async function postMs(service: Service, key: string): Promise<Latency> {
  const times: number[] = [];
  const headers = {authorization: `Bearer ${key}`, 'content-type': 'application/json'};
  for (let n = 0; n < POSTS; n++) {
    const start = performance.now();
    const response = await fetch(`${service.url}/messages`, {method: 'POST', headers, body: '{"message":"x"}'});
    if (response.status !== 202) throw new Error(`answered ${response.status}`);
    await response.arrayBuffer();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.floor(part * POSTS)] ?? Number.NaN;
  return {p50: at(0.5), p99: at(0.99)};
}

type Attack = (raw: RawClient, key: string) => unknown;

const list = (key: string) => `${head(key, 'GET /messages')}\r\n`;
const post = (key: string, path: string, body: string) =>
  `${head(key, `POST ${path}`)}content-length: ${body.length}\r\n\r\n${body}`;
const claim = (key: string) => post(key, '/messages/claim', '{"limit":100,"leaseSeconds":1}');
const attacks: Readonly<Record<string, Attack>> = {
  '1,500 withheld bodies of 256 KiB': (raw, key) =>
    raw.many(1500, `${head(key)}content-length: 262144\r\n\r\n${'x'.repeat(262_143)}`),
  '30 x 250,000 one-byte chunks': (raw, key) =>
    raw.many(30, `${head(key)}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(250_000)}`),
  '500 unread lists of 256 KiB': (raw, key) => raw.many(500, list(key), {unread: true}),
  '200 x 8 pipelined unread lists': (raw, key) => raw.many(200, list(key).repeat(8), {unread: true}),
  '500 x 4 claims of 100 for 1 s': (raw, key) => raw.many(500, claim(key).repeat(4)),
  '500 x 4 messages beyond the quota': (raw, key) =>
    raw.many(500, post(key, '/messages', `{"message":"${'x'.repeat(200_000)}"}`).repeat(4)),
  '4,096 connections without a request': raw => raw.many(4096, 'GET / HTTP/1.1\r\n'),
};

type Start = (config: Readonly<Record<string, unknown>>) => Promise<Service>;

/** One service for all attacks, so that each one finds what the previous ones left. */
async function rows(store: string, start: Start): Promise<void> {
  const title = `\nPOST of another account, ${store}`.padEnd(42);
  console.log(`${title}p50 ms  attack  p99 ms  attack  p99 ratio (goal: 3)  RSS MiB`);
  const service = await start({
    limits: {
      account: {
        requestsPerSecond: 1000,
        bytesPerSecond: 8 * MIB,
        answerBytesPerSecond: 32 * MIB,
        storedBytes: QUOTA,
      },
    },
  });
  for (const name of Object.keys(attacks)) console.log(await row(name, service));
  await service.stop();
}

async function row(name: string, service: Service): Promise<string> {
  const [mine, theirs] = [service.account().key, service.account().key];
  await postMs(service, theirs); // warm
  const headers = {authorization: `Bearer ${mine}`, 'content-type': 'application/json'};
  const fill = async (count: number, bytes: number) => {
    const body = JSON.stringify({message: 'x'.repeat(bytes)});
    for (let n = 0; n < count; n++) await fetch(`${service.url}/messages`, {method: 'POST', headers, body});
  };
  await fill(5, 250_000);
  await fill(1000, 1);
  const quiet = await postMs(service, theirs);
  const before = await residentBytes(service);
  const attacker = new Worker(new URL(import.meta.url), {workerData: {name, port: service.port, key: mine}});
  await once(attacker, 'message');
  const loud = await postMs(service, theirs);
  const memory = (await residentBytes(service)) - before;
  await attacker.terminate();
  const cell = (value: number, width = 8) => value.toFixed(1).padStart(width);
  const times = [quiet.p50, loud.p50, quiet.p99, loud.p99].map(value => cell(value)).join('');
  return `${name.padEnd(38)}${times}${cell(loud.p99 / quiet.p99, 21)}${cell(memory / MIB, 9)}`;
}

/** Attacks from a separate thread, so that the attacker's own cost is not measured. */
function attackFromHere({name, port, key}: {readonly name: string; readonly port: number; readonly key: string}): void {
  attacks[name]?.(new RawClient({port}), key);
  setTimeout(() => parentPort?.postMessage('begun'), 200);
}

export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nameplate-hostile-'));
  try {
    const [none, many] = [claimMs(folder, 0), claimMs(folder, 20_000)];
    console.log(
      `a claim with 20,000 delayed messages / with none: ${(many / none).toFixed(2)} (${none.toFixed(3)} ms, ${many.toFixed(3)} ms)`,
    );
    console.log(`bytes of the file / charged, longest idempotency keys: ${fileRatio(folder).toFixed(2)}\n`);
    await rows('SQLite', config => startService({config, wrapper: SMALL_HEAP}));
    const server = await startPostgres();
    const database = await server.createDatabase();
    const postgres = {durability: 'storage'};
    await rows('PostgreSQL', config => startReadyPod(server, {config, database, postgres, wrapper: SMALL_HEAP}));
    await server.remove();
  } finally {
    rmSync(folder, {recursive: true});
    await removeFolders();
  }
}

if (!isMainThread) attackFromHere(workerData);
