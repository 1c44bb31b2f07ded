import type {IncomingMessage} from 'node:http';
import {expect, test} from 'vitest';
import {announcedBytes} from './body.ts';

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
