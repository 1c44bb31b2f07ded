/**
 * Runs the tests, tier by tier: `node test/run.ts [unit|integration|e2e|gateway|upgrade|adopt|release ...]`, the first
 * four by default. It brings up a cluster for e2e, gateway, upgrade, and adopt, and takes it down again (KEEP=1 leaves
 * it). It ends with the failures and one line with the counts. It fails if a test failed, if there was none, and with
 * CI=true, if one was skipped. ONLY=name runs only name.soak.ts, or else name.test.ts, in its tier, and fails if that
 * takes more than 90 minutes. ONLY=folder/name does so if several have the name.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {existsSync, globSync} from 'node:fs';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {ensurePrograms} from './cluster/programs.ts';
import {ensurePostgres} from './integration/messages/postgres/programs.ts';
import {ensurePrometheus} from './integration/monitoring/prometheus.ts';
import {add, format, NOTHING, type Tally, tallyOf} from './support/tally.ts';

const TIERS = ['unit', 'integration', 'e2e', 'gateway', 'upgrade', 'adopt', 'release'] as const;
type Tier = (typeof TIERS)[number];
/** Omits `upgrade`, which builds the last release, and `adopt` and `release`, which build this one. */
const BY_DEFAULT: readonly Tier[] = ['unit', 'integration', 'e2e', 'gateway'];

/** Commands of the cluster that load what the node needs. The test of `adopt` loads the release's image itself. */
const LOADED = {
  e2e: ['load-operator'],
  gateway: ['load-operator', ...(process.env.SOAK ? ['load-former-edge'] : [])],
  upgrade: ['load-operator', 'load-last-release'],
  adopt: [],
} as const;

const CLUSTER = 'test';
const CLI = join(import.meta.dirname, 'cluster/cli.ts');
const RELEASE = join(import.meta.dirname, '../tools/release/release.ts');
const VITEST = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
const DIAGNOSE = join(import.meta.dirname, 'e2e/diagnose.ts');
const keep = Boolean(process.env.KEEP);
/** For the tests of one name. Several hours without a word would be no help. */
const DEADLINE_MINUTES = 90;
const only = process.env.ONLY ? filesNamed(process.env.ONLY) : [];

let running: ChildProcess | undefined;
let stopped = false;
// Ctrl-C also reaches the child, which always ends first. Then the cluster is taken down as usual.
process.on('SIGINT', () => {
  stopped = true;
});
process.on('SIGTERM', () => {
  stopped = true;
  running?.kill('SIGTERM');
});

/** Runs a Node program with the terminal attached; resolves with its exit code. */
function node(...args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, {stdio: 'inherit'});
  running = child;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', code => resolve(code ?? 1));
  });
}

function cluster(verb: string, ...rest: readonly string[]): Promise<number> {
  return node(CLI, verb, '--name', CLUSTER, ...rest);
}

function inside(...command: readonly string[]): Promise<number> {
  return cluster('exec', '--', process.execPath, ...command);
}

/** Runs vitest with `start`, and counts. A failure without a report, such as a crash, counts as one failure. */
async function runTier(tier: Tier, folder: string, start: (...args: readonly string[]) => Promise<number>) {
  const report = join(folder, `${tier}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const late = failure(`${tier}: ${process.env.ONLY} takes more than ${DEADLINE_MINUTES} minutes`);
  let isLate = false;
  const end = () => {
    isLate = true;
    running?.kill('SIGTERM');
  };
  const deadline = only.length > 0 ? setTimeout(end, DEADLINE_MINUTES * 60_000) : undefined;
  const code = await start(VITEST, 'run', '--project', tier, ...only, ...reporters);
  clearTimeout(deadline);
  if (isLate) return late;
  const tally = existsSync(report) ? tallyOf(JSON.parse(await readFile(report, 'utf8'))) : NOTHING;
  return code !== 0 && tally.failures.length === 0 ? add(tally, failure(`${tier}: vitest exited with ${code}`)) : tally;
}

function failure(what: string): Tally {
  return {...NOTHING, failures: [`FAILED ${what}`]};
}

async function runEndToEnd(tier: keyof typeof LOADED, folder: string): Promise<Tally> {
  process.env.EDGE = tier === 'gateway' ? 'gateway' : 'traefik';
  try {
    if (tier === 'e2e') await ensurePostgres();
    if (tier === 'adopt') {
      await ensurePrometheus();
      await ensurePrograms(['prometheusoperator']);
      if ((await node(RELEASE)) !== 0) return failure('adopt: the release');
    }
    // An earlier cluster may have been kept.
    for (const verb of ['down', 'up', ...LOADED[tier]]) {
      if (stopped || (await cluster(verb)) !== 0) return failure(`${tier}: the cluster's ${verb}`);
    }
    const tally = await runTier(tier, folder, inside);
    if (tally.failures.length > 0) await inside(DIAGNOSE);
    return tally;
  } finally {
    if (keep) console.log(`The cluster keeps running: node test/cluster/cli.ts shell --name ${CLUSTER}`);
    else await cluster('down');
  }
}

/** The folders of these tests are tiers. */
function filesNamed(name: string): readonly string[] {
  const find = (kind: string) => globSync(`*/**/${name}.${kind}.ts`, {cwd: import.meta.dirname});
  const loops = find('soak');
  return loops.length > 0 ? loops : find('test');
}

async function main(given: readonly string[]): Promise<number> {
  if (process.env.ONLY && only.length === 0) throw new Error(`there is no ${process.env.ONLY}.soak.ts or .test.ts`);
  const wanted = process.env.ONLY ? only.map(file => file.replace(/\/.*/, '')) : given;
  const unknown = wanted.find(name => !TIERS.some(tier => tier === name));
  if (unknown !== undefined) throw new Error(`there is no tier "${unknown}"; there are ${TIERS.join(', ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-test-'));
  let total = NOTHING;
  for (const tier of TIERS.filter(name => (wanted.length === 0 ? BY_DEFAULT : wanted).includes(name))) {
    if (stopped) break;
    console.log(`\n[test] ${tier}`);
    total = add(
      total,
      await (tier in LOADED ? runEndToEnd(tier as keyof typeof LOADED, folder) : runTier(tier, folder, node)),
    );
  }
  await rm(folder, {recursive: true, force: true});
  if (stopped) console.log('stopped before the end');
  for (const each of total.failures) console.log(each);
  console.log(format(total));
  const skippedInCi = process.env.CI === 'true' && total.skipped > 0;
  return stopped || total.failures.length > 0 || total.passed === 0 || skippedInCi ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`error: ${(error as Error).message}`);
  process.exitCode = 1;
}
