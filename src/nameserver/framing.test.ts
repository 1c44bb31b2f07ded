import {expect, test} from 'vitest';
import {Framing} from './framing.ts';

const MESSAGES = ['first', 'x', 'y'.repeat(1232)];
const STREAM = Buffer.concat(MESSAGES.map(text => Framing.frame(Buffer.from(text))));

test.each([1, 2, 3, 7, 1000, STREAM.length])('messages arrive in pieces of %i bytes', size => {
  const framing = new Framing();
  const received: string[] = [];
  for (let at = 0; at < STREAM.length; at += size) {
    for (const message of framing.add(STREAM.subarray(at, at + size))) received.push(Buffer.from(message).toString());
  }
  expect(received).toEqual(MESSAGES);
  expect(framing.isBroken).toBe(false);
});

test.each([
  ['nothing', 0],
  ['more than a query', 1233],
  ['as much as possible', 0xffff],
])('a stream that announces %s is broken, after the queries before it', (_, length) => {
  const framing = new Framing();
  const announced = Buffer.from([length >> 8, length & 0xff]);
  const chunk = Buffer.concat([Framing.frame(Buffer.from('good')), announced, Buffer.alloc(70_000)]);
  const received = [...framing.add(chunk)].map(message => Buffer.from(message).toString());
  expect(received).toEqual(['good']);
  expect(framing.isBroken).toBe(true);
  expect([...framing.add(STREAM)]).toEqual([]);
});
