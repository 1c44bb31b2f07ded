import {once} from 'node:events';
import {createServer, type IncomingMessage, type Server} from 'node:http';
import {type AddressInfo, connect} from 'node:net';
import {afterEach, expect, test} from 'vitest';
import {announcedBytes, readJsonBody} from './body.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

const requestOf = (contentType: string) =>
  ({headers: {'content-type': contentType, 'content-length': '15'}}) as unknown as IncomingMessage;

test.each(['application/json', 'Application/JSON ; charset="UTF-8"', 'application/problem+json;charset=utf-8'])(
  'a body of type %s is read',
  type => {
    expect(announcedBytes(requestOf(type), 100)).toBe(15);
  },
);

test.each(['', 'json', 'text/json', 'application/json; charset=latin1', 'application/jsonp'])(
  'a body of type %j is refused',
  type => {
    expect(announcedBytes(requestOf(type), 100)).toMatchObject({status: 400});
  },
);

// attack: message-work
test.each([
  ['its name', `application/json${' '.repeat(1_000_000)}x`],
  ['the value of a parameter', `application/json;a=b${' '.repeat(1_000_000)}x`],
])('a type with a million spaces in %s is refused as fast as it is read', (_, type) => {
  expect(announcedBytes(requestOf(type), 100)).toMatchObject({status: 400});
});

/** The client sends these chunks and ends the connection. Returns what was read, and the work that was charged. */
async function readChunks(chunks: string) {
  const server = createServer().listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined); // A reset is one way of being cut off.
  client.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const charged: number[] = [];
  const read = readJsonBody(request, 1000, ['message'], work => charged.push(work));
  client.end(chunks);
  const body = await read;
  await new Promise(setImmediate); // Then, a refused one is charged.
  return {body, charged};
}

// attack: message-work
test('the chunks of a body whose client leaves before its end are charged, too', async () => {
  expect(await readChunks('1\r\nx\r\n'.repeat(500))).toEqual({body: undefined, charged: [500 * 64]});
});

// attack: message-work
test('extensions of chunks are charged as what they are, and refused beyond a limit', async () => {
  const extended = (text: string) => `1;${'x'.repeat(10_000)}\r\n${text}\r\n`;
  const {body, charged} = await readChunks(`${extended('{')}${extended('}')}0\r\n\r\n`);
  expect(body).toMatchObject({value: {}});
  expect(charged).toEqual([expect.closeTo(20_000, -2)]);
  const long = await readChunks(`${extended(' ').repeat(20)}0\r\n\r\n`);
  expect(long.body).toMatchObject({status: 413});
  expect(long.charged).toHaveLength(1);
  expect(long.charged[0]).toBeGreaterThan(65_536);
});
