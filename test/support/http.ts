/**
 * Requests as visitors send them: each on a separate connection, with TLS verified against the CA's root. Does not
 * follow redirects.
 */
import {readFile} from 'node:fs/promises';
import {type IncomingMessage, request as requestHttp} from 'node:http';
import {request as requestHttps} from 'node:https';
import {setTimeout as pause} from 'node:timers/promises';
import {connect as connectTls, type TLSSocket} from 'node:tls';
import type {ClusterInfo} from '../cluster/cluster.ts';
import {until} from '../cluster/wait.ts';

export interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
  /** The certificate that the edge presented; undefined over http. */
  readonly certificate: {readonly issuer: string; readonly serial: string; readonly names: string} | undefined;
}

export interface RequestOptions {
  readonly method?: string;
  /** Accept any certificate, to see which one is presented. */
  readonly anyCertificate?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Visit {
  /** Every answer on the way. Only the last one is not a redirect. */
  readonly answers: readonly Answer[];
  readonly last: Answer;
}

/** The results of continuous requests, in order. */
export interface Observation {
  readonly visits: readonly {readonly url: string; readonly outcome: Visit | Error}[];
}

export interface Visitor {
  request(url: string, options?: RequestOptions): Promise<Answer>;
  /** Like a browser without a cache, follows up to three redirects. */
  visit(url: string): Promise<Visit>;
  /** Repeats the request until the answer is as wanted, with the right certificate. */
  untilAnswer(url: string, isWanted: (answer: Answer) => boolean, options?: RequestOptions): Promise<Answer>;
  /** Waits until the ingress has loaded everything from the API, including pods: http and https answer or redirect. */
  untilServed(host: string): Promise<void>;
  /**
   * Waits until neither http nor https serves the host. The route must already be deleted, so this only waits for the
   * edge.
   */
  untilGone(host: string): Promise<void>;
  /** The protocol that the edge chooses from HTTP/2 and HTTP/1.1: `h2` or `http/1.1`. */
  protocolOf(host: string): Promise<string>;
  /** Visits the URLs repeatedly until `stop`, which returns all results. */
  observe(...urls: string[]): {stop(): Promise<Observation>};
}

const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 3;
const OBSERVE_PAUSE_MS = 100;

/** A visitor that ignores DNS and always connects to the ingress, so that removed hosts can be requested. */
export async function createVisitor({ingress, roots}: ClusterInfo): Promise<Visitor> {
  const ca = await readFile(roots, 'utf8');
  const request = (url: string, options: RequestOptions = {}) =>
    requestOnce(url, {...options, ca, address: ingress.address});
  return {
    request,
    visit: url => visit(url, request),
    untilAnswer: (url, isWanted, options) => untilAnswer(url, isWanted, each => request(each, options)),
    untilServed: async host => {
      for (const url of urlsOf(host)) await untilAnswer(url, ({status}) => status < 400, request);
    },
    untilGone: async host => {
      const isGone = async (url: string) => {
        const asked = request(url, {anyCertificate: true});
        if (url.startsWith('http:')) return isUnknown(host, await asked);
        const {status, certificate} = await asked.catch(refused);
        return status === 404 && !certificate?.names.includes(host);
      };
      for (const url of urlsOf(host)) await until(`${url} is gone`, () => isGone(url));
    },
    protocolOf: host => protocolOf({host: ingress.address, servername: host, ca}),
    observe: (...urls) => observe(urls, url => visit(url, request)),
  };
}

/** The edge redirects every host to https, and only a host with a route of its own elsewhere. */
function isUnknown(host: string, {status, location}: Answer): boolean {
  return status === 301 && location === `https://${host}/`;
}

/** A Gateway without a listener for the host closes the connection; Traefik presents its default certificate. */
function refused(error: Error): Pick<Answer, 'status' | 'certificate'> {
  if ((error.cause as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  return {status: 404, certificate: undefined};
}

interface Connection extends RequestOptions {
  readonly address: string;
  readonly ca: string;
}

async function requestOnce(url: string, connection: Connection): Promise<Answer> {
  const {protocol, hostname, pathname, search} = new URL(url);
  const {promise, resolve, reject} = Promise.withResolvers<IncomingMessage>();
  const common = {
    host: connection.address,
    path: pathname + search,
    method: connection.method ?? 'GET',
    headers: {...connection.headers, host: hostname},
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  } as const;
  const tls = {
    servername: hostname,
    ca: connection.ca,
    rejectUnauthorized: !connection.anyCertificate,
  };
  const outgoing = protocol === 'https:' ? requestHttps({...common, ...tls}, resolve) : requestHttp(common, resolve);
  outgoing.on('error', cause => reject(new Error(`${url}: ${cause.message}`, {cause}))).end(connection.body);
  const response = await promise;
  const certificate = certificateOf(response);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    location: response.headers.location,
    body: Buffer.concat(chunks).toString(),
    certificate,
  };
}

function certificateOf({socket}: IncomingMessage): Answer['certificate'] {
  if (!('getPeerCertificate' in socket)) return undefined;
  const {issuer, serialNumber, subjectaltname = ''} = (socket as TLSSocket).getPeerCertificate();
  return {issuer: String(issuer.CN), serial: serialNumber, names: subjectaltname};
}

async function protocolOf(edge: {host: string; servername: string; ca: string}): Promise<string> {
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const socket = connectTls({...edge, port: 443, ALPNProtocols: ['h2', 'http/1.1'], timeout: TIMEOUT_MS});
  socket.on('secureConnect', () => resolve(String(socket.alpnProtocol)));
  socket.on('timeout', () => reject(new Error(`no handshake for ${edge.servername}`))).on('error', reject);
  return promise.finally(() => socket.destroy());
}

function urlsOf(host: string): string[] {
  return [`http://${host}/`, `https://${host}/`];
}

async function visit(start: string, request: Visitor['request']): Promise<Visit> {
  const answers: Answer[] = [];
  for (let url = start; ; ) {
    const last = await request(url);
    answers.push(last);
    if (last.location === undefined) return {answers, last};
    if (answers.length > MAX_REDIRECTS) throw new Error(`${start}: more than ${MAX_REDIRECTS} redirects: a loop`);
    url = new URL(last.location, url).href;
  }
}

async function untilAnswer(
  url: string,
  isWanted: (answer: Answer) => boolean,
  request: (url: string) => Promise<Answer>,
): Promise<Answer> {
  const probe = async () => {
    const answer = await request(url);
    if (isWanted(answer)) return answer;
    throw new Error(`the last answer is ${JSON.stringify(answer)}`);
  };
  return until(`${url} answers as wanted`, probe, {intervalMs: 200});
}

function observe(urls: readonly string[], visitOne: (url: string) => Promise<Visit>) {
  const stopping = new AbortController();
  const visits: {url: string; outcome: Visit | Error}[] = [];
  const run = async (url: string) => {
    while (!stopping.signal.aborted) {
      visits.push({url, outcome: await visitOne(url).catch((error: Error) => error)});
      await pause(OBSERVE_PAUSE_MS, undefined, {signal: stopping.signal}).catch(() => {}); // a rate, not a wait
    }
  };
  const runs = Promise.all(urls.map(run));
  return {
    stop: async () => {
      stopping.abort();
      await runs;
      return {visits};
    },
  };
}

/** The visits that did not end with 200, as lines for an assertion that there are none. */
export function failuresOf({visits}: Observation): string[] {
  return visits.flatMap(({url, outcome}) => {
    if (outcome instanceof Error) return [outcome.message];
    return outcome.last.status === 200 ? [] : [`${url}: ${outcome.answers.map(({status}) => status).join(', ')}`];
  });
}
