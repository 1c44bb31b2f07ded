/**
 * The stores of the messages API, beside a commit per request on the same PostgreSQL, and graphile-worker: durable POST
 * /messages a second, of one account and of 64. Three pods that share a database are measured too, also on a server whose
 * disk takes 3 ms longer: on a fast disk, they share the cores of this machine rather than the commits. All in one run,
 * in turns.
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
import {type Postgres, startPostgres} from '../../test/integration/messages/postgres/server.ts';
import {ACCOUNTS, POSTGRES} from './kinds.ts';
import {measureTogether, median, type Sample, type Server, startServer} from './servers.ts';
import {ensureWrk} from './wrk.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 2);
const CONNECTIONS = Number(process.argv[4] ?? 64);
const PODS = 3;
const STANDBY = 'PostgreSQL, standby';
const SLOW = 'PostgreSQL, standby, slow disk';
const threeOf = (name: string) => `${name}, three pods`;
/** Before each flush of the WAL; in microseconds. */
const SLOW_DISK = {commit_delay: 3000, commit_siblings: 0};

/** What is compared: all of its servers are measured together. */
type Contestants = ReadonlyMap<string, readonly Server[]>;
type Samples = Map<string, Sample[]>;

async function main(): Promise<void> {
  await ensureWrk();
  const cwd = join(import.meta.dirname, 'peers');
  const install = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  await promisify(execFile)('npm', install, {cwd});
  // Beside the sources: the folder for temporary files is often in memory, where a sync costs nothing.
  const folder = await mkdtemp(join(import.meta.dirname, 'store-'));
  process.env.TMPDIR = folder;
  const stops: (() => unknown)[] = [() => rm(folder, {recursive: true, force: true})];
  try {
    const contestants = await start(folder, stops);
    const samples = new Map([1, ACCOUNTS].map(accounts => [accounts, new Map() as Samples]));
    for (let round = -1; round < rounds; round++) {
      for (const [accounts, ofAccounts] of samples) {
        for (const [name, servers] of round % 2 === 0 ? [...contestants] : [...contestants].reverse()) {
          const sample = await measureTogether(servers, {connections: CONNECTIONS, seconds, accounts});
          if (round >= 0) ofAccounts.set(name, [...(ofAccounts.get(name) ?? []), sample]); // The first is for warming.
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

async function start(folder: string, stops: (() => unknown)[]): Promise<Contestants> {
  const settings = {shared_buffers: `'256MB'`, max_connections: 300, max_wal_size: `'4GB'`};
  const alone = await startPostgres(settings);
  stops.push(() => alone.remove());
  const replicated = async (more: object) => {
    const primary = await startPostgres({...settings, ...more});
    stops.push(() => primary.remove());
    await primary.standby('standby');
    await primary.configure({synchronous_standby_names: `'ANY 1 (standby)'`});
    return primary;
  };
  const contestants = new Map<string, Server[]>();
  const add = async (name: string, ...args: Parameters<typeof startServer>) => {
    const server = await startServer(...args);
    stops.push(() => server.process.kill());
    contestants.set(name, [...(contestants.get(name) ?? []), server]);
  };
  await add('SQLite', 'group commit', folder);
  for (const kind of POSTGRES) {
    if (kind !== STANDBY) await add(kind, kind, await uriFile(folder, alone, kind));
  }
  for (const [name, more] of [
    [STANDBY, {}],
    [SLOW, SLOW_DISK],
  ] as const) {
    const file = await uriFile(folder, await replicated(more), name);
    await add(name, STANDBY, file);
    for (let pod = 0; pod < PODS; pod++) await add(threeOf(name), STANDBY, file);
  }
  return contestants;
}

/** Of a new database. */
async function uriFile(folder: string, server: Postgres, name: string): Promise<string> {
  const file = join(folder, `${name}.uri`);
  await writeFile(file, server.uri(await server.createDatabase()));
  return file;
}

/** As docs/benchmarks.md has it. */
function report(samples: ReadonlyMap<number, Samples>): string {
  const tables = [...samples].map(([accounts, ofAccounts]) => {
    const title = `${accounts === 1 ? '1 account' : `${accounts} accounts`}, ${CONNECTIONS} clients`;
    return `\n| ${title} | POST per second | p50 | p99 | CPU of the pods per message |\n|---|---|---|---|---|\n${rowsOf(ofAccounts)}`;
  });
  const counts = [...samples.keys()].map(accounts => (accounts === 1 ? '1 account' : `${accounts} accounts`));
  const ratios = GOALS.map(([what, figure, one, other]) => {
    const cells = [...samples.values()].map(ofAccounts => ratioOf(ofAccounts, figure, one, other));
    return `| ${what} | ${cells.join(' | ')} |`;
  });
  return [
    ...tables,
    `\n| ratio within a round: median (lowest to highest) | ${counts.join(' | ')} |\n|---|---|---|`,
    ...ratios,
  ].join('\n');
}

function rowsOf(samples: Samples): string {
  const rows = [...samples].map(([name, measured]) => {
    const of = (what: keyof Sample) => median(measured.map(sample => sample[what]));
    const perSecond = Math.round(of('perSecond')).toLocaleString('en-US');
    const [p50, p99] = [of('p50Ms'), of('p99Ms')].map(ms => `${ms.toFixed(1)} ms`);
    return `| ${name} | ${perSecond} | ${p50} | ${p99} | ${of('cpuMicros').toFixed(0)} µs |`;
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
  const others = of(other);
  const ratios = of(one).map((value, round) => value / (others[round] ?? Number.NaN));
  const [middle, low, high] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map(n => n.toFixed(2));
  return `${middle} (${low} to ${high})`;
}

await main();
