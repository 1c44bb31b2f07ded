/** The challenge responder over raw connections, so that nothing between a test and the program corrects a request. */
import {Agent, request} from 'node:http';
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {expectGrowth} from '../messages/growth.ts';
import {MIB, type Raw, RawClient, residentBytes} from '../messages/raw.ts';
import {type Responder, startResponder} from './responder.ts';

const THUMBPRINT = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE';
const OTHER = 'zYxWvUtSrQpOnMlKjIhGfEdCbA0123456789-_AbCdE';
const PATH = '/.well-known/acme-challenge/';
const TOKEN = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';

let responder: Responder;
let client: RawClient;
beforeAll(async () => {
  responder = await startResponder(`${THUMBPRINT}\n`);
  client = new RawClient(responder);
});
afterAll(async () => {
  client.closeAll();
  expect(await responder.stop()).toBe(0);
});

/** Resolves with everything received once the responder has closed the connection. */
async function closed(raw: Raw): Promise<string> {
  await until('the connection closes', () => raw.closed, {intervalMs: 5});
  return raw.received;
}

const send = (bytes: string | Buffer) => closed(client.open(bytes));
const get = (target: string, more = '') => send(`GET ${target} HTTP/1.1\r\nhost: a.example\r\n${more}\r\n`);
const statusOf = (received: string) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1]);
const bodyOf = (received: string) => received.slice(received.indexOf('\r\n\r\n') + 4);

/** Every answer says that the connection ends, contains nothing that a browser would run, and gives its length. */
function expectHarmless(received: string): void {
  const [head = ''] = received.split('\r\n\r\n', 1);
  expect(head).toMatch(/^connection: close$/m);
  expect(head).toMatch(/^x-content-type-options: nosniff$/m);
  expect(head).toMatch(/^content-security-policy: default-src 'none'; sandbox$/m);
  expect(head).toMatch(/^cache-control: no-store$/m);
  expect(head).toMatch(/^content-length: \d+$/m);
  expect(head).toMatch(/^content-type: (application\/octet-stream|text\/plain; charset=utf-8)$/m);
  expect(received.match(/^HTTP\/1\.1 \d/gm), 'one answer').toHaveLength(1);
}

describe('a challenge', () => {
  test.each([TOKEN, 'a', '-', '_', 'A'.repeat(128)])('of the token %s is answered from the thumbprint', async token => {
    const received = await get(`${PATH}${token}`);
    expect(statusOf(received)).toBe(200);
    expect(received).toMatch(/^content-type: application\/octet-stream$/m);
    expect(bodyOf(received)).toBe(`${token}.${THUMBPRINT}`);
    expect(received).toContain(`\r\ncontent-length: ${token.length + 1 + THUMBPRINT.length}\r\n`);
    expectHarmless(received);
  });

  test('has the same headers for HEAD, and no body', async () => {
    const undated = (received: string) => received.replace(/^date: .*$/m, '');
    const head = await send(`HEAD ${PATH}${TOKEN} HTTP/1.1\r\nHost: a.example\r\n\r\n`);
    expect(undated(`${head}${TOKEN}.${THUMBPRINT}`)).toBe(undated(await get(`${PATH}${TOKEN}`)));
  });

  test.each([
    ['in absolute form', `GET http://a.example${PATH}${TOKEN} HTTP/1.1\r\nhost: b.example\r\n\r\n`],
    ['in absolute form with https', `GET HTTPS://a.example:443${PATH}${TOKEN} HTTP/1.1\r\nhost: b.example\r\n\r\n`],
    ['of HTTP/1.0 without a host', `GET ${PATH}${TOKEN} HTTP/1.0\r\n\r\n`],
    ['after an empty line', `\r\nGET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n\r\n`],
    ['without a host', `GET ${PATH}${TOKEN} HTTP/1.1\r\n\r\n`],
    ['with two hosts', `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\nhost: <b>\r\n\r\n`],
    ['with a header that is none', `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost : a\r\n b\0\r\n\r\n`],
    ['with UTF-8 in a header', `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a\r\nx-name: \u00c3\u00bc\r\n\r\n`],
    ['with an expectation', `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\r\n`],
    ['that offers another protocol', `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\n\r\n`],
  ])('%s is answered', async (_, bytes) => {
    const received = await send(Buffer.from(bytes, 'latin1'));
    expect(bodyOf(received)).toBe(`${TOKEN}.${THUMBPRINT}`);
    expectHarmless(received);
  });
});

describe('nothing else is answered, and nothing of a request is repeated', () => {
  const MARK = 'REFLECTED';
  test.each([
    ['no token', PATH],
    ['no slash', PATH.slice(0, -1)],
    ['a longer token', `${PATH}${MARK}${'A'.repeat(120)}`],
    ['markup', `${PATH}<script>${MARK}</script>`],
    ['escaped markup', `${PATH}%3Cscript%3E${MARK}`],
    ['a dot', `${PATH}${MARK}.${THUMBPRINT}`],
    ['padding', `${PATH}${MARK}=`],
    ['base64', `${PATH}${MARK}+/`],
    ['a query', `${PATH}${MARK}?a=b`],
    ['a query with a path', `/?${PATH}${MARK}`],
    ['a fragment', `${PATH}${MARK}#a`],
    ['a parameter', `${PATH}${MARK};a`],
    ['an escaped character', `${PATH}%41${MARK}`],
    ['an escaped slash', `/.well-known%2Facme-challenge%2F${MARK}`],
    ['an escaped dot', `/%2ewell-known/acme-challenge/${MARK}`],
    ['an escaped NUL', `${PATH}${MARK}%00`],
    ['an escaped line break', `${PATH}${MARK}%0d%0aset-cookie:%20a=b`],
    ['a parent', `${PATH}../${MARK}`],
    ['a parent before', `/a/..${PATH}${MARK}`],
    ['an escaped parent', `${PATH}%2e%2e/${MARK}`],
    ['a double slash', `/${PATH}${MARK}`],
    ['a double slash inside', `/.well-known//acme-challenge/${MARK}`],
    ['a backslash', `${PATH}${MARK}\\a`],
    ['a slash at the end', `${PATH}${MARK}/`],
    ['other case', `/.Well-Known/acme-challenge/${MARK}`],
    ['the path in a host', `http://a.example/x/http://a.example${PATH}${MARK}`],
    ['another scheme', `ftp://a.example${PATH}${MARK}`],
    ['no host in absolute form', `http://${PATH}${MARK}`],
    ['another path', `/${MARK}`],
    ['the root', '/'],
    ['the operations', '/readyz'],
  ])('%s: 404', async (_, target) => {
    const received = await get(target, `x-forwarded-host: ${MARK}\r\nreferer: http://${MARK}/\r\n`);
    expect(statusOf(received)).toBe(404);
    expect(received).not.toContain(MARK);
    expectHarmless(received);
  });

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PATCH', 'get', 'PROPFIND', 'X-REFLECTED'])(
    '%s: 405',
    async method => {
      const received = await send(`${method} ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\nx: ${MARK}\r\n\r\n`);
      expect(statusOf(received)).toBe(405);
      expect(received).toMatch(/^allow: GET, HEAD$/m);
      expect(received).not.toContain(MARK);
      expectHarmless(received);
    },
  );

  const good = `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n`;
  test.each([
    ['a space in the target', `GET ${PATH}${TOKEN} ${MARK} HTTP/1.1\r\nhost: a\r\n\r\n`, 400],
    ['a tab instead of a space', `GET\t${PATH}${TOKEN} HTTP/1.1\r\nhost: a\r\n\r\n`, 400],
    ['bytes above ASCII in the target', `GET ${PATH}\u00e9 HTTP/1.1\r\nhost: a\r\n\r\n`, 400],
    ['no version', `GET ${PATH}${TOKEN}\r\n\r\n`, 400],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['headers of 8 KiB', `${good}x: ${'a'.repeat(8192)}\r\n\r\n`, 431],
    ['a target of 8 KiB', `GET ${PATH}${'A'.repeat(9000)}`, 431],
    ['headers without an end', `${good}x: ${'a'.repeat(200_000)}`, 431],
  ])('%s: refused', async (_, bytes, status) => {
    const received = await send(Buffer.from(bytes, 'latin1'));
    expect(statusOf(received)).toBe(status);
    expect(received).not.toContain(MARK);
    expectHarmless(received);
  });
});

describe('a connection', () => {
  // attack: challenge-responder
  test('gets one answer, however many requests were pipelined', async () => {
    const one = `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n\r\n`;
    const received = await send(one.repeat(2000));
    expect(bodyOf(received)).toBe(`${TOKEN}.${THUMBPRINT}`);
    expectHarmless(received);
  });

  test.each([
    ['a length', 'content-length: 500000\r\n'],
    ['chunks', 'transfer-encoding: chunked\r\n'],
    ['both', 'content-length: 3\r\ntransfer-encoding: chunked\r\n'],
    ['two lengths', 'content-length: 3\r\ncontent-length: 4\r\n'],
    ['a length that is none', 'content-length: -1\r\n'],
  ])('with a body of %s gets its answer, which a request in the body does not change', async (_, fields) => {
    const raw = client.open(`POST ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n${fields}\r\n`);
    raw.socket.write(`GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a\r\n\r\n`);
    raw.socket.write('a'.repeat(400_000));
    const received = await closed(raw);
    expect(statusOf(received)).toBe(405);
    expectHarmless(received);
  });

  test('that sends one byte at a time gets its answer', async () => {
    const raw = client.open('');
    for (const character of `GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n\r\n`) {
      raw.socket.write(character);
      await delay(1);
    }
    expect(bodyOf(await closed(raw))).toBe(`${TOKEN}.${THUMBPRINT}`);
  });

  test('that does not complete its request in time gets 408, and one that sends nothing gets nothing', async () => {
    const [slow, idle] = [client.open(`GET ${PATH}`), client.open('')];
    const trickle = setInterval(() => slow.socket.write('a'), 500);
    slow.socket.once('close', () => clearInterval(trickle));
    const received = await closed(slow);
    expect(statusOf(received)).toBe(408);
    expectHarmless(received);
    expect(await closed(idle)).toBe('');
  });

  test('that ends before its request is complete gets nothing', async () => {
    const raw = client.open(`GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n`);
    raw.socket.end();
    expect(await closed(raw)).toBe('');
  });

  test('is closed although the peer never stops sending', async () => {
    const raw = client.open(`GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a.example\r\n\r\n`);
    const flood = setInterval(() => raw.socket.write('a'.repeat(65_536)), 1);
    raw.socket.once('close', () => clearInterval(flood));
    expect(bodyOf(await closed(raw))).toBe(`${TOKEN}.${THUMBPRINT}`);
  });

  // attack: challenge-responder
  test('of a client that pools its connections is never used for a second request', async () => {
    const agent = new Agent({keepAlive: true, maxSockets: 4});
    const answers = await Promise.all(
      Array.from({length: 200}, async (_, number) => {
        const {promise, resolve, reject} = Promise.withResolvers<number | undefined>();
        const [method, body] = number % 3 === 0 ? ['POST', 'a'.repeat(100_000)] : ['GET', ''];
        const sent = request({port: responder.port, host: '127.0.0.1', path: `${PATH}${TOKEN}`, method, agent});
        sent.once('response', response => response.resume().once('end', () => resolve(response.statusCode)));
        sent.once('error', reject);
        sent.end(body);
        return await promise;
      }),
    );
    agent.destroy();
    expect(answers).toEqual(answers.map((_, number) => (number % 3 === 0 ? 405 : 200)));
  });
});

// attack: challenge-responder
test('thousands of connections that send half a request neither exhaust it nor keep others out', async () => {
  const before = await residentBytes(responder);
  const slow = client.many(3000, `GET ${PATH}`);
  await until('the oldest connections are closed', () => slow.filter(raw => raw.closed).length >= 1000);
  expect(bodyOf(await get(`${PATH}${TOKEN}`))).toBe(`${TOKEN}.${THUMBPRINT}`);
  expect((await responder.operations('/healthz')).status).toBe(200);
  await expectGrowth(responder, before, {below: 64 * MIB});
  client.closeAll();
});

test('counts its answers', async () => {
  const count = async () => {
    const {body} = await responder.operations('/metrics');
    return Number(/^nameplate_challenges_answers_total\{status="200"\} (\d+)$/m.exec(body)?.[1]);
  };
  await get(`${PATH}${TOKEN}`);
  const before = await count();
  await get(`${PATH}${TOKEN}`);
  expect(await count()).toBe(before + 1);
});

test('without a thumbprint, it is not ready and answers no challenge, and it follows changes of the file', async () => {
  const own = await startResponder();
  const at = new RawClient(own);
  const answer = () => closed(at.open(`GET ${PATH}${TOKEN} HTTP/1.1\r\nhost: a\r\n\r\n`));
  const isReady = async () => (await own.operations('/readyz')).status === 200;
  expect(await own.operations('/readyz')).toMatchObject({
    status: 503,
    body: expect.stringMatching(/^\[-\]thumbprint .*\/thumbprint does not exist\. The operator writes it once/m),
  });
  expect((await own.operations('/healthz')).status).toBe(200);
  const refused = await answer();
  expect(statusOf(refused)).toBe(503);
  expect(refused).toMatch(/^retry-after: 5$/m);
  expectHarmless(refused);
  await own.mount(THUMBPRINT);
  await until('it is ready', isReady);
  expect(bodyOf(await answer())).toBe(`${TOKEN}.${THUMBPRINT}`);
  await own.mount(OTHER);
  await until('it answers with the other key', async () => bodyOf(await answer()) === `${TOKEN}.${OTHER}`);
  for (const wrong of ['', `${OTHER}A`, `${OTHER}\n${OTHER}`, `<b>${OTHER.slice(3)}`]) {
    await own.mount(wrong);
    await until(`it is not ready with ${wrong}`, async () => statusOf(await answer()) === 503 && !(await isReady()));
    await own.mount(OTHER);
    await until('it is ready again', isReady);
  }
  await own.mount();
  await until('it is not ready', async () => !(await isReady()));
  expect(await own.stop()).toBe(0);
});

test('a shutdown completes what has begun', async () => {
  const own = await startResponder(THUMBPRINT);
  const at = new RawClient(own);
  const raw = at.open(`GET ${PATH}${TOKEN} HTTP/1.1\r\n`);
  await until('it has the connection', async () => (await own.operations('/healthz')).status === 200);
  const stopped = own.stop();
  const refused = async () => {
    const {promise, resolve} = Promise.withResolvers<boolean>();
    const {socket} = at.open('');
    socket.once('connect', () => resolve(false)).once('close', () => resolve(true));
    return await promise;
  };
  await until('it accepts no more', refused);
  raw.socket.write('host: a\r\n\r\n');
  expect(bodyOf(await closed(raw))).toBe(`${TOKEN}.${THUMBPRINT}`);
  expect(await stopped).toBe(0);
});
