/**
 * The stores of the messages API, compared with a commit per request on the same PostgreSQL and with graphile-worker:
 * durable POST /messages per second by one account, by 64, and by a single client. Three pods that share a database are
 * measured too, also on a server whose disk takes 3 ms longer: on a fast disk, they share the cores of this machine
 * rather than the commits. They are also measured with enough clients to fill their batches. All take turns in one run.
 *
 *     node bench/messages/stores.ts [ROUNDS] [SECONDS] [CLIENTS]     default 5 rounds of 2 seconds each, 64 clients
 *
 * Prints medians over the rounds, and ratios within rounds. Fetches wrk if it is missing.
 */
import {execFile} from 'node:child_process';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {cpus} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {type Postgres, type PostgresSettings, startPostgres} from '../../test/integration/messages/postgres/server.ts';
import {median, ratios} from '../statistics.ts';
import {ACCOUNTS, type Kind, POSTGRES} from './kinds.ts';
import {cpuMicros, type Load, measureTogether, type Sample, type Server, startServer} from './servers.ts';
import {ensureWrk} from './wrk.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 2);
const connections = Number(process.argv[4] ?? 64);
const PODS = 3;
/** With fewer, three pods have small batches, and the CPU is the limit. */
const CLIENTS_OF_PODS = 512;
const STANDBY = 'PostgreSQL, standby';
const SLOW = 'PostgreSQL, standby, slow disk';
const threeOf = (name: string) => `${name}, three pods`;
const SETTINGS: PostgresSettings = {shared_buffers: `'256MB'`, max_connections: 300, max_wal_size: `'4GB'`};
/** Before each flush of the WAL; in microseconds. */
const SLOW_DISK: PostgresSettings = {commit_delay: 3000, commit_siblings: 0};

/** A contestant. All of its servers are measured together. */
interface Contestant {
  readonly pods: readonly Server[];
  /** The primary, and its standby. */
  readonly databases: readonly Postgres[];
}
type Contestants = ReadonlyMap<string, Contestant>;
type Measured = Sample & {readonly databaseMicros: readonly number[]};
type Samples = Map<string, Measured[]>;

/** `only`: measures only the contestants whose names begin with it. */
type LoadOfSome = Load & {readonly only?: string};
const ofPods = {connections: CLIENTS_OF_PODS, seconds, only: STANDBY};
/** Keyed by the title of its table. */
const LOADS = new Map<string, LoadOfSome>([
  [`1 account, ${connections} clients`, {accounts: 1, connections, seconds}],
  [`${ACCOUNTS} accounts, ${connections} clients`, {accounts: ACCOUNTS, connections, seconds}],
  [`1 account, ${CLIENTS_OF_PODS} clients`, {accounts: 1, ...ofPods}],
  [`${ACCOUNTS} accounts, ${CLIENTS_OF_PODS} clients`, {accounts: ACCOUNTS, ...ofPods}],
  ['1 client', {accounts: 1, connections: 1, seconds}],
]);

async function main(): Promise<void> {
  await ensureWrk();
  const cwd = join(import.meta.dirname, 'peers');
  const install = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  await promisify(execFile)('npm', install, {cwd});
  // Next to the sources, because the folder for temporary files is often in memory, where a sync costs nothing.
  const folder = await mkdtemp(join(import.meta.dirname, 'store-'));
  process.env.TMPDIR = folder;
  const stops: (() => unknown)[] = [() => rm(folder, {recursive: true, force: true})];
  try {
    const contestants = await start(folder, stops);
    const samples = new Map([...LOADS.keys()].map(title => [title, new Map() as Samples]));
    for (let round = -1; round < rounds; round++) {
      for (const [title, load] of LOADS) {
        for (const [name, contestant] of round % 2 === 0 ? [...contestants] : [...contestants].reverse()) {
          if (contestant.pods.length > load.connections || !name.startsWith(load.only ?? '')) continue;
          const sample = await measure(contestant, load);
          const ofLoad = samples.get(title);
          if (round >= 0) ofLoad?.set(name, [...(ofLoad.get(name) ?? []), sample]); // The first round only warms up.
        }
      }
    }
    console.log(
      `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
    );
    console.log(report(samples));
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measure({pods, databases}: Contestant, load: Load): Promise<Measured> {
  const used = () => Promise.all(databases.map(async each => cpuMicros(...(await each.processes()))));
  const before = await used();
  const sample = await measureTogether(pods, load);
  const messages = sample.perSecond * load.seconds;
  const databaseMicros = (await used()).map((micros, index) => (micros - (before[index] ?? 0)) / messages);
  return {...sample, databaseMicros};
}

async function start(folder: string, stops: (() => unknown)[]): Promise<Contestants> {
  const contestants = new Map<string, Contestant>();
  const add = async (name: string, kind: Kind, where: string, databases: readonly Postgres[] = [], count = 1) => {
    const pods: Server[] = [];
    for (let pod = 0; pod < count; pod++) pods.push(await startServer(kind, where));
    stops.push(() => pods.map(({process}) => process.kill()));
    contestants.set(name, {pods, databases});
  };
  const server = async (settings: PostgresSettings) => {
    const primary = await startPostgres({...SETTINGS, ...settings});
    stops.push(() => primary.remove());
    return primary;
  };
  await add('SQLite', 'group commit', folder);
  const alone = await server({});
  for (const kind of POSTGRES) {
    if (kind !== STANDBY) await add(kind, kind, await uriFile(folder, alone, kind), [alone]);
  }
  for (const [name, more] of [
    [STANDBY, {}],
    [SLOW, SLOW_DISK],
  ] as const) {
    const primary = await server(more);
    const standby = await primary.standby('standby');
    await primary.configure({synchronous_standby_names: `'ANY 1 (standby)'`});
    const file = await uriFile(folder, primary, name);
    await add(name, STANDBY, file, [primary, standby]);
    await add(threeOf(name), STANDBY, file, [primary, standby], PODS);
  }
  return contestants;
}

/** Writes a file with the URI of a new database. */
async function uriFile(folder: string, server: Postgres, name: string): Promise<string> {
  const file = join(folder, `${name}.uri`);
  await writeFile(file, server.uri(await server.createDatabase()));
  return file;
}

/** docs/benchmarks.md shows some of these rows. */
function report(samples: ReadonlyMap<string, Samples>): string {
  const tables = [...samples].map(
    ([title, ofLoad]) =>
      `\n| ${title} | POST per second | p50 | p99 | CPU of the pods | of the primary | of the standby |\n|---|---|---|---|---|---|---|\n${rowsOf(ofLoad)}`,
  );
  const ofGoals = GOALS.map(([what, figure, one, other]) => {
    const cells = [...samples.values()].map(ofLoad => ratioOf(ofLoad, figure, one, other));
    return `| ${what} | ${cells.join(' | ')} |`;
  });
  return [
    ...tables,
    `\n| ratio within a round: median (lowest to highest) | ${[...samples.keys()].join(' | ')} |\n|---|${'---|'.repeat(samples.size)}`,
    ...ofGoals,
    '\n| the most that three pods accept to the most that one accepts | 1 account | 64 accounts |\n|---|---|---|',
    ...[STANDBY, SLOW].map(
      one => `| ${one} (goal: 0.95) | ${[1, ACCOUNTS].map(accounts => mostOf(samples, accounts, one)).join(' | ')} |`,
    ),
  ].join('\n');
}

/** How much more three pods accept than one, each with the number of clients with which it accepts most. */
function mostOf(samples: ReadonlyMap<string, Samples>, accounts: number, one: string): string {
  const loads = [...samples].filter(([title]) => LOADS.get(title)?.accounts === accounts).map(([, ofLoad]) => ofLoad);
  const most = (name: string) =>
    Array.from({length: rounds}, (_, round) =>
      Math.max(...loads.map(ofLoad => ofLoad.get(name)?.[round]?.perSecond ?? 0)),
    );
  return ratios(most(threeOf(one)), most(one));
}

function rowsOf(samples: Samples): string {
  const rows = [...samples].map(([name, measured]) => {
    const of = (figure: (sample: Measured) => number) => median(measured.map(figure));
    const perSecond = Math.round(of(sample => sample.perSecond)).toLocaleString('en-US');
    const [p50, p99] = [of(sample => sample.p50Ms), of(sample => sample.p99Ms)].map(ms => `${ms.toFixed(1)} ms`);
    const databases = [0, 1].map(index => of(sample => sample.databaseMicros[index] ?? Number.NaN));
    const cpu = [of(sample => sample.cpuMicros), ...databases].map(us =>
      Number.isNaN(us) ? '' : `${us.toFixed(0)} µs`,
    );
    return `| ${[name, perSecond, p50, p99, ...cpu].join(' | ')} |`;
  });
  return rows.join('\n');
}

const GOALS = [
  [
    'PostgreSQL to a commit per request (goal with 64 accounts: 3)',
    'perSecond',
    'PostgreSQL',
    'PostgreSQL, commit per request',
  ],
  ['PostgreSQL to graphile-worker', 'perSecond', 'PostgreSQL', 'graphile-worker'],
  ['PostgreSQL to SQLite', 'perSecond', 'PostgreSQL', 'SQLite'],
  ['p99 with a standby to p99 without', 'p99Ms', STANDBY, 'PostgreSQL'],
  ['three pods to one (goal: 0.95)', 'perSecond', threeOf(STANDBY), STANDBY],
  ['three pods to one, slow disk (goal: 0.95)', 'perSecond', threeOf(SLOW), SLOW],
] as const;

function ratioOf(samples: Samples, what: keyof Sample, one: string, other: string): string {
  const of = (name: string) => (samples.get(name) ?? []).map(sample => sample[what]);
  return ratios(of(one), of(other));
}

await main();
