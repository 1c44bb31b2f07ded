/**
 * Connections that one tenant opens to the messages API through the edge, whose address all tenants' connections come
 * from.
 */
import {readFile} from 'node:fs/promises';
import {connect, type TLSSocket} from 'node:tls';
import {afterAll, expect, it} from 'vitest';
import {until} from '../cluster/wait.ts';
import {MESSAGES_HOST} from '../support/install.ts';
import {newKey, type TenantKey} from './tenant-key.ts';
import {cluster} from './world.ts';

const CONNECTIONS = 4096;
const POSTS = 50;
const SECOND_MS = 1000;

const open = new Set<TLSSocket>();
afterAll(() => {
  for (const socket of open) socket.destroy();
});

// attack: message-connections
it('4,096 connections through the edge, each with an unfinished request, delay the POSTs of another account by less than a second', async () => {
  const [mine, theirs] = await Promise.all([newKey('connections-a'), newKey('connections-b')]);
  for (const key of [mine, theirs]) await key.until('', {status: 200});
  const quiet = await post(theirs);

  const ca = await readFile(cluster.info.roots, 'utf8');
  const head = [
    'POST /messages HTTP/1.1',
    `host: ${MESSAGES_HOST}`,
    `authorization: ${mine.authorization}`,
    'content-type: application/json',
    'content-length: 15',
  ];
  let [sent, ended] = [0, 0];
  for (let n = 0; n < CONNECTIONS; n++) {
    const socket = connect({host: cluster.info.ingress.address, port: 443, servername: MESSAGES_HOST, ca}, () => {
      socket.write(`${head.join('\r\n')}\r\n\r\n{"message"`, () => sent++);
    });
    open.add(socket);
    socket.on('error', () => undefined); // it was cut off
    socket.once('close', () => ended++);
    socket.resume();
    if (n % 64 === 63) await until('those before are sent', () => sent + ended > n);
  }
  const loud = await post(theirs);
  console.log(
    `POST of another account, ms (median, longest): quiet ${figures(quiet)}; with ${CONNECTIONS - ended} of ` +
      `${CONNECTIONS} connections still open ${figures(loud)}`,
  );
  expect(loud.map(({status}) => status)).toEqual(quiet.map(() => 202));
  // Not the longest ones: anything on a busy machine may delay a few.
  expect(median(loud) - median(quiet)).toBeLessThan(SECOND_MS);
});

interface Post {
  readonly status: number;
  readonly ms: number;
}

async function post(key: TenantKey): Promise<Post[]> {
  const posts: Post[] = [];
  for (let n = 0; n < POSTS; n++) {
    const start = performance.now();
    const {status} = await key.post('', {message: 'x'});
    posts.push({status, ms: performance.now() - start});
  }
  return posts;
}

function median(posts: readonly Post[]): number {
  return posts.map(({ms}) => ms).sort((a, b) => a - b)[POSTS >> 1] ?? Number.NaN;
}

function figures(posts: readonly Post[]): string {
  const longest = Math.max(...posts.map(({ms}) => ms));
  return `${median(posts).toFixed(0)}, ${longest.toFixed(0)}`;
}
