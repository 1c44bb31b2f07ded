/** The Docker engine that kind runs in: one that already answers, or our own from Debian packages. */
import {spawn} from 'node:child_process';
import {existsSync, openSync, readFileSync, writeFileSync} from 'node:fs';
import {chmod, mkdir, readdir, rm, rmdir} from 'node:fs/promises';
import {delimiter, join} from 'node:path';
import {librariesIn, unpackedPackages} from '../../support/debian-packages.ts';
import {cacheRoot} from '../cache.ts';
import {run, tail, which} from '../children.ts';
import {withLock} from '../lock.ts';
import {until} from '../wait.ts';
import {makeCgroup, removeCgroup} from './cgroups.ts';

type Log = (line: string) => void;

/** Images stay here after our engine has ended. */
const FOLDER = join(cacheRoot(), 'docker');
const SOCKET = join(FOLDER, 'docker.sock');
const PID = join(FOLDER, 'docker.pid');
const CGROUP = 'nameplate-docker';
/** The bit of CAP_SYS_RESOURCE in a set of capabilities. */
const SYS_RESOURCE = 24n;
const LABEL = 'label=io.x-k8s.kind.cluster';

/** Runs Docker's client on the engine of the clusters. */
export async function docker(...args: readonly string[]): Promise<string> {
  return run(['docker', ...args], {env: await engineEnvironment()});
}

/** The environment for programs that talk to the engine. */
export async function engineEnvironment(): Promise<NodeJS.ProcessEnv> {
  return isOwn() ? {...(await ownEnvironment(() => {})), DOCKER_HOST: `unix://${SOCKET}`} : process.env;
}

/** Whether the engine is one that we started. */
export function isOwn(): boolean {
  return existsSync(SOCKET);
}

/** Whether an engine answers: that of the clusters, or the one that `env` points to. */
export async function answers(env?: NodeJS.ProcessEnv): Promise<boolean> {
  const version = ['docker', 'version', '--format', '{{.Server.Version}}'];
  return run(version, {env: env ?? (await engineEnvironment())}).then(
    () => true,
    () => false,
  );
}

/** While a cluster is created or removed, no other process starts or ends the engine. */
export async function withEngine<T>(body: () => Promise<T>): Promise<T> {
  await mkdir(FOLDER, {recursive: true});
  return withLock(`${FOLDER}.lock`, body);
}

/** The IDs of kind's nodes: of one cluster, or of all. */
export async function nodesOf(cluster?: string): Promise<string[]> {
  const filter = cluster ? `${LABEL}=${cluster}` : LABEL;
  return (await docker('ps', '--all', '--quiet', '--filter', filter)).split('\n').filter(Boolean);
}

/** Debian's Docker and mmdebstrap, unpacked into the cache, because installing them would start a service. */
export async function ownEnvironment(log: Log): Promise<NodeJS.ProcessEnv> {
  const [apt, dpkg] = [which('apt-get'), which('dpkg')];
  if (!apt || !dpkg) {
    throw new Error(
      'no Docker engine answers, and there is no apt-get to fetch one: https://docs.docker.com/engine/install',
    );
  }
  const packages = async () => ['docker.io', 'mmdebstrap'];
  const what = 'a Docker engine';
  const folder = await unpackedPackages({cache: cacheRoot(), name: 'docker-engine', packages, what, apt, dpkg, log});
  const bins = ['usr/bin', 'usr/sbin', 'sbin'].map(bin => join(folder, bin));
  const PATH = [...bins, process.env.PATH, '/usr/sbin', '/sbin'].join(delimiter);
  return {...process.env, PATH, LD_LIBRARY_PATH: await librariesIn(folder)};
}

/** Starts an engine if none answers. Its bridges, rules, and published ports are in a separate network namespace. */
export async function ensureEngine(log: Log): Promise<void> {
  if (await answers()) return;
  await rm(SOCKET, {force: true});
  if (await answers()) return;
  const env = await ownEnvironment(log);
  log(`[cluster] starting a Docker engine (${FOLDER})`);
  makeCgroup(CGROUP);
  const flags = [
    `--data-root=${join(FOLDER, 'data')}`,
    '--exec-root=/run/docker',
    `--host=unix://${SOCKET}`,
    `--cgroup-parent=/${CGROUP}`,
    '--oom-score-adjust=0',
    ...(await runtimeFlags()),
  ];
  const logFile = join(FOLDER, 'log');
  const output = openSync(logFile, 'w');
  // A separate /run keeps it away from the sockets of another containerd.
  const script = 'ip link set lo up && mount -t tmpfs tmpfs /run && exec dockerd "$@"';
  const argv = ['--net', '--mount', 'sh', '-c', script, 'dockerd', ...flags];
  const child = spawn('unshare', argv, {detached: true, stdio: ['ignore', output, output], env});
  child.unref();
  writeFileSync(PID, String(child.pid));
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`the Docker engine ended:\n${tail(logFile)}`)));
  });
  await Promise.race([until('the Docker engine answers', () => answers()), ended]);
}

/** Ends our engine if it has no node left. */
export async function endIdleEngine(): Promise<void> {
  if (!isOwn() || (await nodesOf()).length > 0) return;
  const pid = Number(readFileSync(PID, 'utf8'));
  process.kill(pid, 'SIGTERM');
  await until('the Docker engine is gone', () => !existsSync(`/proc/${pid}`));
  for (const file of [SOCKET, PID]) await rm(file, {force: true});
  await removeCgroup(CGROUP);
  await removeIfEmpty('/lib/modules');
}

/** Docker creates this folder, which kind mounts, if a machine has none. */
async function removeIfEmpty(folder: string): Promise<void> {
  const content = await readdir(folder).catch(() => ['']);
  if (content.length === 0) await rmdir(folder);
}

/** `docker run --privileged` requests every capability from runc, which fails on one that this machine lacks. */
async function runtimeFlags(): Promise<string[]> {
  if (hasSysResource()) return [];
  const runtime = join(FOLDER, 'runc');
  const filter = join(import.meta.dirname, 'capabilities.ts');
  writeFileSync(runtime, `#!/bin/sh\n"${process.execPath}" "${filter}" "$@" && exec runc "$@"\n`);
  await chmod(runtime, 0o755);
  return [`--add-runtime=filtered=${runtime}`, '--default-runtime=filtered'];
}

export function hasSysResource(): boolean {
  const [, bounding = '0'] = /^CapBnd:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${bounding}`) >> SYS_RESOURCE) & 1n) === 1n;
}
