/** What both programs do on the signals for a heap snapshot and a CPU profile. */
import {mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, expect, test} from 'vitest';
import {type Child, startChild} from '../cluster/children.ts';
import {until} from '../cluster/wait.ts';
import {readJsonLines} from '../support/json-lines.ts';

const BIN = join(import.meta.dirname, '../../src/bin');
const root = await mkdtemp(join(tmpdir(), 'nameplate-diagnostics-'));
const children: Child[] = [];

afterEach(async () => {
  await Promise.all(children.splice(0).map(child => child.stop()));
});
afterAll(() => rm(root, {recursive: true}));

interface Program {
  readonly folder: string;
  readonly logFile: string;
  readonly child: Child;
  /** Sends the signal, waits for `count` lines of the log with `message` in total, and returns the last one. */
  signal(name: NodeJS.Signals, message: string, count?: number): Promise<Record<string, unknown>>;
}

const WROTE = 'Wrote a heap snapshot or CPU profile.';
const FAILED = 'Could not write a heap snapshot or CPU profile.';
const ENABLED = 'Diagnostics are enabled: send SIGUSR2 for a heap snapshot, SIGHUP for a CPU profile.';

/**
 * Starts a program without a cluster, so the operator waits for the API server. `mount` gives only this program another
 * volume.
 */
async function start(program: string, cpuSeconds = 1, mount = ''): Promise<Program> {
  const own = await mkdtemp(join(root, `${program}-`));
  const [folder, keyFile, kubeconfig, configFile, logFile] = ['written', 'key', 'kubeconfig', 'config', 'log'].map(
    name => join(own, name),
  ) as [string, string, string, string, string];
  await mkdir(folder);
  await writeFile(keyFile, program === 'operator' ? Buffer.alloc(32) : JSON.stringify({keys: []}));
  const cluster = {name: 'none', cluster: {server: 'https://127.0.0.1:1'}};
  const context = {name: 'none', context: {cluster: 'none', user: 'none'}};
  const users = [{name: 'none', user: {token: 'none'}}];
  await writeFile(
    kubeconfig,
    JSON.stringify({clusters: [cluster], contexts: [context], users, 'current-context': 'none'}),
  );
  const ofOperator = {
    platform: {baseDomain: 'apps.example.net', targetDomain: 'edge.example.net', keyFile},
    certificates: {issuerRef: {name: 'letsencrypt'}},
  };
  const ofMessages = {keys: {file: keyFile}, store: {folder: own, reserveBytes: 0}, operations: {port: 0}};
  const config = {
    ...(program === 'operator' ? ofOperator : ofMessages),
    server: {port: 0},
    diagnostics: {folder, cpuSeconds},
  };
  await writeFile(configFile, JSON.stringify(config));
  const argv = [process.execPath, join(BIN, `${program}.ts`), '--config', configFile, '--kubeconfig', kubeconfig];
  const unshare = ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])];
  const wrapper = mount === '' ? [] : [...unshare, 'sh', '-ec', `${mount} "$0"; exec "$@"`, folder];
  const child = startChild(program, [...wrapper, ...argv], {log: logFile});
  children.push(child);
  const logged = (message: string, count = 1) =>
    until(message, async () => (await readJsonLines(logFile)).filter(line => line.message === message)[count - 1]);
  await logged(ENABLED);
  const signal = (name: NodeJS.Signals, message: string, count?: number) => {
    process.kill(child.pid, name);
    return logged(message, count);
  };
  return {folder, logFile, child, signal};
}

// attack: diagnostics
test.each(['operator', 'messages'])('%s writes both, for its own user only', async program => {
  const {folder, signal} = await start(program);
  const snapshot = String((await signal('SIGUSR2', WROTE)).path);
  expect(snapshot).toMatch(/\/written\/[^/]+\.heapsnapshot$/);
  expect(JSON.parse(await readFile(snapshot, 'utf8'))).toMatchObject({snapshot: {node_count: expect.any(Number)}});
  const profile = String((await signal('SIGHUP', WROTE, 2)).path);
  expect(profile).toMatch(/\/written\/[^/]+\.cpuprofile$/);
  const {nodes, startTime, endTime} = JSON.parse(await readFile(profile, 'utf8'));
  expect(nodes.length).toBeGreaterThan(1);
  expect(endTime - startTime).toBeGreaterThan(900_000); // microseconds
  expect((await readdir(folder)).map(name => join(folder, name)).sort()).toEqual([snapshot, profile].sort());
  for (const path of [snapshot, profile]) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('while one is in progress, further signals are ignored, and a shutdown does not wait for it', async () => {
  const {folder, logFile, child, signal} = await start('messages', 300);
  process.kill(child.pid, 'SIGHUP');
  await until('it began', async () => (await readdir(folder)).some(name => name.endsWith('.cpuprofile.partial')));
  const ignored = await signal('SIGUSR2', 'A heap snapshot or CPU profile is in progress; ignoring the signal.');
  expect(ignored).toMatchObject({extension: 'heapsnapshot'});
  await until('it is ready', async () => (await readJsonLines(logFile)).some(({message}) => message === 'Ready.'));
  process.kill(child.pid, 'SIGTERM');
  expect(await child.exited).toBe(0);
  expect(await readdir(folder)).toHaveLength(1);
});

// attack: diagnostics
test('the newest four files are kept, and files of others', async () => {
  const {folder, signal} = await start('messages');
  const old = (day: number, extension: string) => `2026-01-0${day}T00-00-00.000Z.${extension}`;
  const older = [old(1, 'cpuprofile.partial'), old(2, 'heapsnapshot'), old(3, 'heapsnapshot'), old(4, 'cpuprofile')];
  for (const name of [...older, old(5, 'heapsnapshot'), 'notes.txt']) await writeFile(join(folder, name), '');
  const {path} = await signal('SIGUSR2', WROTE);
  const kept = [...older.slice(2), old(5, 'heapsnapshot'), 'notes.txt'].map(name => join(folder, name));
  expect((await readdir(folder)).map(name => join(folder, name)).sort()).toEqual([...kept, path].sort());
});

test('a missing folder is logged, and the next signal tries again', async () => {
  const {folder, signal} = await start('messages');
  await rm(folder, {recursive: true});
  expect(await signal('SIGUSR2', FAILED)).toMatchObject({level: 'error', err: {code: 'ENOENT'}});
  expect(await signal('SIGHUP', FAILED, 2)).toMatchObject({level: 'error', err: {code: 'ENOENT'}});
  await mkdir(folder);
  await signal('SIGUSR2', WROTE);
});

test('a full volume is logged, and what was written is removed', async () => {
  const {folder, child, signal} = await start('messages', 1, 'mount -t tmpfs -o size=1m none');
  expect(await signal('SIGUSR2', FAILED)).toMatchObject({level: 'error', err: {code: 'ENOSPC'}});
  expect(await readdir(`/proc/${child.pid}/root${folder}`)).toEqual([]);
  await signal('SIGHUP', WROTE); // a small one
});
