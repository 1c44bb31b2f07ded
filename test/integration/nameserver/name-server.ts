/** The name server as the chart runs it: a separate process, with the chart's service account at a real API server. */
import {createSocket} from 'node:dgram';
import {mkdtemp, rm} from 'node:fs/promises';
import {connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {decode, encode, type Packet} from 'dns-packet';
import {Framing} from '../../../src/nameserver/framing.ts';
import {failOnExit, startChild} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {readJsonLines} from '../../support/json-lines.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/bin/nameserver.ts');
export const ACME_DOMAIN = 'acme.nameplate.test';
export const NAME_SERVERS = ['ns1.nameplate.test', 'ns2.nameplate.test'];

export interface NameServerProcess {
  readonly port: number;
  readonly pid: number;
  operations(path: string): Promise<{readonly status: number; readonly body: string}>;
  /** Everything that it has logged. */
  log(): Promise<readonly object[]>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | string>;
}

interface Ready {
  readonly pid: number;
  readonly port: number;
  readonly operationsPort: number;
}

/** `givenPort`: by default, any free one. */
export async function startNameServerProcess(kubeconfig: string, givenPort = 0): Promise<NameServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-nameserver-'));
  const file = join(folder, 'log');
  const argv = [process.execPath, PROGRAM, `--zone=${ACME_DOMAIN}`, `--kubeconfig=${kubeconfig}`];
  argv.push(...NAME_SERVERS.map(name => `--name-server=${name}`), `--port=${givenPort}`, '--operations-port=0');
  const child = startChild('nameserver', argv, {log: file});
  const listens = async () => {
    const lines = await readJsonLines(file);
    return lines.find(({message}) => message === 'Ready.') as Ready | undefined;
  };
  const ready = until('the name server listens', listens);
  const {pid, port, operationsPort} = (await Promise.race([ready, failOnExit(child, file)])) as Ready;
  return {
    port,
    pid,
    operations: async path => {
      const response = await fetch(`http://127.0.0.1:${operationsPort}${path}`);
      return {status: response.status, body: await response.text()};
    },
    log: () => readJsonLines(file),
    stop: async () => {
      process.kill(pid, 'SIGTERM');
      const code = await child.exited;
      await rm(folder, {recursive: true});
      return code;
    },
  };
}

export function queryOf(name: string, type = 'TXT', more: Partial<Packet> = {}): Buffer {
  return encode({type: 'query', id: 1, questions: [{name, type: type as 'TXT'}], ...more});
}

/** Sends it again while there is no answer, like a resolver. Rejects if none comes within the time. */
export async function overUdp(port: number, query: Buffer, {host = '127.0.0.1', ms = 60_000} = {}) {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  try {
    const {promise, resolve, reject} = Promise.withResolvers<Buffer>();
    socket.once('message', resolve);
    socket.once('error', reject);
    const send = () => socket.send(query, port, host);
    send();
    const repeated = setInterval(send, 1000);
    const timer = setTimeout(() => reject(new Error('no answer')), ms);
    return decode(
      await promise.finally(() => {
        clearInterval(repeated);
        clearTimeout(timer);
      }),
    );
  } finally {
    socket.close();
  }
}

/** Sends the queries on one connection, in one write, and resolves with all answers. */
export async function overTcp(port: number, ...queries: readonly Buffer[]) {
  const socket = connect(port, '127.0.0.1');
  const framing = new Framing();
  const answers: ReturnType<typeof decode>[] = [];
  const {promise, resolve, reject} = Promise.withResolvers<void>();
  socket.on('data', (chunk: Buffer) => {
    for (const message of framing.add(chunk)) answers.push(decode(Buffer.from(message)));
    if (answers.length === queries.length) resolve();
  });
  socket.once('error', reject);
  socket.once('close', () => reject(new Error(`the connection was closed after ${answers.length} answers`)));
  socket.write(Buffer.concat(queries.map(query => Framing.frame(query))));
  await promise.finally(() => socket.destroy());
  return answers;
}

export function textsIn({answers = []}: ReturnType<typeof decode>): string[] {
  return answers.flatMap(answer => (answer.type === 'TXT' ? [[answer.data].flat().map(String).join('')] : []));
}
