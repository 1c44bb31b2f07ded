import {expect, test} from 'vitest';
import {type Charges, decideAck, decideAppend, decideNack, keyCost, messageCost, type StoredStatus} from './rules.ts';

const NOW = 10_000;
const COST = messageCost({account: 'a', bytes: 3, reasonBytes: 0});
const KEY_COST = keyCost('a', 'k');
const rules = (accountBytes: number) => ({
  maxAttempts: 3,
  accountBytes,
  retention: {doneMs: 1, deadMs: 1, idempotencyMs: 1000},
});

class Stored implements Charges {
  bytes: number;
  constructor(bytes: number) {
    this.bytes = bytes;
  }
  of(): number {
    return this.bytes;
  }
  add(_: string, bytes: number): void {
    this.bytes += bytes;
  }
}

const kept = {fingerprint: 'same', id: 'msg_1', createdAt: NOW - 999};
const STORED = {kind: 'new', literal: '"x"', bytes: 3};
test.each([
  {what: 'a message that fits', key: false, of: COST, want: STORED, charged: COST},
  {what: 'a byte too many', key: false, of: COST - 1, want: {kind: 'quota'}, charged: 0},
  {what: 'a new key', key: true, of: COST + KEY_COST, want: STORED, charged: COST + KEY_COST},
  {what: 'a byte too many with a key', key: true, of: COST + KEY_COST - 1, want: {kind: 'quota'}, charged: 0},
  {what: 'a repeat', key: true, kept, of: 0, want: {kind: 'replayed', id: 'msg_1', createdAt: 9001}, charged: 0},
  {what: 'another body', key: true, kept: {...kept, fingerprint: 'x'}, of: 0, want: {kind: 'mismatch'}, charged: 0},
  {what: 'a key that has expired', key: true, kept: {...kept, createdAt: 9000}, of: COST, want: STORED, charged: COST},
])('append: $what', ({key, kept: before, of, want, charged}) => {
  const stored = new Stored(0);
  const idempotency = {key: 'k', fingerprint: 'same'};
  const message = {account: 'a', message: 'x', ...(key && {idempotency})};
  expect(decideAppend(message, before, stored, rules(of), NOW)).toEqual(want);
  expect(stored.bytes).toBe(charged);
});

const LEASED = {status: 'leased', lease: 'l', leaseUntil: NOW + 1, attempts: 1, reasonBytes: 0} as const;
const ref = {account: 'a', id: 'msg_1', lease: 'l'};
const LOST = {outcome: {kind: 'lease-lost'}};
const settled = (status: 'queued' | 'done' | 'dead', attempts = 1) => ({kind: 'settled', status, attempts});

test.each([
  {what: 'before its end', found: {}, ack: {outcome: settled('done'), change: 'done'}, isBack: true},
  {what: 'at its end', found: {leaseUntil: NOW}, ack: LOST, isBack: false},
  {what: 'of another worker', found: {lease: 'm'}, ack: LOST, isBack: false},
  {
    what: 'of a message that was given back',
    found: {status: 'waiting' as StoredStatus, lease: null, leaseUntil: 0},
    ack: LOST,
    isBack: false,
  },
  {
    what: 'with which the message was acknowledged',
    found: {status: 'done' as StoredStatus, leaseUntil: 0},
    ack: {outcome: settled('done')},
    isBack: false,
  },
])('a lease $what: it can be acknowledged, and given back: $isBack', ({found, ack, isBack}) => {
  const message = {...LEASED, ...found};
  expect(decideAck(message, ref, NOW)).toEqual(ack);
  const nack = decideNack(message, {...ref, delayMs: 0}, new Stored(0), rules(0), NOW);
  expect(nack).toEqual(
    isBack
      ? {outcome: settled('queued'), change: {status: 'waiting', availableAt: null, finishedAt: null, reason: null}}
      : LOST,
  );
});

test('a message that is not there is unknown', () => {
  const unknown = {outcome: {kind: 'unknown-message'}};
  expect(decideAck(undefined, ref, NOW)).toEqual(unknown);
  expect(decideNack(undefined, {...ref, delayMs: 0}, new Stored(0), rules(0), NOW)).toEqual(unknown);
});

test.each([
  {attempts: 2, delayMs: 5, want: {status: 'delayed', availableAt: NOW + 5, finishedAt: null}, shown: 'queued'},
  {attempts: 3, delayMs: 5, want: {status: 'dead', availableAt: null, finishedAt: NOW}, shown: 'dead'},
] as const)('given back after $attempts attempts: $shown', ({attempts, delayMs, want, shown}) => {
  const nack = decideNack({...LEASED, attempts}, {...ref, delayMs}, new Stored(0), rules(0), NOW);
  expect(nack).toEqual({outcome: settled(shown, attempts), change: {...want, reason: null}});
});

test.each([
  {what: 'within the quota', reason: 'four', before: 1, of: 15, want: '"four"', left: 15},
  {what: 'beyond it', reason: 'four', before: 1, of: 14, want: null, left: 9},
  {what: 'that is shorter than the last, beyond it', reason: 'four', before: 7, of: 0, want: '"four"', left: 9},
  {what: 'that is absent', before: 5, of: 0, want: null, left: 5},
])('a reason $what', ({reason, before, of, want, left}) => {
  const stored = new Stored(10);
  const nack = {...ref, delayMs: 0, ...(reason && {reason})};
  expect(decideNack({...LEASED, reasonBytes: before}, nack, stored, rules(of), NOW).change?.reason).toBe(want);
  expect(stored.bytes).toBe(left);
});
