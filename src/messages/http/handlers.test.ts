import {expect, test} from 'vitest';
import type {LeasedMessage, MessageStore} from '../store/store.ts';
import {createHandlers, type Subject} from './handlers.ts';

const SHORT = 16_384;

/** A claim that gets these messages: about how long the response is if it is long, and how long it may wait then. */
async function claim(leaseSeconds: number, ...messages: string[]) {
  const limits: number[] = [];
  const hold = {room: async () => undefined, limit: (ms: number) => limits.push(ms)};
  const leased = messages.map((message, n): LeasedMessage => {
    return {id: `m${n}`, message, status: 'leased', createdAt: 0, attempts: 1, lease: 'l', leaseUntil: 0};
  });
  const store = {perform: async () => leased} as unknown as MessageStore;
  const handlers = createHandlers({store, bodyBytes: 262_144, onAccepted: () => undefined});
  const subject = {account: 'a', hold, id: undefined, fingerprint: undefined} as unknown as Subject;
  const {
    longBytes,
    body,
    text = JSON.stringify(body),
  } = await handlers.claim(subject, {body: {limit: 9, leaseSeconds}});
  expect(text).toBe(JSON.stringify(body));
  return {longBytes, limits};
}

test.each([
  {what: '16,384 letters is short', messages: ['x'.repeat(SHORT)], longBytes: undefined},
  {what: '16,385 letters, in two messages, is long', messages: ['x'.repeat(SHORT), 'y'], longBytes: SHORT + 1},
  {what: '1,000 control characters is short', messages: ['\u0001'.repeat(1000)], longBytes: undefined},
  {
    what: '16,384 control characters is long: 98 KB of JSON',
    messages: ['\u0001'.repeat(SHORT)],
    longBytes: expect.closeTo(6 * SHORT, -3),
  },
])('a response of $what', async ({messages, longBytes}) => {
  expect(await claim(30, ...messages)).toMatchObject({longBytes});
});

test('a long response to a claim waits for its turn for half of the lease at most', async () => {
  expect(await claim(30, 'x'.repeat(SHORT + 1))).toMatchObject({limits: [15_000]});
  expect(await claim(30, 'x')).toMatchObject({limits: []});
});
