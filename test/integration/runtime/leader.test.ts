import {type ChildProcess, spawn} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {LEASE} from '../../../src/runtime/kube/leader-election.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {until} from '../../cluster/wait.ts';
import {type FaultProxy, type Seen, startFaultProxy} from './fault-proxy.ts';
import {CONFIG_MAP, configMap, World} from './world.ts';

/** Short, where a test waits for it to expire; long, where it must not. */
const LEASE_MS = 3_000;
const LONG_LEASE_MS = 30_000;
/** What a busy machine may take for the rest. */
const SLACK_MS = 5_000;

interface Program {
  readonly name: string;
  readonly output: string[];
  signal(signal: NodeJS.Signals): void;
}

let api: ApiServer;
let proxy: FaultProxy;
let world: World;
let direct: KubeClient;
let namespace: string;
let children: ChildProcess[];
let count = 0;

beforeAll(async () => {
  api = await startApiServer();
  proxy = await startFaultProxy(api);
});

afterAll(async () => {
  await proxy?.stop();
  await api?.stop();
});

beforeEach(async () => {
  world = new World();
  children = [];
  direct = world.client(api.kubeconfig);
  namespace = await world.namespace(direct, `leader-${++count}`);
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  proxy.intercept = () => undefined;
  proxy.seen.length = 0;
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await world.end();
});

async function start(name: string, leaseMs: number): Promise<Program> {
  const program = fileURLToPath(new URL('leader-program.ts', import.meta.url));
  const child = spawn(process.execPath, [program, proxy.kubeconfig, namespace, name, `${leaseMs}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const output: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.push(...text.trim().split('\n')));
  child.once('exit', code => output.push(`exit ${code}`));
  await until(`${name} is ready`, () => output.includes('ready'));
  return {name, output, signal: signal => child.kill(signal)};
}

const isWrite = (seen: Seen): boolean => seen.method === 'PATCH';
const writesOf = (name: string): Seen[] => proxy.seen.filter(seen => isWrite(seen) && seen.userAgent === name);

/** Whose turn it was, in the order of the writes that reached the API: ["first", "second"]. */
function turns(): string[] {
  const writers = proxy.seen.filter(isWrite).map(seen => seen.userAgent);
  return writers.filter((writer, index) => writer !== writers[index - 1]);
}

async function leaderAndStandby(leaseMs = LEASE_MS): Promise<[Program, Program]> {
  const leader = await start('first', leaseMs);
  await until('the first one writes', () => writesOf('first').length > 10);
  const standby = await start('second', leaseMs);
  await until('the second one has asked for the lease', () =>
    proxy.seen.some(seen => seen.userAgent === 'second' && seen.path.endsWith('/leases/test')),
  );
  return [leader, standby];
}

/** Waits until the second one writes, and goes on for a while; tells how long it took from `since`. */
async function takeover(since: number): Promise<number> {
  await until('the second one writes', () => writesOf('second').length > 20);
  return (writesOf('second')[0]?.at ?? 0) - since;
}

test('SIGTERM: the lease is released, and the standby takes over without waiting for it to expire', async () => {
  const [leader] = await leaderAndStandby(LONG_LEASE_MS);
  const since = performance.now();
  leader.signal('SIGTERM');
  expect(await takeover(since)).toBeLessThan(LONG_LEASE_MS / 2);
  expect(turns()).toEqual(['first', 'second']);
  await until('the first one has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end shutdown');
  // The standby's cache was warm: it did not have to list.
  const lists = proxy.seen.filter(seen => seen.userAgent === 'second' && seen.path.endsWith('/configmaps'));
  expect(lists).toHaveLength(1);
});

test('kill -9: the standby takes over when the lease has expired', async () => {
  const [leader] = await leaderAndStandby();
  const since = performance.now();
  leader.signal('SIGKILL');
  const took = await takeover(since);
  expect(took).toBeGreaterThan(LEASE_MS - 1_000);
  expect(took).toBeLessThan(LEASE_MS + SLACK_MS);
  expect(turns()).toEqual(['first', 'second']);
});

test('SIGSTOP past the lease: woken up, the old leader writes nothing more and ends', async () => {
  const [leader] = await leaderAndStandby();
  const since = performance.now();
  leader.signal('SIGSTOP');
  await takeover(since);
  leader.signal('SIGCONT');
  await until('the old leader has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end lease-lost');
  expect(turns()).toEqual(['first', 'second']);
});

test('cut off from the API: the leader stops writing before another may begin', async () => {
  const [leader] = await leaderAndStandby();
  proxy.intercept = seen => (seen.userAgent === 'first' ? {kind: 'reset'} : undefined);
  const cutAt = performance.now();
  proxy.disconnect();
  await takeover(cutAt);
  await until('the old leader has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end lease-lost');
  // It went on trying for a while, as it may; what did not arrive counts too.
  expect(writesOf('first').some(seen => seen.at > cutAt)).toBe(true);
  expect(turns()).toEqual(['first', 'second']);
});

test('the lease tells who leads since when', async () => {
  await start('first', LEASE_MS);
  await until('the first one writes', () => writesOf('first').length > 0);
  const lease = await direct.get(LEASE, {namespace, name: 'test'});
  expect(lease?.spec).toMatchObject({holderIdentity: expect.stringMatching(/^first_/), leaseDurationSeconds: 3});
});
