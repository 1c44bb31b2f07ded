/** How many requests may be in progress at a time, per account. */

import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {keyOf} from '../../runtime/kube/object.ts';
import type {CertificateRequest} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {KnownSince} from '../state/known-since.ts';
import {SlotReservations} from '../state/slot-reservations.ts';
import {INDEX} from '../state/stores.ts';
import {Slots} from './slots.ts';

const LIMITS = {inProgress: 50, inProgressPerAccount: 10, renewalReserve: 10, timeoutSeconds: 900};

/** Requests whose approval the cache does not show yet. */
const waiting = ['one', 'two'].map(name => ({metadata: {namespace: 'a', name, uid: name}}) as CertificateRequest);

const NOW = Date.parse('2026-11-21T12:00:00Z');

interface World {
  /** The namespaces of challenges whose requests have ended; each is its own account. */
  readonly challenges?: readonly string[];
  /** The reasons for which requests of account a were approved a moment ago. */
  readonly approved?: readonly string[];
}

function slots({challenges = [], approved = []}: World = {}, reservations = new SlotReservations()): Slots {
  const requests = approved.map(reason => ({
    metadata: {namespace: 'a'},
    spec: {request: ''},
    status: {conditions: [{type: 'Approved', status: 'True', reason, lastTransitionTime: new Date(NOW).toISOString()}]},
  }));
  const stores = {
    challenges: {
      list: () => challenges.map(namespace => ({metadata: {namespace}, spec: {dnsName: 'a.test'}})),
      byIndex: () => [],
    },
    certificateRequests: {
      byIndex: (name: string) => (name === INDEX.inProgress ? requests : []),
      get: (key: string) => waiting.find(request => keyOf(request) === key),
    },
    namespaces: {get: (name: string) => ({metadata: {uid: name}})},
  };
  const config = {certificates: {challenges: LIMITS}};
  const knownSince = new KnownSince(new ManualClock(NOW));
  return new Slots({stores, config, knownSince, reservations} as unknown as Operator);
}

/** How many of `count` get a slot. */
function taken(from: Slots, account: string, count: number, renewal = false): number {
  return Array.from({length: count}, () => from.take(account, renewal)).filter(Boolean).length;
}

test('an account gets no more than its limit, however many slots are free', () => {
  expect(taken(slots(), 'a', 100)).toBe(10);
});

test('accounts that take as many slots as they can leave one for the next account that has none', () => {
  const all = slots();
  for (const account of ['a', 'b', 'c', 'd', 'e']) taken(all, account, 100);
  expect(taken(all, 'next', 1)).toBe(1);
});

test('renewals have their own slots', () => {
  const all = slots();
  const many = Array.from({length: 100}, (_, n) => `account-${n}`);
  expect(many.filter(account => all.take(account, false))).toHaveLength(40);
  expect(all.take('next', false)).toBe(false);
  expect(many.filter(account => all.take(account, true)).length).toBeGreaterThanOrEqual(9);
});

test('a challenge whose request has ended keeps its slot until it is gone', () => {
  const all = slots({challenges: ['a', 'a', 'b']});
  expect(taken(all, 'a', 100)).toBe(8);
  expect(taken(all, 'b', 100)).toBe(9);
});

test('a request for a host takes a slot; one for Services or from the platform takes none', () => {
  const approved = ['HostHeld', 'DefaultHost', 'OwnServices', 'NamespaceExempt'];
  expect(taken(slots({approved}), 'a', 100)).toBe(8);
});

test('a request that is being approved has its slot, until it is known that it was not approved', async () => {
  const reservations = new SlotReservations();
  for (const request of waiting) reservations.add('a', request);
  expect(taken(slots({}, reservations), 'a', 100)).toBe(8);
  const [one, two] = waiting as [CertificateRequest, CertificateRequest];
  await reservations.releaseUnless(one, async () => true);
  await expect(reservations.releaseUnless(two, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(taken(slots({}, reservations), 'a', 100)).toBe(9);
});
