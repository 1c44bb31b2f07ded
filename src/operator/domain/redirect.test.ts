import {expect, test} from 'vitest';
import {followRedirects, type Hop} from './redirect.ts';

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

test('a chain as long as a Project can list ends', () => {
  const hops = Array.from({length: 500}, (_, index) => `h${index}>h${index + 1}`);
  const {start, hop} = chain([...hops, 'h500'].join(' '));
  expect(followRedirects(start, hop)).toEqual({kind: 'serves', host: 'h500'});
});
