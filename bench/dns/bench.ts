/**
 * Compares the correctness and speed of DNS verdicts over the fault zones of the tests: ours, a typical verifier on
 * node:dns, and cert-manager's own check (go/main.go).
 *
 *     node bench/dns/bench.ts [ROUNDS] [NAMES]      default 5 and 10000
 *
 * Each verifier gets a freshly started small Internet in each round, so that no resolver has another verifier's answers
 * in its cache. Prints medians over the rounds, and in brackets their ratio to ours.
 */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {cpus, tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import type {ProofQuestion} from '../../src/dns/verdict/verdict.ts';
import {run} from '../../test/cluster/children.ts';
import {goBuild} from '../../test/cluster/go.ts';
import {RESOLVER} from '../../test/integration/dns/internet/plan.ts';
import {type Internet, startInternet} from '../../test/integration/dns/internet.ts';
import {questionAbout, SHARED} from '../../test/integration/dns/zones/zone-row.ts';
import {median} from '../statistics.ts';
import {cases, type Kind, zones} from './cases.ts';
import type {Cost} from './many.ts';
import type {Wait} from './pending.ts';
import {Scores} from './scores.ts';
import type {Said} from './verifier.ts';
import {deadZone, lateZone, manyZones, NEGATIVE_TTL} from './zones.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const NAMES = Number(process.argv[3] ?? 10_000);
/** How long the tenant takes to create the record after adding the domain. */
const FIXED_AFTER_MS = 20_000;
const LATE = 5;

const VERIFIERS = {
  ours: 'ours, a resolver confirms',
  'ours-alone': 'ours, as shipped',
  'ours-recursive': 'ours, mode recursive',
  plain: 'node:dns, a resolver',
  'plain-at-zone': "node:dns, the zone's servers",
  'cert-manager': 'cert-manager',
} as const;
type Verifier = keyof typeof VERIFIERS;
const NAMES_OF_VERIFIERS = Object.keys(VERIFIERS) as Verifier[];

const folder = await mkdtemp(join(tmpdir(), 'nameplate-bench-'));
const certManager = join(folder, 'cert-manager');
let files = 0;
try {
  const cache = (await run(['go', 'env', 'GOCACHE'])).trim();
  await goBuild({module: join(import.meta.dirname, 'go'), package: '.', output: certManager, ldflags: '', cache});
  console.log(
    `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
  );
  const rounds = Array.from({length: ROUNDS}, (_, round) => round);
  // Both wait for minutes and do next to nothing, so they run alongside the scoreboard.
  const late = Array.from({length: LATE}, (_, n) => lateZone(n, false));
  const waiting = withInternet([...SHARED, ...late, ...rounds.map(deadZone)], internet =>
    Promise.all([oneDead(internet, rounds), afterFix(internet)]),
  );
  waiting.catch(() => undefined);
  console.log((await scoreboard()).format());
  console.log((await waiting).join('\n'));
  console.log(await withInternet([...SHARED, ...manyZones], internet => many(internet, rounds)));
} finally {
  await rm(folder, {recursive: true, force: true});
}

async function withInternet<T>(
  held: Parameters<typeof startInternet>[0],
  use: (internet: Internet) => Promise<T>,
): Promise<T> {
  const internet = await startInternet(held);
  try {
    return await use(internet);
  } finally {
    await internet.stop();
  }
}

async function runInside<T>(internet: Internet, argv: readonly string[], program?: string): Promise<T> {
  const {code, stdout, stderr} = await (program === undefined ? internet.run(argv) : internet.run(argv, program));
  if (code !== 0) throw new Error(`${argv.join(' ')} ended (${code}): ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** `txt`: cert-manager's check unchanged, for the TXT record that it looks for. */
async function ask(
  internet: Internet,
  verifier: Verifier,
  questions: readonly ProofQuestion[],
  record: 'cname' | 'txt' = 'cname',
): Promise<readonly Said[]> {
  const file = join(folder, `questions-${++files}.json`);
  await writeFile(file, JSON.stringify(questions));
  return verifier === 'cert-manager'
    ? runInside(internet, [record, RESOLVER, file], certManager)
    : runInside(internet, [join(import.meta.dirname, 'verifier.ts'), verifier, file]);
}

async function scoreboard(): Promise<Scores> {
  const scores = new Scores(VERIFIERS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const verifier of NAMES_OF_VERIFIERS) {
      const asked = cases.filter(({kind}) => asks(verifier, kind));
      const questions = asked.map(({question}) => question);
      scores.add(verifier, asked, await withInternet(zones, internet => ask(internet, verifier, questions)));
      console.error(`${new Date().toISOString()} round ${round + 1} of ${ROUNDS}: ${verifier}`);
    }
  }
  return scores;
}

/** cert-manager's package does not query addresses, and only our verifier checks CAA and knows wildcards. */
function asks(verifier: Verifier, kind: Kind): boolean {
  if (verifier === 'cert-manager') return kind === 'cname';
  return (kind !== 'caa' && kind !== 'wildcard') || verifier.startsWith('ours');
}

async function oneDead(internet: Internet, rounds: readonly number[]): Promise<string> {
  const times = {ours: [] as number[], theirs: [] as number[]};
  const answers = {ours: new Set<string>(), theirs: new Set<string>()};
  for (const round of rounds) {
    const questions = [questionAbout(`shop.${deadZone(round).name}`)];
    const [ours] = await ask(internet, 'ours-alone', questions);
    const [theirs] = await ask(internet, 'cert-manager', questions, 'txt');
    if (!ours || !theirs) throw new Error('no answer');
    times.ours.push(ours.ms);
    times.theirs.push(theirs.ms);
    answers.ours.add(ours.answer);
    answers.theirs.add(theirs.answer);
  }
  const [own, other] = [median(times.ours) / 1000, median(times.theirs) / 1000];
  return `one of four servers dead: ours ${[...answers.ours]} in ${own.toFixed(2)} s, cert-manager (its own check, of a TXT record that is right) ${[...answers.theirs]} in ${other.toFixed(2)} s, ratio ${(other / own).toFixed(1)} (goal: right, 5)`;
}

async function many(internet: Internet, rounds: readonly number[]): Promise<string> {
  const costs: Cost[] = [];
  for (const _ of rounds) costs.push(await runInside(internet, [join(import.meta.dirname, 'many.ts'), String(NAMES)]));
  const of = (what: keyof Cost) => median(costs.map(cost => cost[what]));
  return `${NAMES} names: ${of('perSecond').toFixed(0)} verdicts/s, ${of('queries').toFixed(1)} queries and ${of('cpuMs').toFixed(2)} ms of CPU each; ${of('rssMiB').toFixed(0)} MiB resident, ${of('heapKiB').toFixed(1)} KiB of heap each`;
}

/** The time from when all name servers have the record until the verdict: ours, and with only a resolver. */
async function afterFix(internet: Internet): Promise<string> {
  const hosts = Array.from({length: LATE}, (_, n) => `shop.${lateZone(n, true).name}`);
  const watch = (kind: string) =>
    runInside<readonly Wait[]>(internet, [join(import.meta.dirname, 'pending.ts'), kind, ...hosts]);
  const waits = Promise.all([watch('ours'), watch('recursive')]);
  await Promise.race([delay(FIXED_AFTER_MS), waits]);
  const fixedAt: number[] = [];
  for (let n = 0; n < LATE; n++) {
    await internet.change(lateZone(n, true));
    fixedAt.push(Date.now());
  }
  const [ours, recursive] = (await waits).map(each => {
    if (each.some(({missedAt}, n) => !(missedAt < (fixedAt[n] ?? 0)))) throw new Error('fixed before it was missed');
    return median(each.map(({verifiedAt}, n) => Math.max(0, verifiedAt - (fixedAt[n] ?? 0)) / 1000));
  });
  if (ours === undefined || recursive === undefined) throw new Error('not measured');
  return `fixed, with a negative TTL of ${NEGATIVE_TTL} s: ours ${ours.toFixed(1)} s, only a resolver ${recursive.toFixed(1)} s, ratio ${(recursive / ours).toFixed(1)} (goal 10)`;
}
