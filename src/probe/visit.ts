/** One visit to the edge, as a browser would make it: a TLS handshake, then at most one request. */
import {request} from 'node:http';
import {isIP} from 'node:net';
import {connect, type TLSSocket} from 'node:tls';

export interface Address {
  /** An IP address or a host name. */
  readonly host: string;
  readonly port: number;
}

export interface Visit {
  /** Sent as SNI and as Host. */
  readonly host: string;
  /** The path of a GET request. Absent: the visit ends after the handshake. */
  readonly path?: string;
}

export interface ServedCertificate {
  /** The DNS names in it, in lower case, sorted; at most 100. */
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /**
   * Why its chain does not end at an authority that Node.js knows, as OpenSSL names it; absent if it does.
   */
  readonly untrusted?: string;
}

/**
 * `unreachable`: no TCP connection. `silent`: a connection, but no TLS handshake within the deadline. `closed`: the
 * edge ended the connection instead of the handshake.
 */
export type VisitResult =
  | {readonly kind: 'unreachable' | 'silent' | 'closed'; readonly why: string}
  | {readonly kind: 'answered'; readonly certificate: ServedCertificate; readonly response?: Response};

/** `status` is 0 if no response came. */
export interface Response {
  readonly status: number;
  readonly location?: string;
}

const MAX_NAMES = 100;
const MAX_HEADER_BYTES = 16_384;

/** Never rejects. Reads no body. Visits also edges that a browser would not trust, to say why. */
export async function visit(
  address: Address,
  {host, path}: Visit,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<VisitResult> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let isConnected = false;
  const socket = connect({
    host: address.host,
    port: address.port,
    ...(isIP(host) === 0 && {servername: host}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
  });
  const abandon = () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`));
  deadline.addEventListener('abort', abandon, {once: true});
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', () => {
        isConnected = true;
      });
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('the edge closed the connection')));
    });
    const certificate = certificateOf(socket);
    if (path === undefined) return {kind: 'answered', certificate};
    return {kind: 'answered', certificate, response: await get(socket, host, path)};
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (!isConnected) return {kind: 'unreachable', why};
    return {kind: deadline.aborted ? 'silent' : 'closed', why};
  } finally {
    deadline.removeEventListener('abort', abandon);
    socket.once('error', () => undefined);
    socket.destroy();
  }
}

function certificateOf(socket: TLSSocket): ServedCertificate {
  const found = socket.getPeerX509Certificate();
  if (!found) throw new Error('the edge presented no certificate');
  const names = (found.subjectAltName ?? '').split(', ').flatMap(name => /^DNS:(.+)$/.exec(name)?.[1] ?? []);
  return {
    names: names
      .slice(0, MAX_NAMES)
      .map(name => name.toLowerCase())
      .sort(),
    notBeforeMs: found.validFromDate.getTime(),
    notAfterMs: found.validToDate.getTime(),
    ...untrusted(socket),
  };
}

/** Of the chain only: names and dates are judged by the caller, at its own time. */
const NOT_OF_THE_CHAIN: ReadonlySet<string> = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
]);

function untrusted({authorizationError}: TLSSocket): {untrusted?: string} {
  const error: unknown = authorizationError; // a code, despite its type
  const code = error instanceof Error ? error.message : String(error ?? '');
  return code === '' || NOT_OF_THE_CHAIN.has(code) ? {} : {untrusted: code};
}

/** The socket's deadline holds for the request too: a destroyed socket ends it. */
function get(socket: TLSSocket, host: string, path: string): Promise<Response> {
  return new Promise(resolve => {
    const headers = {host, 'user-agent': 'nameplate-probe'};
    const asked = request({
      ...{method: 'GET', path, headers, maxHeaderSize: MAX_HEADER_BYTES},
      createConnection: () => socket,
    });
    asked.once('response', ({statusCode = 0, headers: {location}}) =>
      resolve({status: statusCode, ...(location !== undefined && {location})}),
    );
    // A 101 response to a request without Upgrade destroys the socket without an error.
    for (const end of ['error', 'close'] as const) asked.once(end, () => resolve({status: 0}));
    asked.end();
  });
}
