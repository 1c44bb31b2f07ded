/** The messages API as users run it: a separate process with a configuration file and a folder for the store. */
import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {digestOf} from '../../../src/apikey/format.ts';
import {type Child, failOnExit, startChild} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {readJsonLines} from '../../support/json-lines.ts';

export const PROGRAM = join(import.meta.dirname, '../../../src/bin/messages.ts');
const ACCOUNTS = 400;
const SCOPES = ['messages:write', 'messages:read', 'messages:process'] as const;

/** Keys of one account. */
export interface Account {
  readonly name: string;
  readonly key: string;
  readonly writeKey: string;
  readonly readKey: string;
  readonly processKey: string;
}

export interface ServiceOptions {
  /** Sections that override the test's configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The store's folder; by default, a temporary one. */
  readonly folder?: string;
  /** A command that runs the program, such as strace. */
  readonly wrapper?: readonly string[];
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The store's folder. */
  readonly folder: string;
  readonly configFile: string;
  readonly logFile: string;
  readonly exited: Child['exited'];
  /** An account that no test has used. */
  account(): Account;
  /** URL of the operations server. */
  readonly operationsAddress: string;
  /** Status and body of a path of the operations server. */
  operations(path: string): Promise<{readonly status: number; readonly body: string}>;
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

const ROOMY = {requestsPerSecond: 1_000_000, bytesPerSecond: 16 * 1024 ** 3, answerBytesPerSecond: 16 * 1024 ** 3};
const ROOMY_STRANGERS = {requestsPerSecond: 1_000_000, addressRequestsPerSecond: 1_000_000};
let started = 0;
let accountsUsed = 0;
const temporary: string[] = [];

/** Removes the folders that were created. */
export async function removeFolders(): Promise<void> {
  await Promise.all(temporary.splice(0).map(folder => rm(folder, {recursive: true, force: true})));
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-messages-'));
  temporary.push(folder);
  return folder;
}

/** Starts the service and waits until it answers. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const {folder = join(await temporaryFolder(), 'store'), config = {}, wrapper = []} = options;
  await mkdir(folder, {recursive: true});
  const aside = await temporaryFolder();
  const configFile = join(aside, 'config.json');
  const keyFile = join(aside, 'keys.json');
  await writeFile(keyFile, JSON.stringify({keys: Array.from({length: ACCOUNTS}, (_, n) => entriesOf(n)).flat()}));
  await writeFile(configFile, JSON.stringify(merged(keyFile, folder, config)));
  const name = `messages-${++started}`;
  const logFile = join(aside, 'log');
  const argv = [...wrapper, process.execPath, PROGRAM, '--config', configFile];
  const child = startChild(name, argv, {log: logFile});
  const ready = until(`${name} is ready`, () => portsOf(logFile), {intervalMs: 20, timeoutMs: 100_000});
  const {pid, port, operationsPort} = (await Promise.race([ready, failOnExit(child, logFile)])) as Ports;
  const operationsAddress = `http://127.0.0.1:${operationsPort}`;
  return {
    url: `http://127.0.0.1:${port}`,
    operationsAddress,
    port,
    pid,
    folder,
    configFile,
    logFile,
    exited: child.exited,
    account: () => accountOf(accountsUsed++),
    operations: async path => {
      const response = await fetch(`${operationsAddress}${path}`);
      return {status: response.status, body: await response.text()};
    },
    stop: () => end(child, pid),
    kill: child.kill,
  };
}

/** Signals the program itself, not a wrapper, which might exit without it. */
async function end(child: Child, pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has already ended
  }
  await child.exited;
}

function merged(keyFile: string, folder: string, config: Readonly<Record<string, unknown>>) {
  const {limits, server, store, ...rest} = config as Record<string, Record<string, unknown>>;
  return {
    ...rest,
    keys: {file: keyFile},
    server: {port: 0, ...server},
    operations: {port: 0},
    store: {folder, reserveBytes: 0, ...store},
    limits: {strangers: ROOMY_STRANGERS, ...limits, account: {...ROOMY, ...(limits?.account as object)}},
    log: {level: 'debug'},
  };
}

export function accountOf(index: number): Account {
  const name = `account-${index}`;
  const key = (kind: string) => `key-of.${name}.${kind}`;
  return {name, key: key('all'), writeKey: key('write'), readKey: key('read'), processKey: key('process')};
}

function entriesOf(index: number) {
  const {name, key, writeKey, readKey, processKey} = accountOf(index);
  const [write, read, process] = SCOPES;
  const entry = (secret: string, scopes: readonly string[]) => ({
    account: name,
    keyId: `${name}/${scopes.length === 1 ? scopes[0] : 'all'}`,
    sha256: digestOf(secret),
    scopes,
  });
  return [entry(key, SCOPES), entry(writeKey, [write]), entry(readKey, [read]), entry(processKey, [process])];
}

interface Ports {
  readonly pid: number;
  readonly port: number;
  readonly operationsPort: number;
}

async function portsOf(logFile: string): Promise<Ports | undefined> {
  const lines = await readJsonLines(logFile);
  return lines.find(({message}) => message === 'Ready.') as Ports | undefined;
}
