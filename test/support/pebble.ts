/**
 * Pebble, the ACME test CA of Let's Encrypt, as a process on loopback.
 *
 * By default, it validates nothing, refuses no nonce, reuses no authorization, and does not sleep; `env` has its
 * switches: https://github.com/letsencrypt/pebble#usage.
 */
import {writeFile} from 'node:fs/promises';
import {request as requestHttps} from 'node:https';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {failOnExit, startChild} from '../cluster/children.ts';
import {freePorts} from '../cluster/free-ports.ts';
import {ensurePrograms} from '../cluster/programs.ts';
import {until} from '../cluster/wait.ts';
import {selfSigned} from './self-signed.ts';

export interface Pebble {
  readonly directory: string;
  /** Verifies its HTTPS server; PEM. */
  readonly trust: string;
  /** The root of a chain, and its intermediate; PEM. */
  root(chain: number): Promise<string>;
  /** Sets what ARI answers about a certificate, which may be any text. */
  setRenewalInfo(certificatePem: string, answer: string): Promise<void>;
  /** It forgets everything, and starts at the same address. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface PebbleOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Of `pebble` in its configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The address of a DNS server that speaks TCP. */
  readonly dns?: string;
}

const QUIET = {
  PEBBLE_VA_ALWAYS_VALID: '1',
  PEBBLE_VA_NOSLEEP: '1',
  PEBBLE_WFE_NONCEREJECT: '0',
  PEBBLE_AUTHZREUSE: '0',
};
const CONFIG = {
  keyAlgorithm: 'ecdsa',
  ocspResponderURL: '',
  externalAccountBindingRequired: false,
  retryAfter: {authz: 0, order: 0},
  profiles: {default: {description: 'the only one', validityPeriod: 7_776_000}},
};

/** `folder`: for its files; it must exist. */
export async function startPebble(folder: string, options: PebbleOptions = {}): Promise<Pebble> {
  const [port = 0, managementPort = 0] = await freePorts(2);
  const {cert} = await selfSigned(folder, 'pebble', 'IP:127.0.0.1,DNS:localhost');
  const config = {
    ...CONFIG,
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: join(folder, 'pebble.pem'),
    privateKey: join(folder, 'pebble.key'),
    ...options.config,
  };
  const file = join(folder, 'pebble.json');
  await writeFile(file, JSON.stringify({pebble: config}));
  const {path} = await ensurePrograms(['pebble']);
  const argv = [path('pebble'), '-strict', '-config', file, ...(options.dns ? ['-dnsserver', options.dns] : [])];
  const log = join(folder, 'pebble.log');
  const trust = cert.toString();
  const base = `https://127.0.0.1:${port}`;
  const management = `https://127.0.0.1:${managementPort}`;

  const start = async () => {
    const child = startChild('pebble', argv, {log, env: {...process.env, ...QUIET, ...options.env}});
    const isUp = () => Promise.all([exchange(`${base}/dir`, trust), exchange(`${management}/roots/0`, trust)]);
    await Promise.race([until('Pebble answers', isUp), failOnExit(child, log)]);
    return child;
  };
  let child = await start();
  return {
    directory: `${base}/dir`,
    trust,
    root: async chain => {
      const paths = [`roots/${chain}`, `intermediates/${chain}`];
      return (await Promise.all(paths.map(each => exchange(`${management}/${each}`, trust)))).join('');
    },
    setRenewalInfo: async (certificatePem, answer) => {
      const body = JSON.stringify({certificate: certificatePem, ariResponse: answer});
      await exchange(`${management}/set-renewal-info/`, trust, body);
    },
    restart: async () => {
      await child.kill();
      child = await start();
    },
    stop: () => child.kill(),
  };
}

/** The body of an answer with status 200. POST, if there is a body to send. */
async function exchange(url: string, ca: string, body?: string): Promise<string> {
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const headers = {'user-agent': 'nameplate-test'};
  const request = requestHttps(url, {ca, headers, method: body === undefined ? 'GET' : 'POST', agent: false}, answer =>
    text(answer).then(
      content => (answer.statusCode === 200 ? resolve(content) : reject(new Error(`${url}: ${answer.statusCode}`))),
      reject,
    ),
  );
  request.on('error', reject).end(body);
  return await promise;
}
