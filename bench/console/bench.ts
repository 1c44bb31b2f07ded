/**
 * What open pages of the console cost: 200 of them by default, of 40 users, on a real API server with an identity
 * provider, first with nothing to show, then with a change each second, and then closed.
 *
 *     node bench/console/bench.ts [PAGES]
 *
 * Prints the console's CPU time as a part of one core, its memory, and the calls to the API server per user and minute;
 * and how long it takes to answer with the page of a Project in a namespace of 1,000 Domains.
 */
import {readFileSync} from 'node:fs';
import {setTimeout as delay} from 'node:timers/promises';
import {Agent, request} from 'undici';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {until} from '../../test/cluster/wait.ts';
import {type ConsoleWorld, startConsoleWorld, USERS} from '../../test/integration/console/console-world.ts';
import {live, newProject, report, unverified} from '../../test/integration/console/objects.ts';
import {createTestClient} from '../../test/support/kube.ts';
import {median, quantile} from '../statistics.ts';

const PAGES = Number(process.argv[2] ?? 200);
const PER_USER = 5;
const DOMAINS = 1000;
const PER_PROJECT = 100;
const MINUTES = 2;
const LOADS = 30;
const USER_NAMES = Array.from({length: Math.ceil(PAGES / PER_USER)}, (_, index) => `user-${index}`);

const users = Object.fromEntries(USER_NAMES.map(name => [name, {groups: ['acme-owners'], namespaces: ['acme']}]));
const world = await startConsoleWorld({...USERS, ...users});
world.idTokenSeconds = 7200;
const admin = createTestClient(world.api.kubeconfig);
const agent = new Agent({connect: {ca: world.ca}});
try {
  await bench(world, admin);
} finally {
  await agent.destroy();
  await admin.close();
  await world.stop();
}

async function bench(console_: ConsoleWorld, client: KubeClient): Promise<void> {
  const paths = await fill(client);
  const cookies = await Promise.all(USER_NAMES.map(name => signIn(console_, name, paths[0] ?? '/')));
  await reportLoads(console_, cookies[0] ?? '', paths);
  const open = new AbortController();
  let streams = 0;
  for (let page = 0; page < PAGES; page++) {
    const cookie = cookies[Math.floor(page / PER_USER)] ?? '';
    const path = paths[page % paths.length] ?? '';
    const {body} = await get(console_, cookie, path);
    const events = / data-live="([^"]+)"/.exec(await body.text())?.[1] ?? '';
    const stream = await get(console_, cookie, events, open.signal);
    if (stream.statusCode === 200) streams += 1;
    stream.body.on('error', () => {}).resume();
  }
  console.log(`${streams} open pages of ${cookies.length} users`);
  await reportMinutes(console_, 'no changes', async () => await delay(MINUTES * 60_000));
  await reportMinutes(console_, 'a change per second', async () => {
    const end = performance.now() + MINUTES * 60_000;
    for (let index = 0; performance.now() < end; index++) {
      const host = hostOf(index % PER_PROJECT);
      await report(client, 'project-0', host, index % (2 * PER_PROJECT) < PER_PROJECT ? live(host) : unverified(host));
      await delay(1000);
    }
  });
  open.abort();
  await delay(5000);
  await reportMinutes(console_, 'all pages hidden', async () => await delay(MINUTES * 60_000));
}

function hostOf(index: number): string {
  return `h${index}.example.com`;
}

/** Returns the paths of the Projects. */
async function fill(client: KubeClient): Promise<readonly string[]> {
  const projects = Array.from({length: DOMAINS / PER_PROJECT}, (_, index) => `project-${index}`);
  const paths: string[] = [];
  for (const [number, name] of projects.entries()) {
    const hosts = Array.from({length: PER_PROJECT}, (_, index) => hostOf(number * PER_PROJECT + index));
    const [primary = '', ...aliases] = hosts;
    paths.push(await newProject(client, name, {domains: {primary, aliases}}));
    await Promise.all(hosts.map(host => report(client, name, host, unverified(host))));
  }
  return paths;
}

async function signIn(console_: ConsoleWorld, name: string, path: string): Promise<string> {
  const visitor = console_.visitor();
  await visitor.signIn(name, path);
  return `__Host-nameplate-console=${visitor.session}`;
}

function get(console_: ConsoleWorld, cookie: string, path: string, signal?: AbortSignal) {
  const accept = path.includes('/events?') ? 'text/event-stream' : 'text/html';
  const headers = {cookie, accept};
  return request(`${console_.url}${path}`, {dispatcher: agent, headers, ...(signal && {signal})});
}

async function reportLoads(console_: ConsoleWorld, cookie: string, paths: readonly string[]): Promise<void> {
  const times: number[] = [];
  const cpuBefore = cpuMs(console_.consolePid);
  for (let index = 0; index < LOADS; index++) {
    const startedAt = performance.now();
    const {body} = await get(console_, cookie, paths[index % paths.length] ?? '');
    await body.dump();
    times.push(performance.now() - startedAt);
  }
  const cpu = (cpuMs(console_.consolePid) - cpuBefore) / LOADS;
  console.log(
    `a page of ${PER_PROJECT} hosts, ${DOMAINS} in the namespace: median ${median(times).toFixed(0)} ms, 90th percentile ${quantile(times, 0.9).toFixed(0)} ms, ${cpu.toFixed(0)} ms of CPU`,
  );
}

async function reportMinutes(console_: ConsoleWorld, what: string, work: () => Promise<void>): Promise<void> {
  const [cpuBefore, callsBefore, startedAt] = [cpuMs(console_.consolePid), await calls(console_), performance.now()];
  await work();
  const minutes = (performance.now() - startedAt) / 60_000;
  const cpu = (cpuMs(console_.consolePid) - cpuBefore) / (minutes * 60_000);
  const perUser = ((await calls(console_)) - callsBefore) / minutes / USER_NAMES.length;
  const status = readFileSync(`/proc/${console_.consolePid}/status`, 'utf8');
  const mib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  console.log(
    `${what}: ${(100 * cpu).toFixed(1)} % of a core, ${mib.toFixed(0)} MiB, ${perUser.toFixed(2)} calls per user and minute`,
  );
}

/** Of its user and system time, in ticks of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function calls(console_: ConsoleWorld): Promise<number> {
  const text = await until('the metrics', async () => await (await fetch(console_.metricsUrl)).text());
  const lines = text.matchAll(/^rest_client_requests_total\{[^}]*\} (\d+)/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}
