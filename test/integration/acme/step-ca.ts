/** step-ca, an ACME server that shares no code with Pebble or Boulder, as a process on loopback. It validates. */
import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {failOnExit, run, startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {type Ca, clientOf, signal} from './acme-world.ts';

export interface StepCa extends Ca {
  stop(): Promise<void>;
}

export interface StepCaOptions {
  /** The port at which it validates HTTP-01. */
  readonly httpPort: number;
  /** The address of a DNS server. */
  readonly dns: string;
}

export async function startStepCa(parent: string, {httpPort, dns}: StepCaOptions): Promise<StepCa> {
  const folder = join(parent, 'step-ca');
  await mkdir(folder);
  await writeAuthority(folder);
  const [port = 0] = await freePorts(1);
  const config = {
    root: join(folder, 'root.pem'),
    crt: join(folder, 'intermediate.pem'),
    key: join(folder, 'intermediate.key'),
    address: `127.0.0.1:${port}`,
    dnsNames: ['127.0.0.1'],
    logger: {format: 'json'},
    db: {type: 'badgerv2', dataSource: join(folder, 'db')},
    authority: {provisioners: [{type: 'ACME', name: 'acme'}]},
  };
  await writeFile(join(folder, 'ca.json'), JSON.stringify(config));
  const {path} = await ensurePrograms(['stepca']);
  const flags = ['--insecure', '--acme-http-port', String(httpPort), '--resolver', dns];
  const log = join(folder, 'log');
  const child = startChild('step-ca', [path('step-ca'), join(folder, 'ca.json'), ...flags], {log});
  const trust = await readFile(config.root, 'utf8');
  const directory = `https://127.0.0.1:${port}/acme/acme/directory`;
  const client = clientOf({directory, trust});
  await Promise.race([until('step-ca answers', () => client.directory(signal)), failOnExit(child, log)]);
  await client.close();
  return {directory, trust, stop: child.kill};
}

/** A root, and an intermediate that it issued. */
async function writeAuthority(folder: string): Promise<void> {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const isCa = (pathLength: number) => [
    ...['-addext', `basicConstraints=critical,CA:TRUE,pathlen:${pathLength}`],
    ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  ];
  const files = (name: string) => ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.pem`)];
  const root = ['-CA', join(folder, 'root.pem'), '-CAkey', join(folder, 'root.key')];
  const request = ['openssl', 'req', '-x509', ...curve];
  await run([...request, '-subj', '/CN=Step Root', ...isCa(1), ...files('root')]);
  await run([...request, '-subj', '/CN=Step Intermediate', ...root, ...isCa(0), ...files('intermediate')]);
}
