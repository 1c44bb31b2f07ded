import {spawn} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {existsSync, mkdirSync, openSync, readFileSync, writeFileSync} from 'node:fs';
import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import {run, tail} from '../children.ts';
import {programSets} from '../programs.ts';
import type {CreateOptions, Provider} from '../provider.ts';
import {type StateFolder, ZONES} from '../state.ts';
import {until} from '../wait.ts';
import {makeCgroup, removeCgroup} from './cgroups.ts';
import {containerdSocket, type NodeSpec, readyFile} from './node.ts';
import {ensurePackages} from './packages.ts';

/**
 * Kubernetes without Docker: kubelet, containerd, and the rest run in separate network, mount, and process namespaces.
 * Killing the first process ends everything. Needs root on Linux.
 */
export const namespaces: Provider = {
  name: 'namespaces',
  findParts: async edge => ({programs: programSets(edge), pulled: {}}),
  prepare: log => ensurePackages(log),
  create,
  zones: () => ZONES,
  volumes: state => ['volume-1', 'volume-2'].map(name => join(state.node, name)),
  loadImages,
  enter,
  isRunning: async state => existsSync(processFile(state)) && isSame(firstProcess(state)),
  delete: remove,
};

/**
 * The first process inside, as seen from outside. Its start time distinguishes it from a later process with the same
 * number.
 */
interface FirstProcess {
  readonly pid: number;
  readonly startTime: string;
}

const NODE_PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'kubelet',
  'kubectl',
];

async function create({state, programs, signal}: CreateOptions): Promise<void> {
  mkdirSync(state.logs, {recursive: true});
  for (const volume of namespaces.volumes(state)) mkdirSync(volume, {recursive: true});
  makeCgroup(cgroupName(state));
  const spec: NodeSpec = {
    state,
    programs: Object.fromEntries(NODE_PROGRAMS.map(name => [name, programs.path(name)])),
    token: randomBytes(24).toString('hex'),
    cgroup: `/${cgroupName(state)}`,
  };
  const logFile = join(state.logs, 'node.log');
  const log = openSync(logFile, 'a');
  const flags = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child=KILL'];
  const init = ['tini', '-g', '--', process.execPath, join(import.meta.dirname, 'node.ts'), JSON.stringify(spec)];
  const outer = spawn('unshare', [...flags, ...init], {detached: true, stdio: ['ignore', log, log]});
  outer.unref();
  const ended = new Promise<never>((_, reject) => {
    outer.once('error', reject);
    outer.once('exit', () => reject(new Error(`the node ended:\n${tail(logFile, 30)}`)));
  });
  const child = until('the node has its first process', () => childOf(outer.pid ?? 0), {intervalMs: 10, signal});
  const pid = await Promise.race([child, ended]);
  writeFileSync(processFile(state), JSON.stringify({pid, startTime: startTime(pid)} satisfies FirstProcess));
  const ready = until('the node is Ready', () => existsSync(readyFile(state)), {timeoutMs: 180_000, signal});
  await Promise.race([ready, ended]);
}

/**
 * nsenter stays between caller and command, and forwards no signal. Ctrl-C, which the terminal sends to both, must not
 * end nsenter; and when nsenter ends, the command must end, too. nsenter changes to the root folder; `env` changes
 * back.
 */
function enter(state: StateFolder): readonly string[] {
  const nsenter = ['nsenter', `--target=${firstProcess(state).pid}`, '--net', '--mount', '--pid', '--'];
  const command = ['setpriv', '--pdeathsig', 'TERM', '--', 'env', '--default-signal=INT', `--chdir=${process.cwd()}`];
  return ['env', '--ignore-signal=INT', ...nsenter, ...command];
}

async function loadImages(state: StateFolder, archives: readonly string[]): Promise<void> {
  const ctr = [...namespaces.enter(state), 'ctr', '-a', containerdSocket(state), '-n', 'k8s.io'];
  const queue = [...archives];
  const importAll = async () => {
    for (let archive = queue.shift(); archive; archive = queue.shift())
      await run([...ctr, 'images', 'import', archive]);
  };
  await Promise.all([importAll(), importAll(), importAll()]);
}

async function remove(state: StateFolder): Promise<void> {
  if (existsSync(processFile(state))) {
    const first = firstProcess(state);
    if (isSame(first)) process.kill(first.pid, 'SIGKILL');
    await until('the node is gone', () => !isSame(first), {intervalMs: 20});
  }
  await removeCgroup(cgroupName(state));
  await rm(state.root, {recursive: true, force: true});
}

function cgroupName(state: StateFolder): string {
  return `nameplate-${state.name}`;
}

function processFile(state: StateFolder): string {
  return join(state.root, 'process.json');
}

function firstProcess(state: StateFolder): FirstProcess {
  return JSON.parse(readFileSync(processFile(state), 'utf8')) as FirstProcess;
}

function isSame({pid, startTime: then}: FirstProcess): boolean {
  return then !== '' && startTime(pid) === then;
}

/** Field 22 of /proc/PID/stat (proc_pid_stat(5)), or '' when there is no such process or it is a zombie. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}
