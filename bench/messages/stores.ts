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
    for (const [accounts, ofAccounts] of samples) console.log(report(accounts, ofAccounts));
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

function report(accounts: number, samples: Samples): string {
  const of = (name: string, what: keyof Sample) => (samples.get(name) ?? []).map(sample => sample[what]);
  const cell = (value: number, digits: number) => value.toFixed(digits).padStart(9);
  const rows = [...samples.keys()].map(name => {
    const figures = [
      cell(median(of(name, 'perSecond')), 0),
      cell(median(of(name, 'p50Ms')), 2),
      cell(median(of(name, 'p99Ms')), 2),
      cell(median(of(name, 'cpuMicros')), 0),
    ];
    return `${name.padEnd(43)}${figures.join('')}`;
  });
  const ratio = (what: keyof Sample, one: string, other: string) => {
    const ratios = of(one, what).map((value, round) => value / (of(other, what)[round] ?? Number.NaN));
    const [middle, low, high] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map(n => n.toFixed(2));
    return `${middle?.padStart(8)} (${low} to ${high})`;
  };
  const goals = [
    [
      'PostgreSQL / commit per request (64 accounts: at least 3)',
      'perSecond',
      'PostgreSQL',
      'PostgreSQL, commit per request',
    ],
    ['PostgreSQL / graphile-worker', 'perSecond', 'PostgreSQL', 'graphile-worker'],
    ['PostgreSQL / SQLite', 'perSecond', 'PostgreSQL', 'SQLite'],
    ['p99 with a standby / alone', 'p99Ms', STANDBY, 'PostgreSQL'],
    ['three pods / one (at least 0.95)', 'perSecond', threeOf(STANDBY), STANDBY],
    ['the same with the slow disk (at least 0.95)', 'perSecond', threeOf(SLOW), SLOW],
  ] as const;
  return [
    `\n${`${accounts === 1 ? '1 account' : `${accounts} accounts`}, ${CONNECTIONS} clients`.padEnd(43)}   POST/s   p50 ms   p99 ms   CPU us`,
    ...rows,
    ...goals.map(([what, figure, one, other]) => `${what.padEnd(60)}${ratio(figure, one, other)}`),
  ].join('\n');
}

await main();
