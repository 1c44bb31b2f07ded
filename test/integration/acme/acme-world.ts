/** What every test of the client needs: keys, signing requests, and the way from an order to its certificate. */
import {generateKeyPairSync, type KeyObject, randomUUID} from 'node:crypto';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {AcmeClient, type AcmeSettings, type NewOrder} from '../../../src/acme/client.ts';
import type {Authorization, Order} from '../../../src/acme/objects.ts';
import {run} from '../../cluster/children.ts';
import {Hopeless, until} from '../../cluster/wait.ts';

/** An ACME server, or a proxy in front of one. */
export interface Ca {
  readonly directory: string;
  readonly trust: string;
}

export const signal = new AbortController().signal;

export function newKey(): KeyObject {
  return generateKeyPairSync('ec', {namedCurve: 'P-256'}).privateKey;
}

export function clientOf({directory, trust}: Ca, settings: Partial<AcmeSettings> = {}): AcmeClient {
  const userAgent = 'nameplate-test/1.0';
  return new AcmeClient({directory, caBundle: trust, key: newKey(), timeoutMs: 60_000, userAgent, ...settings});
}

export async function newFolder(): Promise<{readonly path: string} & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'nameplate-acme-'));
  return {path, [Symbol.asyncDispose]: () => rm(path, {recursive: true})};
}

/** A signing request in DER, and its key. */
export interface SigningRequest {
  readonly csr: Buffer;
  readonly key: KeyObject;
}

export async function requestFor(names: readonly string[], folder: string, key = newKey()): Promise<SigningRequest> {
  const [keyFile, output] = [join(folder, `${randomUUID()}.key`), join(folder, `${randomUUID()}.csr`)];
  await writeFile(keyFile, key.export({type: 'pkcs8', format: 'pem'}));
  const altNames = names.map(name => `DNS:${name}`).join();
  const subject = ['-subj', '/', '-addext', `subjectAltName=${altNames}`];
  await run(['openssl', 'req', '-new', '-key', keyFile, ...subject, '-outform', 'DER', '-out', output]);
  return {csr: await readFile(output), key};
}

/** Accepts a challenge of every pending authorization, and waits until the order is ready. */
export async function authorize(
  client: AcmeClient,
  account: string,
  order: Order,
  answer: (authorization: Authorization) => Promise<string> = async ({challenges}) => challenges[0]?.url ?? '',
): Promise<Order> {
  for (const url of order.authorizations) {
    const authorization = await client.authorization(account, url, signal);
    if (authorization.status !== 'pending') continue;
    await client.acceptChallenge(account, await answer(authorization), signal);
  }
  return await untilStatus(client, account, order.url, ['ready', 'invalid']);
}

export async function untilStatus(
  client: AcmeClient,
  account: string,
  url: string,
  states: readonly Order['status'][],
): Promise<Order> {
  return await until(`the order is ${states.join(' or ')}`, async () => {
    const order = await client.order(account, url, signal).catch(cause => {
      throw new Hopeless('the order cannot be read', {cause});
    });
    return states.includes(order.status) ? order : undefined;
  });
}

/** From an order that is ready to its certificate. */
export async function collect(
  client: AcmeClient,
  account: string,
  order: Order,
  csr: Buffer,
  preferredChain?: string,
): Promise<string> {
  await client.finalize(account, order, csr, signal);
  const valid = await untilStatus(client, account, order.url, ['valid', 'invalid']);
  return await client.certificate(account, valid, preferredChain, signal);
}

/** From names to their certificate. */
export async function issue(
  client: AcmeClient,
  account: string,
  names: readonly string[],
  folder: string,
  options: Omit<NewOrder, 'names'> = {},
): Promise<string> {
  const order = await client.createOrder(account, {names, ...options}, signal);
  const ready = await authorize(client, account, order);
  return await collect(client, account, ready, (await requestFor(names, folder)).csr);
}
