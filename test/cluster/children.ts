import {type ChildProcess, spawn} from 'node:child_process';
import {existsSync, openSync, readFileSync} from 'node:fs';
import {delimiter, join} from 'node:path';

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves, with the exit code or the name of the signal, when the process is gone. */
  readonly exited: Promise<number | string>;
  /** SIGTERM, then SIGKILL after 30 seconds, as the kubelet does by default. */
  stop(): Promise<void>;
  /** Immediate SIGKILL. */
  kill(): Promise<void>;
}

export interface ChildOptions {
  /** File that takes stdout and stderr. */
  log: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a daemon that dies with this process: on Linux, the kernel ends it; elsewhere, an exit handler does. */
export function startChild(name: string, argv: readonly string[], options: ChildOptions): Child {
  const log = openSync(options.log, 'a');
  const [command = '', ...args] = [...dieWithParent(), ...argv];
  const child = spawn(command, args, {
    stdio: ['ignore', log, log],
    env: options.env ?? process.env,
    cwd: options.cwd,
  });
  running.add(child);
  const exited = new Promise<number | string>((resolve, reject) => {
    child.once('error', cause => reject(new Error(`cannot start ${name}`, {cause})));
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal ?? 'unknown');
    });
  });
  exited.catch(() => running.delete(child));
  const end = async (signal: NodeJS.Signals) => {
    if (!running.has(child)) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
    await exited.finally(() => clearTimeout(timer));
  };
  return {name, pid: child.pid ?? 0, exited, stop: () => end('SIGTERM'), kill: () => end('SIGKILL')};
}

/** Rejects with the end of the log as soon as the child ends, to race against a readiness probe. */
export async function failOnExit(child: Child, log: string): Promise<never> {
  const code = await child.exited;
  throw new Error(`${child.name} ended (${code}):\n${tail(log)}`);
}

export function tail(file: string, lines = 15): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n') : '';
}

export interface RunOptions {
  input?: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  signal?: AbortSignal | undefined;
}

/** Runs a command to its end and returns its stdout; a failure carries the command line and its stderr. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: options.env ?? process.env,
    cwd: options.cwd,
    signal: options.signal,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', chunk => out.push(chunk));
  child.stderr.on('data', chunk => err.push(chunk));
  child.stdin.on('error', () => {}); // it may end without reading its input; its exit code says how it went
  child.stdin.end(options.input ?? '');
  const code = await new Promise<number | string>((resolve, reject) => {
    child.once('error', cause => reject(new Error(`cannot run ${argv.join(' ')}`, {cause})));
    child.once('close', (exit, signal) => resolve(exit ?? signal ?? 'unknown'));
  });
  if (code === 0) return Buffer.concat(out).toString();
  const said = Buffer.concat(err).toString().trim() || Buffer.concat(out).toString().trim();
  throw new Error(`${argv.join(' ')} ended (${code}): ${said}`);
}

/** The path of a program on PATH. */
export function which(program: string, path = process.env.PATH ?? ''): string | undefined {
  const folders = [...path.split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map(folder => join(folder, program)).find(existsSync);
}

function dieWithParent(): string[] {
  const setpriv = process.platform === 'linux' ? which('setpriv') : undefined;
  return setpriv ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];
}
