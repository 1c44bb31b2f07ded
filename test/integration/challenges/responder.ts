/** The challenge responder as the chart runs it: a separate process with a file for the thumbprint. */
import {mkdir, mkdtemp, rename, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {failOnExit, startChild} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {readJsonLines} from '../../support/json-lines.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/bin/challenges.ts');

export interface Responder {
  readonly port: number;
  readonly pid: number;
  /** Replaces the content of the volume as the kubelet does; without a text, the ConfigMap does not exist. */
  mount(thumbprint?: string): Promise<void>;
  operations(path: string): Promise<{readonly status: number; readonly body: string}>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | string>;
}

interface Ready {
  readonly pid: number;
  readonly port: number;
  readonly operationsPort: number;
}

export async function startResponder(thumbprint?: string): Promise<Responder> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-challenges-'));
  const volume = join(folder, 'volume');
  await mkdir(volume);
  let version = 0;
  const mount = async (text?: string) => {
    const content = join(folder, `${++version}`);
    await mkdir(content);
    if (text !== undefined) await writeFile(join(content, 'thumbprint'), text);
    await symlink(content, join(folder, 'next'));
    await rename(join(folder, 'next'), join(volume, '..data'));
  };
  await mount(thumbprint);
  await symlink('..data/thumbprint', join(volume, 'thumbprint'));
  const log = join(folder, 'log');
  const file = join(volume, 'thumbprint');
  const argv = [process.execPath, PROGRAM, '--thumbprint', file, '--port', '0', '--operations-port', '0'];
  const child = startChild('challenges', argv, {log});
  const ready = until('the responder listens', async () => {
    const lines = await readJsonLines(log);
    return lines.find(({message}) => message === 'Ready.') as Ready | undefined;
  });
  const {pid, port, operationsPort} = (await Promise.race([ready, failOnExit(child, log)])) as Ready;
  return {
    port,
    pid,
    mount,
    operations: async path => {
      const response = await fetch(`http://127.0.0.1:${operationsPort}${path}`);
      return {status: response.status, body: await response.text()};
    },
    stop: async () => {
      process.kill(pid, 'SIGTERM');
      const code = await child.exited;
      await rm(folder, {recursive: true});
      return code;
    },
  };
}
