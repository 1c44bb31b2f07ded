import {expect, test} from 'vitest';
import {sweptUntil} from './compare.ts';
import type {MessageRow} from './source.ts';

const NOW = 1_000_000;
const waiting: MessageRow = {
  account: 'a',
  id: '1',
  lease: null,
  created_at: '1',
  available_at: null,
  lease_until: null,
  finished_at: null,
  bytes: '3',
  attempts: '1',
  status: 'waiting',
  reason: null,
  literal: '"x"',
};
const leased = (until: number): MessageRow => ({
  ...waiting,
  status: 'leased',
  lease: 'lease',
  lease_until: `${until}`,
  available_at: `${until + 1000}`,
});
const [ended, running] = [leased(NOW), leased(NOW + 1)];
const done: MessageRow = {...ended, status: 'done', lease_until: null, available_at: null, finished_at: '2'};
const dead: MessageRow = {...waiting, status: 'dead', finished_at: `${NOW}`};

test.each<[what: string, ours: MessageRow, theirs: MessageRow | undefined, isAllowed: boolean]>([
  ['a lease ended', ended, waiting, true],
  ['a last lease ended', ended, dead, true],
  ['a done message was deleted', done, undefined, true],
  ['a dead message was deleted', dead, undefined, true],
  ['a nack before the lease ended', running, waiting, false],
  ['a last nack before the lease ended', running, dead, false],
  ['a nack with a reason', ended, {...waiting, reason: '"r"'}, false],
  ['a nack with a delay', ended, {...waiting, status: 'delayed', available_at: `${NOW}`}, false],
  ['an ack', ended, done, false],
  ['a claim after the lease ended', ended, {...running, attempts: '2'}, false],
  ['the same after that lease ended, too', ended, {...waiting, attempts: '2'}, false],
  ['a claim of a waiting message', waiting, {...running, attempts: '2'}, false],
  ['an ack, and then deleted', ended, undefined, false],
  ['a waiting message is gone', waiting, undefined, false],
  ['another message', ended, {...waiting, id: '2'}, false],
  ['another body', ended, {...waiting, literal: '"y"'}, false],
])('%s: whether a sweep can have done it', (_, ours, theirs, isAllowed) => {
  expect(sweptUntil(NOW).message(ours, theirs)).toBe(isAllowed);
});

test('a key may have been deleted, but not replaced', () => {
  const key = {account: 'a', key: 'k', fingerprint: 'f', id: '1', created_at: '1'};
  expect(sweptUntil(NOW).key(key, undefined)).toBe(true);
  expect(sweptUntil(NOW).key(key, {...key, id: '2'})).toBe(false);
});
