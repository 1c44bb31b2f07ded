import {type ChildProcess, spawn} from 'node:child_process';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {LEASE} from '../../../src/runtime/kube/leader-election.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {PATIENCE_MS, until} from '../../cluster/wait.ts';
import {Audit, type AuditEvent} from '../operator/audit.ts';
import {type FaultProxy, type Seen, startFaultProxy} from './fault-proxy.ts';
import {CONFIG_MAP, configMap, RuntimeWorld} from './runtime-world.ts';

/** Short if a test waits for the lease to expire; long if it must not expire, no matter how busy the machine is. */
const LEASE_MS = 9_000;
const ENDURING_LEASE_MS = 15_000;
/** No wait for a condition outlasts it. */
const LONG_LEASE_MS = 2 * PATIENCE_MS;
const MAX_SILENCE_MS = 120_000;
/** The signal hits the leader at a random point. */
const REPEATED = {repeats: process.env.SOAK ? 49 : 0};

interface Program {
  readonly name: string;
  readonly output: string[];
  signal(signal: NodeJS.Signals): void;
}

let folder: string;
let audit: Audit;
let api: ApiServer;
let proxy: FaultProxy;
let world: RuntimeWorld;
let direct: KubeClient;
let namespace: string;
let children: ChildProcess[];
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-leader-'));
  const prepared = await Audit.prepare(folder, 'admin');
  audit = prepared.audit;
  api = await startApiServer({flags: prepared.flags});
  proxy = await startFaultProxy(api);
});

afterAll(async () => {
  await proxy?.stop();
  await api?.stop();
  await rm(folder, {recursive: true, force: true});
});

beforeEach(async () => {
  world = new RuntimeWorld();
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

interface Manners {
  readonly maxSilenceMs?: number;
  readonly deaf?: boolean;
}

async function start(name: string, leaseMs: number, manners: Manners = {}): Promise<Program> {
  const {maxSilenceMs = MAX_SILENCE_MS, deaf = false} = manners;
  const program = fileURLToPath(new URL('leader-program.ts', import.meta.url));
  const numbers = [leaseMs, maxSilenceMs].map(String);
  const argv = [program, proxy.kubeconfig, namespace, name, ...numbers, ...(deaf ? ['deaf'] : [])];
  const child = spawn(process.execPath, argv, {stdio: ['ignore', 'pipe', 'inherit']});
  children.push(child);
  const output: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => output.push(...text.trim().split('\n')));
  child.once('exit', code => output.push(`exit ${code}`));
  await until(`${name} is ready`, () => output.includes('ready'));
  return {name, output, signal: signal => child.kill(signal)};
}

const isWrite = (seen: Seen): boolean => seen.method === 'PATCH';
const writesOf = (name: string): Seen[] => proxy.seen.filter(seen => isWrite(seen) && seen.userAgent === name);

/** The writes of the test's programs according to the API server, in the order in which it answered them. */
async function writesOnRecord(): Promise<AuditEvent[]> {
  const events = await audit.events();
  const writes = events.filter(({verb, objectRef}) => verb === 'patch' && objectRef?.namespace === namespace);
  return writes.toSorted((a, b) => (a.stageTimestamp < b.stageTimestamp ? -1 : 1));
}

const isBy = ({userAgent}: AuditEvent, name: string) => userAgent === name;
const isStored = ({verb, responseStatus}: AuditEvent) => verb !== 'get' && (responseStatus?.code ?? 500) < 300;

/** Expects that these wrote one after another, and that none began before the previous one's last write had ended. */
async function expectTurns(...writers: string[]): Promise<void> {
  const writes = await writesOnRecord();
  const names = writes.map(({userAgent = ''}) => userAgent);
  expect(names.filter((name, index) => name !== names[index - 1])).toEqual(writers);
  for (const [index, {requestReceivedTimestamp}] of writes.entries()) {
    const before = writes[index - 1];
    if (before && names[index] !== names[index - 1])
      expect(before.stageTimestamp < requestReceivedTimestamp).toBe(true);
  }
}

async function leaderAndStandby(leaseMs = LEASE_MS, manners: Manners = {}): Promise<[Program, Program]> {
  const leader = await start('first', leaseMs, manners);
  await until('the first one writes', () => writesOf('first').length > 10);
  const standby = await start('second', leaseMs);
  await until('the second one has asked for the lease', () =>
    proxy.seen.some(seen => seen.userAgent === 'second' && seen.path.endsWith('/leases/test')),
  );
  return [leader, standby];
}

/** Waits until the second one has been writing for a while. */
async function takeover(): Promise<void> {
  await until('the second one writes', () => writesOf('second').length > 20);
}

test('SIGTERM: the lease is released, and the standby takes over without waiting for it to expire', async () => {
  const [leader] = await leaderAndStandby(LONG_LEASE_MS);
  leader.signal('SIGTERM');
  await takeover();
  await expectTurns('first', 'second');
  await until('the first one has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end shutdown');
  // The standby's cache was warm, so it did not have to list.
  const lists = proxy.seen.filter(seen => seen.userAgent === 'second' && seen.path.endsWith('/configmaps'));
  expect(lists).toHaveLength(1);
});

test('kill -9: the standby takes over when the lease has expired', REPEATED, async () => {
  const [leader] = await leaderAndStandby();
  leader.signal('SIGKILL');
  await takeover();
  await expectTurns('first', 'second');
  const ofLease = ({objectRef}: AuditEvent) => objectRef?.resource === 'leases' && objectRef.namespace === namespace;
  const renewals = (await audit.events()).filter(event => ofLease(event) && isBy(event, 'first') && isStored(event));
  const begun = (await writesOnRecord()).find(event => isBy(event, 'second'))?.requestReceivedTimestamp ?? '';
  const lastRenewal = Math.max(...renewals.map(event => Date.parse(event.requestReceivedTimestamp)));
  expect(Date.parse(begun) - lastRenewal).toBeGreaterThanOrEqual(LEASE_MS - 1); // Date.parse drops the microseconds
});

test('SIGSTOP past the lease: after SIGCONT, the old leader writes nothing more and exits', REPEATED, async () => {
  const [leader] = await leaderAndStandby();
  leader.signal('SIGUSR2'); // it stops itself
  await takeover();
  leader.signal('SIGCONT');
  await until('the old leader has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end lease-lost');
  await expectTurns('first', 'second');
});

test('work that ignores its abort signal writes nothing more once the lease is lost', async () => {
  const [leader] = await leaderAndStandby(LEASE_MS, {deaf: true});
  leader.signal('SIGUSR2'); // it stops itself
  await takeover();
  leader.signal('SIGCONT');
  await until('the old leader has ended', () => leader.output.includes('exit 0'));
  await expectTurns('first', 'second');
});

test('cut off from the API: the leader stops writing before another may begin', async () => {
  const [leader] = await leaderAndStandby();
  proxy.intercept = seen => (seen.userAgent === 'first' ? {kind: 'reset'} : undefined);
  const cutAt = performance.now();
  proxy.disconnect();
  await takeover();
  await until('the old leader has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end lease-lost');
  // It kept trying for a while, as it may. Requests that did not arrive count, too.
  expect(writesOf('first').some(seen => seen.at > cutAt)).toBe(true);
  await expectTurns('first', 'second');
});

/** This many calls can hang at the same time. */
const SHARED_CONNECTIONS = 8;
const isLease = (seen: Seen) => seen.path.endsWith('/leases/test');

/** All requests of the first program hang, except those for its lease. */
function silence(): void {
  proxy.intercept = seen => (seen.userAgent === 'first' && !isLease(seen) ? {kind: 'silence'} : undefined);
}

test('while every other call hangs, the leader keeps its lease', async () => {
  const [leader] = await leaderAndStandby(ENDURING_LEASE_MS);
  silence();
  const renewals = () => proxy.seen.filter(({method, userAgent}) => method === 'PUT' && userAgent === 'first').length;
  const before = renewals();
  const others = () => proxy.seen.filter(seen => seen.userAgent === 'first' && !isLease(seen)).length;
  const sent = others();
  await until('a call hangs on each shared connection', () => others() >= sent + SHARED_CONNECTIONS);
  // The lease is renewed every 2 s, and lost 10 s after the last renewal.
  await until('it has renewed seven times', () => renewals() >= before + 7);
  proxy.intercept = () => undefined;
  const written = writesOf('first').length;
  await until('it writes again', () => writesOf('first').length > written + 20);
  expect(leader.output).toEqual(['ready']);
  await expectTurns('first');
});

test('a leader that gets no response but to its lease gives it up, and the standby takes over', async () => {
  const [leader] = await leaderAndStandby(LEASE_MS, {maxSilenceMs: 6_000});
  silence();
  await takeover();
  await until('the old leader has ended', () => leader.output.includes('exit 0'));
  expect(leader.output).toContain('end failed');
  await expectTurns('first', 'second');
});

test('a deleted Lease: the leader recreates it, and the standby does not treat it as free', async () => {
  await leaderAndStandby(ENDURING_LEASE_MS);
  const before = await direct.get(LEASE, {namespace, name: 'test'});
  await direct.delete(LEASE, {namespace, name: 'test'});
  const lease = await until('it is recreated', () => direct.get(LEASE, {namespace, name: 'test'}));
  expect(lease.spec?.holderIdentity).toBe(before?.spec?.holderIdentity);
  const asked = () => proxy.seen.filter(seen => seen.userAgent === 'second' && seen.path.endsWith('/leases/test'));
  const count = asked().length;
  // This lasts longer than the lease, because the standby requests it every 2 s.
  await until('the standby has asked ten times more', () => asked().length > count + 10);
  await expectTurns('first');
});

test('the Lease says who has led since when', async () => {
  await start('first', LEASE_MS);
  await until('the first one writes', () => writesOf('first').length > 0);
  const lease = await direct.get(LEASE, {namespace, name: 'test'});
  expect(lease?.spec).toMatchObject({
    holderIdentity: expect.stringMatching(/^first_/),
    leaseDurationSeconds: LEASE_MS / 1000,
  });
});
