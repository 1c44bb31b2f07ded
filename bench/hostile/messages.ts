/**
 * What a hostile key costs the others, with SQLite and with two pods on PostgreSQL with a synchronous standby: the time
 * of another account's POST during an attack and without one (goal: at most 3 times the p99), and the memory that the
 * attack takes. Medians over rounds; ratios within a round, with the lowest and the highest. Also, for SQLite, how the
 * time of a claim depends on the number of delayed messages, and the size of the file compared with what is charged.
 *
 *     node bench/hostile/run.ts messages             5 rounds, about 4 minutes; or as many as in the variable ROUNDS
 */
import {once} from 'node:events';
import {mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {Engine} from '../../src/messages/store/sqlite/engine.ts';
import type {LeasedMessage} from '../../src/messages/store/store.ts';
import {until} from '../../test/cluster/wait.ts';
import {startPostgres} from '../../test/integration/messages/postgres/server.ts';
import {startReadyPod} from '../../test/integration/messages/postgres/service.ts';
import {head, heldBytes, MIB, RawClient, residentBytes, SMALL_HEAP} from '../../test/integration/messages/raw.ts';
import {removeFolders, type Service, startService} from '../../test/integration/messages/service.ts';
import {median, quantile, ratios} from '../statistics.ts';

const SAMPLES = 100;
const POSTS = 500;
const ROUNDS = Number(process.env.ROUNDS ?? 5);
/** The attacker has used most of this. */
const QUOTA = 3 * MIB;
/** How many requests prepare an attack at the same time. */
const TOGETHER = 50;

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

/** The time of a POST by another account, which uses all pods in turn, in milliseconds. */
async function postMs(pods: readonly Service[], key: string): Promise<Latency> {
  const times: number[] = [];
  for (let n = 0; n < POSTS; n++) {
    const start = performance.now();
    await post(pods[n % pods.length], key, '/messages', {message: 'x'});
    times.push(performance.now() - start);
  }
  return {p50: quantile(times, 0.5), p99: quantile(times, 0.99)};
}

async function post(pod: Service | undefined, key: string, path: string, body: object): Promise<void> {
  const headers = {authorization: `Bearer ${key}`, 'content-type': 'application/json'};
  const response = await fetch(`${pod?.url}${path}`, {method: 'POST', headers, body: JSON.stringify(body)});
  if (!response.ok) throw new Error(`answered ${response.status}`);
  await response.arrayBuffer();
}

interface Attack {
  /** Spread over the pods. */
  readonly connections: number;
  readonly bytes: (key: string) => string;
  /** Nobody reads the answers. */
  readonly unread?: boolean;
  /** How many messages of the account are leased for an hour. */
  readonly leased?: number;
}

const list = (key: string) => `${head(key, 'GET /messages')}\r\n`;
const request = (key: string, path: string, body: string) =>
  `${head(key, `POST ${path}`)}content-length: ${body.length}\r\n\r\n${body}`;
const claim = (key: string) => request(key, '/messages/claim', '{"limit":100,"leaseSeconds":1}');
const attacks: Readonly<Record<string, Attack>> = {
  '1,500 withheld bodies of 256 KiB': {
    connections: 1500,
    bytes: key => `${head(key)}content-length: 262144\r\n\r\n${'x'.repeat(262_143)}`,
  },
  '30 x 250,000 one-byte chunks': {
    connections: 30,
    bytes: key => `${head(key)}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(250_000)}`,
  },
  '500 unread lists of 256 KiB': {connections: 500, bytes: list, unread: true},
  '2,000 claims of 100 for 1 s': {connections: 2000, bytes: claim},
  '2,000 claims, 4,500 are leased': {connections: 2000, bytes: claim, leased: 4500},
  '2,000 messages beyond the quota': {
    connections: 2000,
    bytes: key => request(key, '/messages', `{"message":"${'x'.repeat(200_000)}"}`),
  },
  '4,096 connections without a request': {connections: 4096, bytes: () => 'GET / HTTP/1.1\r\n'},
};

/** As users run it, with the limits of each account. */
const config = {
  log: {level: 'info'},
  limits: {
    account: {
      requestsPerSecond: 1000,
      bytesPerSecond: 8 * MIB,
      answerBytesPerSecond: 16 * MIB,
      storedBytes: QUOTA,
    },
  },
};

interface Sample {
  readonly quiet: Latency;
  readonly loud: Latency;
  /** How much the memory of the pod that took most has grown. */
  readonly memory: number;
}

/** The same pods for all attacks, so that each one finds what the previous ones left. */
async function rows(store: string, pods: readonly Service[]): Promise<void> {
  await postMs(pods, (pods[0] as Service).account().key); // warm
  const samples = new Map(Object.keys(attacks).map(name => [name, [] as Sample[]]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, attack] of Object.entries(attacks)) samples.get(name)?.push(await sample(name, attack, pods));
  }
  const title = `\nPOST of another account, ${store}`.padEnd(58);
  console.log(`${title}p50 ms  attack  p99 ms  attack  p99 ratio (goal: 3)  RSS MiB`);
  for (const [name, ofAttack] of samples) {
    const cell = (of: (sample: Sample) => number, width = 8) => median(ofAttack.map(of)).toFixed(1).padStart(width);
    const [quiet, loud] = (['quiet', 'loud'] as const).map(when => ofAttack.map(each => each[when].p99));
    const times = [cell(each => each.quiet.p50), cell(each => each.loud.p50), cell(each => each.quiet.p99)];
    const ratio = ratios(loud ?? [], quiet ?? []).padStart(21);
    console.log(
      `${name.padEnd(54)}${times.join('')}${cell(each => each.loud.p99)}${ratio}${cell(each => each.memory, 9)}`,
    );
  }
  for (const pod of pods) await pod.stop();
}

async function sample(name: string, attack: Attack, pods: readonly Service[]): Promise<Sample> {
  const [first] = pods as readonly [Service];
  const [mine, theirs] = [first.account().key, first.account().key];
  await prepare(first, mine, attack.leased ?? 0);
  const quiet = await postMs(pods, theirs);
  const before = await Promise.all(pods.map(residentBytes));
  const ports = pods.map(({port}) => port);
  const attacker = new Worker(new URL(import.meta.url), {workerData: {name, ports, key: mine}});
  await once(attacker, 'message');
  const loud = await postMs(pods, theirs);
  const after = await Promise.all(pods.map(residentBytes));
  await attacker.terminate();
  for (const pod of pods)
    await until('it holds nothing', async () => (await heldBytes(pod)) === 0, {timeoutMs: 60_000});
  return {quiet, loud, memory: Math.max(...after.map((bytes, pod) => bytes - (before[pod] ?? 0))) / MIB};
}

/** Uses most of the quota: for long messages, or for those to be leased. */
async function prepare(pod: Service, key: string, leased: number): Promise<void> {
  const fill = async (count: number, bytes: number) => {
    for (let left = count; left > 0; left -= TOGETHER) {
      const message = 'x'.repeat(bytes);
      await Promise.all(Array.from({length: Math.min(left, TOGETHER)}, () => post(pod, key, '/messages', {message})));
    }
  };
  if (leased === 0) await fill(5, 250_000);
  await fill(leased === 0 ? 1000 : leased + 500, 1);
  for (let left = leased; left > 0; left -= 100)
    await post(pod, key, '/messages/claim', {limit: 100, leaseSeconds: 3600});
}

/** Keeps the connections: those that nobody refers to, and nobody reads, would be closed as garbage. */
let attacking: RawClient[] = [];

/** Attacks from a separate thread, so that the attacker's own cost is not measured. */
function attackFromHere({
  name,
  ports,
  key,
}: {
  readonly name: string;
  readonly ports: readonly number[];
  readonly key: string;
}): void {
  const {connections, bytes, unread = false} = attacks[name] as Attack;
  attacking = ports.map(port => new RawClient({port}));
  const sent = bytes(key);
  for (let n = 0; n < connections; n++) attacking[n % ports.length]?.open(sent, {unread});
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
    await rows('SQLite', [await startService({config, wrapper: SMALL_HEAP})]);
    const server = await startPostgres();
    await server.standby('standby');
    await server.configure({synchronous_standby_names: `'ANY 1 (standby)'`});
    const database = await server.createDatabase();
    const start = () => startReadyPod(server, {config, database, wrapper: SMALL_HEAP});
    await rows('PostgreSQL, standby, two pods', [await start(), await start()]);
    await server.remove();
  } finally {
    rmSync(folder, {recursive: true});
    await removeFolders();
  }
}

if (!isMainThread) attackFromHere(workerData);
