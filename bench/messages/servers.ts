/** Starts the servers under comparison and measures them with wrk. */
import {type ChildProcess, execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Kind} from './kinds.ts';

const CLOCK_TICKS = 100; // of /proc/PID/stat, on every current Linux
const run = promisify(execFile);

export interface Server {
  readonly process: ChildProcess;
  readonly port: number;
}

export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
}

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  /** How many accounts take turns sending. */
  readonly accounts?: number;
}

/** `where`: the folder of a database, or the file with its URI. */
export async function startServer(kind: Kind, where: string): Promise<Server> {
  const process_ = spawn(process.execPath, [join(import.meta.dirname, 'server.ts'), kind, where], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await Promise.race([
    once(process_.stdout, 'data'),
    once(process_, 'exit').then(() => Promise.reject(new Error(`the server '${kind}' does not start`))),
  ]);
  return {process: process_, port: Number(line)};
}

/**
 * User and system time in microseconds of all threads of these processes and of their children that have exited. A
 * process that has exited counts as 0.
 */
export function cpuMicros(...pids: readonly number[]): number {
  const ticks = pids.map(pid => {
    const stat = statOf(pid);
    if (stat === undefined) return 0;
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  });
  return (ticks.reduce((sum, each) => sum + each, 0) / CLOCK_TICKS) * 1e6;
}

function statOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    const {code = ''} = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined; // It has exited.
    throw error;
  }
}

/** Rejects if a request fails. */
export async function measure(server: Server, {connections, seconds, accounts = 1}: Load): Promise<Sample> {
  const used = () => cpuMicros(server.process.pid ?? 0);
  const before = used();
  const script = join(import.meta.dirname, 'post.lua');
  const options = ['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`, '--latency'];
  const {stdout} = await run('wrk', [...options, '--script', script, `http://127.0.0.1:${server.port}/messages`], {
    env: {...process.env, ACCOUNTS: String(accounts)},
  });
  const failures = /Non-2xx.*|Socket errors.*/.exec(stdout);
  if (failures) throw new Error(failures[0]);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  return {
    perSecond: Number(/Requests\/sec: +([\d.]+)/.exec(stdout)?.[1]),
    p50Ms: milliseconds(/ 50% +(\S+)/.exec(stdout)?.[1]),
    p99Ms: milliseconds(/ 99% +(\S+)/.exec(stdout)?.[1]),
    cpuMicros: (used() - before) / requests,
  };
}

/**
 * Measures all servers at the same time, each with an equal share of the connections. The latency is that of the
 * slowest.
 */
export async function measureTogether(servers: readonly Server[], load: Load): Promise<Sample> {
  const [even, rest] = [Math.floor(load.connections / servers.length), load.connections % servers.length];
  const samples = await Promise.all(
    servers.map((server, index) => measure(server, {...load, connections: even + (index < rest ? 1 : 0)})),
  );
  const perSecond = samples.reduce((sum, sample) => sum + sample.perSecond, 0);
  const cpu = samples.reduce((sum, sample) => sum + sample.cpuMicros * sample.perSecond, 0);
  return {
    perSecond,
    p50Ms: Math.max(...samples.map(({p50Ms}) => p50Ms)),
    p99Ms: Math.max(...samples.map(({p99Ms}) => p99Ms)),
    cpuMicros: cpu / perSecond,
  };
}

function milliseconds(text = ''): number {
  const [, number, unit = ''] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? [];
  return Number(number) * ({us: 0.001, ms: 1, s: 1000}[unit] ?? Number.NaN);
}
