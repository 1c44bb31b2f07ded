/** Orders that wait for the CA while its budget is used up. The event loop may turn after each step. */
import {
  type CaLimits,
  decideOrders,
  type PlacedOrder,
  type WaitingOrder,
} from '../../src/operator/claim/order-windows.ts';
import {median} from '../statistics.ts';
import {type Figure, measure, print} from './table.ts';

const HOUR = 3_600_000;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const COUNT = 10_000;
/** The defaults of an ACMEIssuer. */
const LIMITS: CaLimits = {
  ...{orders: 300, windowSeconds: 10_800, renewalReserve: 60},
  ...{newHostsPerDomain: 50, domainWindowSeconds: 604_800, ordersPerHost: 5, hostWindowSeconds: 3600},
};

function orders(count: number, of: (n: number) => Partial<WaitingOrder>): WaitingOrder[] {
  return Array.from({length: count}, (_, n) => {
    const base = {account: 'a', domain: 'uni.example', renewal: false, sinceMs: NOW - n};
    return {...base, key: `k${n}`, host: `h${n}.uni.example`, ...of(n)};
  });
}

function made(count: number, agoMs: number, everyMs: number, of: (n: number) => Partial<PlacedOrder>): PlacedOrder[] {
  return Array.from({length: count}, (_, n) => {
    const base = {host: `m${n}`, account: `m${n}`, domain: `m${n}`, renewal: false};
    return {...base, ...of(n), atMs: NOW - agoMs - n * everyMs};
  });
}

export function bench(): void {
  const before = [
    ...made(5000, 4 * HOUR, 60_000, n => ({host: `w${n}`, account: `w${n}`, domain: `w${n}`})),
    ...made(240, HOUR, 1000, () => ({})),
    ...made(50, 2 * HOUR, 1000, n => ({host: `u${n}`, account: 'a', domain: 'uni.example'})),
  ];
  const lines: [string, WaitingOrder[]][] = [
    ['10,000 hosts of one registrable domain at its limit', orders(COUNT, () => ({}))],
    ['10,000 hosts of as many domains', orders(COUNT, n => ({domain: `d${n}`}))],
    ['10,000 accounts with a host each', orders(COUNT, n => ({account: `a${n}`, domain: `d${n}`}))],
    ['10,000 requests for one host', orders(COUNT, () => ({host: 'a.example', domain: 'a.example'}))],
  ];
  print(
    lines.map(([what, line]): Figure => {
      const longest: number[] = [];
      const ms = measure(() => longest.push(longestStepMs(before, line)));
      return {what, ms, counted: `${median(longest).toFixed(1)} ms in one step at most`};
    }),
  );
}

function longestStepMs(before: readonly PlacedOrder[], line: readonly WaitingOrder[]): number {
  let longestMs = 0;
  const steps = decideOrders(before, line, LIMITS, NOW);
  for (let isDone = false; !isDone; ) {
    const startsAt = performance.now();
    isDone = steps.next().done ?? false;
    longestMs = Math.max(longestMs, performance.now() - startsAt);
  }
  return longestMs;
}
