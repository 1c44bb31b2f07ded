import {expect, test} from 'vitest';
import {Accepted} from './conditions.ts';
import {followRedirects, type Hop, MAX_REDIRECTS} from './redirect-chain.ts';

/** "a>b c": a redirects to b, c serves. */
function chain(text: string): {start: Hop; hop: (host: string) => Hop | undefined} {
  const hops = text.split(' ').map((entry): Hop => {
    const [host = '', to] = entry.split('>');
    return {host, ...(to && {to})};
  });
  const start = hops[0];
  if (!start) throw new Error('a chain begins somewhere');
  return {start, hop: host => hops.find(entry => entry.host === host)};
}

test.each([
  ['a', {kind: 'serves', host: 'a'}],
  ['a>b b', {kind: 'serves', host: 'b'}],
  ['a>b b>c c>d d', {kind: 'serves', host: 'd'}],
  ['a>b', {kind: 'not-ours', host: 'b'}],
  ['a>b b>c', {kind: 'not-ours', host: 'c'}],
  ['a>a', {kind: 'loop', path: ['a', 'a']}],
  ['a>b b>a', {kind: 'loop', path: ['a', 'b', 'a']}],
  ['a>b b>c c>b', {kind: 'loop', path: ['b', 'c', 'b']}],
])('%s', (text, end) => {
  const {start, hop} = chain(text);
  expect(followRedirects(start, hop)).toEqual(end);
});

/** h0 redirects to h1, and so on; the last one redirects to `end`, or serves. Counts the hosts that are looked up. */
function longChain(redirects: number, end?: string) {
  const looked = {count: 0};
  const hopOf = (n: number): Hop => {
    const to = n < redirects ? `h${n + 1}` : end;
    return {host: `h${n}`, ...(to !== undefined && {to})};
  };
  const hop = (host: string) => {
    looked.count++;
    return hopOf(Number(host.slice(1)));
  };
  return {start: hopOf(0), hop, looked};
}

test('32 redirects in a row are followed', () => {
  const {start, hop} = longChain(32);
  expect(followRedirects(start, hop)).toEqual({kind: 'serves', host: 'h32'});
});

test.each([33, 500, 15_000, 50_000])('%d redirects in a row are too many, and at most 32 are looked up', count => {
  const {start, hop, looked} = longChain(count);
  expect(followRedirects(start, hop).kind).toBe('too-long');
  expect(looked.count).toBe(32);
});

// attack: bad-redirect
test('a loop of 5,001 hosts is refused in a message that names the first few', () => {
  const name = (host: string) => `${host}.${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.example.com`;
  const {start, hop, looked} = longChain(5000, 'h0');
  const end = followRedirects(start, hop);
  expect(looked.count).toBe(32);
  if (end.kind !== 'too-long') throw new Error(end.kind);
  const {reason, message} = Accepted.redirectChainTooLong(end.path.map(name), MAX_REDIRECTS);
  expect(reason).toBe('RedirectChainTooLong');
  expect(message).toContain(`${name('h0')} -> ${name('h1')} -> ${name('h2')} -> ${name('h3')} -> ... (28 more) -> `);
  expect(message.length).toBeLessThan(2048);
});

test('the message about the longest followed loop is short too', () => {
  const {start, hop} = longChain(32, 'h0');
  const end = followRedirects(start, hop);
  if (end.kind !== 'loop') throw new Error(end.kind);
  expect(Accepted.redirectLoop(end.path).message).toBe(
    'These redirects form a loop: h0 -> h1 -> h2 -> h3 -> ... (29 more) -> h0. Remove the redirect of one of these hosts, so that it serves the project.',
  );
});
