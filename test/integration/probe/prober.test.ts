/** Visits to real TLS servers, and the prober's conclusions. The tests in e2e and gateway probe a real edge. */
import {X509Certificate} from 'node:crypto';
import {mkdtemp, rm} from 'node:fs/promises';
import {type AddressInfo, createServer as createTcpServer, type Server, type Socket} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createServer, type TLSSocket} from 'node:tls';
import {Registry} from 'prom-client';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import type {ProbeReason} from '../../../src/probe/judge.ts';
import {createProber} from '../../../src/probe/prober.ts';
import {type Address, type Visit, visit} from '../../../src/probe/visit.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {until} from '../../cluster/wait.ts';
import {selfSigned} from '../../support/self-signed.ts';

const HOST = 'shop.example.com';
const PATIENT_MS = 20_000;

type Pair = Awaited<ReturnType<typeof selfSigned>>;

let folder: string;
let pair: Pair;
let renewed: Pair;
let foreign: Pair;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'probe-'));
  pair = await selfSigned(folder, 'pair', `DNS:${HOST}`);
  renewed = await selfSigned(folder, 'renewed', `DNS:${HOST}`, 3);
  foreign = await selfSigned(folder, 'foreign', 'DNS:other.example.com,DNS:another.example.com', 4);
});
afterAll(() => rm(folder, {recursive: true}));

async function listen(server: Server, port = 0): Promise<Address> {
  const sockets = new Set<Socket>();
  server.on('connection', socket => sockets.add(socket));
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {host: '127.0.0.1', port: (server.address() as AddressInfo).port};
}

/** An edge that knows one host and refuses the handshake for any other, as Envoy does. */
function edge(answer: (socket: TLSSocket) => void = () => undefined): Server & {secure: (by: Pair) => void} {
  const known = (name: string, done: (error: Error | null) => void) =>
    done(name === HOST ? null : new Error('unknown'));
  const server = createServer({...pair, SNICallback: known});
  server.on('secureConnection', answer);
  server.on('tlsClientError', () => undefined);
  return Object.assign(server, {secure: (by: Pair) => server.setSecureContext(by)});
}

function ask(address: Address, {host = HOST, path, timeoutMs = PATIENT_MS}: Partial<Visit & {timeoutMs: number}> = {}) {
  return visit(address, {host, ...(path !== undefined && {path})}, timeoutMs, new AbortController().signal);
}

/** Sends this text in response to a request. */
const sending = (text: string) => (socket: TLSSocket) => void socket.once('data', () => socket.write(text));

describe('a visit', () => {
  test('shows the certificate of the host, without a request', async () => {
    let bytes = 0;
    const address = await listen(edge(socket => socket.on('data', data => (bytes += data.length))));
    const {validFromDate, validToDate} = new X509Certificate(pair.cert);
    const dates = {notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime()};
    const certificate = {names: [HOST], ...dates, untrusted: 'DEPTH_ZERO_SELF_SIGNED_CERT'};
    expect(await ask(address)).toEqual({kind: 'answered', certificate});
    expect(bytes).toBe(0);
  });

  test('shows the names of a foreign certificate, sorted', async () => {
    const server = edge();
    server.secure(foreign);
    const names = ['another.example.com', 'other.example.com'];
    expect(await ask(await listen(server))).toMatchObject({kind: 'answered', certificate: {names}});
  });

  // attack: hostile-probe
  test('shows the status and the target of a redirect, and reads no body', async () => {
    const head = 'HTTP/1.1 308 Permanent Redirect\r\nLocation: https://www.example.com/\r\n\r\n';
    const address = await listen(edge(sending(head + 'x'.repeat(1_000_000))));
    const response = {status: 308, location: 'https://www.example.com/'};
    expect(await ask(address, {path: '/'})).toMatchObject({kind: 'answered', response});
  });

  test.each([
    {what: 'sends no response', text: ''},
    {what: 'sends half a head', text: 'HTTP/1.1 301 Moved\r\nLocation: '},
    {what: 'sends a head without end', text: `HTTP/1.1 200 OK\r\n${'X-Y: z\r\n'.repeat(10_000)}`},
    {what: 'switches protocols', text: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'},
    {what: 'does not speak HTTP', text: 'hello\r\n\r\n'},
  ])('of a server that $what ends at the deadline, without a response', async ({text}) => {
    const address = await listen(edge(sending(text)));
    expect(await ask(address, {path: '/', timeoutMs: 2000})).toMatchObject({kind: 'answered', response: {status: 0}});
  });

  test('of an edge that refuses the handshake for a host is closed', async () => {
    expect(await ask(await listen(edge()), {host: 'stranger.example.com'})).toMatchObject({kind: 'closed'});
  });

  // attack: hostile-probe
  test('of a server that accepts connections and says nothing is silent', async () => {
    expect(await ask(await listen(createTcpServer()), {timeoutMs: 2000})).toMatchObject({kind: 'silent'});
  });

  test('of a port where nobody listens, or a name that does not exist, reaches nothing', async () => {
    const [port = 0] = await freePorts(1);
    expect(await ask({host: '127.0.0.1', port})).toMatchObject({kind: 'unreachable'});
    expect(await ask({host: 'nowhere.invalid', port})).toMatchObject({kind: 'unreachable'});
  });
});

describe('the prober', () => {
  const settings = {steadySeconds: 1, perSecond: 1000, failAfterSeconds: 1, timeoutMs: PATIENT_MS};

  function start(address: Address) {
    const told: boolean[] = [];
    const prober = createProber({
      settings,
      addresses: () => [address],
      clock: systemClock,
      registry: new Registry(),
      onError: (_key, error) => expect.fail(String(error)),
      onReachable: isReachable => told.push(isReachable),
    });
    const stop = new AbortController();
    const ended = prober.start(stop.signal);
    onTestFinished(() => {
      stop.abort();
      return ended;
    });
    const watch = (host = HOST, allowsSelfSigned = true) => {
      const question = {host, ...(allowsSelfSigned && {allowsSelfSigned})};
      prober.watch(host, {account: 'a', uid: host, question, urgency: 'pending'});
    };
    const sees = (reason: ProbeReason, host = HOST) =>
      until(`${host}: ${reason}`, () => prober.get(host)?.verdict.reason === reason);
    return {prober, told, watch, sees};
  }

  test('accepts any valid certificate of the host, and no other, and no self-signed one unless the issuer signs so', async () => {
    const server = edge();
    const {prober, watch, sees} = start(await listen(server));
    watch();
    await sees('Answering');
    expect(prober.get(HOST)?.verdict.message).toContain('DEPTH_ZERO_SELF_SIGNED_CERT');
    server.secure(renewed);
    watch(HOST, false);
    await sees('WrongCertificate');
    watch();
    await sees('Answering');
    server.secure(foreign);
    await sees('WrongCertificate');
  });

  test('says that the edge cannot be reached, and that it can be again', async () => {
    const [port = 0] = await freePorts(1);
    const {prober, told, watch, sees} = start({host: '127.0.0.1', port});
    watch();
    await sees('EdgeUnreachable');
    expect(prober.get(HOST)?.agreedSince).toBeUndefined();
    expect(prober.problem()).toContain('ECONNREFUSED');
    await listen(edge(), port);
    await sees('Answering');
    expect(prober.problem()).toBeUndefined();
    expect(told).toEqual([false, true]);
  });

  // attack: hostile-probe
  test('blames the host if the edge answers for others', async () => {
    const {prober, watch, sees} = start(await listen(edge()));
    watch();
    await sees('Answering');
    watch('stranger.example.com');
    await sees('NoAnswer', 'stranger.example.com');
    expect(prober.get('stranger.example.com')?.agreedSince).toBeDefined();
    expect(prober.problem()).toBeUndefined();
  });

  test('forgets a host that is no longer watched', async () => {
    const {prober, watch, sees} = start(await listen(edge()));
    watch();
    await sees('Answering');
    prober.unwatch(HOST);
    expect(prober.get(HOST)).toBeUndefined();
  });
});
