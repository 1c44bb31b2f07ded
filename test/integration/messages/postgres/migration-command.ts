/** `messages migrate` as a process that can be killed. */
import {spawn} from 'node:child_process';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {PROGRAM, temporaryFolder} from '../service.ts';
import {uriFile} from './server.ts';

export interface Command {
  readonly done: Promise<{readonly code: number | null; readonly out: string}>;
  readonly said: () => string;
  kill(): void;
}

/** From a folder into a database, or back with `--undo`. */
export function migrate(uri: string, folder: string, ...args: readonly string[]): Promise<Command> {
  return start({}, uri, folder, args);
}

/** The same with so much memory for JavaScript. */
export function migrateInHeap(mebibytes: number, uri: string, folder: string, ...args: readonly string[]) {
  return start({nodeArgs: [`--max-old-space-size=${mebibytes}`]}, uri, folder, args);
}

/** The same into a database with a synchronous standby. */
export function migrateDurably(uri: string, folder: string, ...args: readonly string[]) {
  return start({durability: 'synchronous-standby'}, uri, folder, args);
}

interface StartOptions {
  readonly nodeArgs?: readonly string[];
  readonly durability?: string;
}

async function start(
  {nodeArgs = [], durability = 'storage'}: StartOptions,
  uri: string,
  folder: string,
  args: readonly string[],
): Promise<Command> {
  const file = join(await temporaryFolder(), 'config.json');
  const own = {uriFile: await uriFile(await temporaryFolder(), uri), tls: 'disable', durability};
  await writeFile(file, JSON.stringify({store: {kind: 'postgres', folder, postgres: own}}));
  const child = spawn(process.execPath, [...nodeArgs, PROGRAM, 'migrate', '--config', file, ...args]);
  let said = '';
  child.stderr.on('data', chunk => {
    said += chunk;
  });
  const out = text(child.stdout);
  const code = new Promise<number | null>(resolve => child.once('close', resolve));
  const done = code.then(async each => ({code: each, out: `${await out}${said}`}));
  return {done, said: () => said, kill: () => child.kill('SIGKILL')};
}
