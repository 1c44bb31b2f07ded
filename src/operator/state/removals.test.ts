import pino from 'pino';
import {Registry} from 'prom-client';
import {beforeEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {ANNOTATION} from '../../api/names.ts';
import {Store} from '../../runtime/cache/store.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {Removals} from './removals.ts';

const HOUR_MS = 3_600_000;

let clock: ManualClock;
let namespaces: Store<KubeObject>;
let removals: Removals;
let told: string[];
let events: string[];

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2026, 10, 21));
  namespaces = new Store<KubeObject>({
    onHandlerError: error => {
      throw error;
    },
  });
  [told, events] = [[], []];
  removals = create();
});

function create(): Removals {
  const created = new Removals({
    limits: {perAccount: 2, total: 5, windowSeconds: 3600},
    namespaces,
    namespace: 'nameplate',
    clock,
    logger: pino({level: 'silent'}),
    registry: new Registry(),
    events: {event: (_, type, reason) => void events.push(`${type} ${reason}`)},
    regarding: {apiVersion: 'v1', kind: 'Pod', metadata: {name: 'nameplate-1'}},
  });
  created.subscribe((removed, key) => void told.push(`${removed} ${key}`));
  return created;
}

function admit(account: string, host: string, wasHeld = false): boolean {
  return removals.admit({removed: 'route', key: `${account}/${host}`, account, wasHeld});
}

function allow(until: string): void {
  const annotations = {[ANNOTATION.allowRemovalsUntil]: until};
  namespaces.upsert({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {name: 'nameplate', resourceVersion: until, annotations},
  });
}

test('an account beyond its limit holds up no other account, and one removal counts once', () => {
  expect([admit('a', '1'), admit('a', '1'), admit('a', '2'), admit('a', '3'), admit('b', '1')]).toEqual([
    true,
    true,
    true,
    false,
    true,
  ]);
  expect(told).toEqual(['route a/3']);
  expect(removals.warning()).toContain('annotate --overwrite namespace nameplate nameplate.dev/allow-removals-until=');
});

test('a step of the clock forgets no removal', () => {
  admit('a', '1');
  admit('a', '2');
  clock.step(2 * HOUR_MS);
  expect(admit('a', '3')).toBe(false);
});

test('many accounts together reach the total, which one Event reports', () => {
  const admitted = ['a', 'b', 'c', 'd', 'e', 'f'].map(account => admit(account, '1'));
  expect(admitted).toEqual([true, true, true, true, true, false]);
  expect(admit('g', '1')).toBe(false);
  expect(events).toEqual(['Warning RemovalsHeld']);
});

test('a few accounts that reach their own limits hold up no other account', () => {
  const accounts = ['a', 'b', 'c', 'd'];
  for (const account of accounts) for (const host of ['1', '2']) expect(admit(account, host)).toBe(true);
  expect(accounts.map(account => admit(account, '3'))).toEqual([false, false, false, false]);
  expect(admit('e', '1')).toBe(true);
});

test('old removals do not count, but what is held stays held', () => {
  for (const host of ['1', '2']) admit('a', host);
  void clock.advance(HOUR_MS + 1);
  expect([admit('a', '3'), admit('a', '4'), admit('a', '5')]).toEqual([true, true, false]);
  void clock.advance(HOUR_MS + 1);
  expect(admit('a', '5')).toBe(false);
});

test('what a former leader held is held by the next one', () => {
  expect(admit('a', '1', true)).toBe(false);
  expect(admit('a', '2')).toBe(false);
  expect(admit('b', '1')).toBe(true);
});

test('until the time that a person sets, all removals are allowed, and subscribers hear of each held one', () => {
  for (const host of ['1', '2', '3', '4']) admit('a', host);
  told = [];
  allow('tomorrow');
  expect(admit('a', '3')).toBe(false);
  allow(new Date(clock.now() + HOUR_MS).toISOString());
  expect(told).toEqual(['route a/3', 'route a/4']);
  expect(['3', '4', '5'].map(host => admit('a', host, true))).toEqual([true, true, true]);
  expect(removals.warning()).toBeUndefined();
  void clock.advance(HOUR_MS);
  expect(['6', '7', '8'].map(host => admit('a', host))).toEqual([true, true, false]);
});

test('a removal that is no longer needed is no longer held', () => {
  for (const host of ['1', '2', '3']) admit('a', host);
  told = [];
  removals.forget('route', 'a/3');
  expect(removals.isHeld('route', 'a/3')).toBe(false);
  removals.forget('route', 'a/3');
  expect(told).toEqual(['route a/3']);
});
