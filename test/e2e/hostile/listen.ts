/** HTTP servers of the test that pods reach. */
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {createServer, type IncomingMessage, type RequestListener, type ServerResponse} from 'node:http';
import {createServer as createTlsServer} from 'node:https';
import type {AddressInfo} from 'node:net';
import {networkInterfaces, tmpdir} from 'node:os';
import {join} from 'node:path';
import {run} from '../../cluster/children.ts';

export interface Listening {
  /** For example http://172.30.0.1:40123. */
  readonly base: string;
  stop(): Promise<void>;
}

export interface TlsIdentity {
  readonly key: string;
  /** In PEM, self-signed. */
  readonly cert: string;
}

/** Serves HTTPS if there is an identity. */
export async function listen(handle: RequestListener, identity?: TlsIdentity): Promise<Listening> {
  const server = identity ? createTlsServer(identity, handle) : createServer(handle);
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    base: `${identity ? 'https' : 'http'}://${ownAddress()}:${port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** Creates a key and a certificate for this machine's address. */
export async function newIdentity(): Promise<TlsIdentity> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-ca-'));
  const [keyFile, certFile] = [join(folder, 'key'), join(folder, 'cert')];
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
    const name = ['-subj', '/CN=watched', '-addext', `subjectAltName=IP:${ownAddress()}`];
    await run(['openssl', 'req', '-x509', ...key, ...name, '-out', certFile]);
    return {key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8')};
  } finally {
    await rm(folder, {recursive: true});
  }
}

/** In the cluster's network. */
export function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flat();
  const own = addresses.find(address => address?.family === 'IPv4' && !address.internal);
  if (!own) throw new Error('no interface has an IPv4 address that pods could reach');
  return own.address;
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {'content-type': 'application/json'}).end(JSON.stringify(body));
}

export interface Jws {
  readonly header: {readonly kid?: string};
  /** Undefined: it was empty, as in a POST-as-GET (RFC 8555, section 6.3). */
  readonly payload: Readonly<Record<string, unknown>> | undefined;
}

/** The parts of a JSON Web Signature in flattened form, unchecked (RFC 7515, section 7.2.2). */
export function readJws(body: string): Jws {
  const text = (part: unknown) => Buffer.from(String(part), 'base64url').toString();
  try {
    const {protected: header, payload} = JSON.parse(body);
    return {header: JSON.parse(text(header)), payload: payload ? JSON.parse(text(payload)) : undefined};
  } catch {
    return {header: {}, payload: undefined};
  }
}
