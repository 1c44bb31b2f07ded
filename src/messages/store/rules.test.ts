import {expect, test} from 'vitest';
import {keyCost, messageCost} from './cost.ts';
import {type Charges, chargeReason, decideAppend, isHeld} from './rules.ts';

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

test.each([
  {what: 'before its end', status: 'leased', lease: 'l', leaseUntil: NOW + 1, want: true},
  {what: 'at its end', status: 'leased', lease: 'l', leaseUntil: NOW, want: false},
  {what: 'of another worker', status: 'leased', lease: 'm', leaseUntil: NOW + 1, want: false},
  {what: 'of a message that was given back', status: 'queued', lease: null, leaseUntil: 0, want: false},
  {what: 'with which the message was acknowledged', status: 'done', lease: 'l', leaseUntil: 0, want: true},
])('the lease $what holds: $want', ({want, ...message}) => {
  expect(isHeld(message, 'l', NOW)).toBe(want);
});

test.each([
  {what: 'within the quota', reason: 'four', before: 1, of: 13, want: 'four', left: 13},
  {what: 'beyond it', reason: 'four', before: 1, of: 12, want: null, left: 9},
  {what: 'that is shorter than the last, beyond it', reason: 'four', before: 5, of: 0, want: 'four', left: 9},
  {what: 'that is absent', reason: null, before: 5, of: 0, want: null, left: 5},
])('a reason $what', ({reason, before, of, want, left}) => {
  const stored = new Stored(10);
  expect(chargeReason('a', reason, before, stored, rules(of))).toBe(want);
  expect(stored.bytes).toBe(left);
});
