/**
 * The operator with 100,000 live domains: a restart, and idle minutes with and without DNS checks.
 *
 *     node bench/loop/many.ts [DOMAINS]                    default 100000; 10000 takes 12 minutes
 *     PROFILE=/tmp/profiles node bench/loop/many.ts 10000  with CPU profiles of the starts, and heap snapshots at the end
 *
 * Creating them all would take hours, so the operator and cert-manager create 100 for 5 tenants, and copies of these
 * tenants are written directly to etcd while no API server runs (copies.ts says what a copy changes). Then only the
 * operator starts: without cert-manager, and without the controllers of Kubernetes. An idle time without writes shows
 * that the copies are as the operator wants them.
 *
 * For the first start (when the API server has just read etcd) and for a restart, it prints the time until the operator
 * is ready and until it has reconciled everything once, the peak memory, and the writes, CPU, and memory of idle
 * minutes. The restart has DNS checks disabled as far as the configuration allows, so the difference is their cost.
 */
import {readdirSync, readFileSync} from 'node:fs';
import {setTimeout as delay} from 'node:timers/promises';
import {failOnExit} from '../../test/cluster/children.ts';
import {until} from '../../test/cluster/wait.ts';
import type {OperatorWorld} from '../../test/integration/operator/operator-world.ts';
import {spawnOperator} from '../../test/support/operator-process.ts';
import {addCopies, MADE} from './cloned.ts';
import {becomeLive, hasReconciled, idle, quiet, report, startLiveWorld} from './live.ts';

const DOMAINS = Number(process.argv[2] ?? 100_000);
/** The caches of 100,000 domains need about 700 MiB. Near the limit, the garbage collector takes most of the time. */
const HEAP_MIB = Math.max(256, Math.ceil(DOMAINS * 0.0085));
/** With managedFields, the API server would need 20 GiB for 100,000 domains. */
const SLIM = DOMAINS > 50_000;
const MINUTES = 2;
const PROFILE = process.env.PROFILE;
const PROFILED_SECONDS = 30;
/** No check happens in this time, the longest that a timer can wait. */
const NEVER_SECONDS = 1_000_000;
const PATIENCE = {timeoutMs: 900_000, intervalMs: 200};

type Operator = Awaited<ReturnType<typeof spawnOperator>>;

/** The API server may stall for seconds just after its start, and an operator that loses its lease exits. */
const PATIENT_LEASE = {leaseDurationSeconds: 120, renewDeadlineSeconds: 100};

if (SLIM) process.env.GOMEMLIMIT ??= '13GiB'; // for the API server, on a machine with 24 GiB
const {world, program, config, stop} = await startLiveWorld({domains: DOMAINS, heapMiB: HEAP_MIB});
try {
  await becomeLive(world, MADE);
  await quiet(world);
  await world.operator().stop();
  await world.certManager.stop();
  await world.history.stop();
  await addCopies(world, DOMAINS, {slim: SLIM});
  const {dns, controller} = config as {dns: {checks: object}; controller: {leaderElection: object}};
  const patient = {...config, controller: {leaderElection: {...controller.leaderElection, ...PATIENT_LEASE}}};
  await measure(world, 'first start', patient);
  await measure(world, 'restart', patient);
  const unchecked = {...patient, dns: {...dns, checks: {...dns.checks, steadySeconds: NEVER_SECONDS}}};
  await measure(world, 'restart without DNS checks', unchecked);
} finally {
  await stop();
}

async function measure(world: OperatorWorld, what: string, config: Readonly<Record<string, unknown>>): Promise<void> {
  const before = (await world.audit.writes()).length;
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
  const {folder, kubeconfig} = world;
  const operator = await spawnOperator({
    folder,
    name: what.replaceAll(' ', '-'),
    kubeconfig,
    config: {...config, ...(PROFILE && {diagnostics: {folder: PROFILE, cpuSeconds: PROFILED_SECONDS}})},
    program,
  });
  if (PROFILE) await profileStart(operator, PROFILE);
  const ready = until('the operator is ready', operator.ready, PATIENCE);
  await Promise.race([ready, failOnExit(operator.child, operator.logFile)]);
  const syncedAfter = seconds();
  await until('everything is reconciled', () => hasReconciled(operator, DOMAINS), {...PATIENCE, intervalMs: 1000});
  console.log(`${what}: synced after ${syncedAfter} s, all reconciled after ${seconds()} s, with the start of Node`);
  console.log(
    `  CPU ${(await operator.metric('process_cpu_seconds_total')).toFixed(1)} s, highest RSS ${peakMiB(operator.child.pid)} MiB`,
  );
  await delay(10_000);
  report(`  until then`, (await world.audit.writes()).slice(before));
  const verdicts = await operator.metric('nameplate_dns_verdicts_total');
  await idle(world, operator, MINUTES, `after the ${what}`);
  const checks = (await operator.metric('nameplate_dns_verdicts_total')) - verdicts;
  console.log(
    `  ${(checks / (MINUTES * 60)).toFixed(1)} DNS checks per second, highest RSS ${peakMiB(operator.child.pid)} MiB`,
  );
  if (PROFILE) await writeHeap(operator, PROFILE);
  await operator.stop();
}

/** Written by the operator's own diagnostics, on a signal. */
async function profileStart({child, logFile}: Operator, folder: string): Promise<void> {
  const hears = () => readFileSync(logFile, 'utf8').includes('Diagnostics are enabled');
  await until('the operator handles signals', hears, {intervalMs: 10});
  process.kill(child.pid, 'SIGHUP');
  console.log(`  a CPU profile of its first ${PROFILED_SECONDS} s is in ${folder}`);
}

async function writeHeap({child}: Operator, folder: string): Promise<void> {
  const count = () => readdirSync(folder).filter(name => name.endsWith('.heapsnapshot')).length;
  const before = count();
  process.kill(child.pid, 'SIGUSR2');
  await until('the heap snapshot is complete', () => count() > before, PATIENCE);
}

function peakMiB(pid: number): string {
  const [, kib = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number(kib) / 1024).toFixed(0);
}
