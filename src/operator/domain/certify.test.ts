import {beforeEach, expect, test} from 'vitest';
import {domainView} from '../../../test/support/memory-operator.ts';
import {explainShortage} from '../claim/order-windows.ts';
import {OrderSchedule} from '../issuer/order-schedule.ts';
import type {ACMEIssuer} from '../kinds/kinds.ts';
import {awaitOrder} from './certify.ts';

const ISSUER = {name: 'ca', kind: 'ACMEIssuer', group: 'nameplate.dev'};
/** The defaults of the CRD. */
const LIMITS = {
  ...{orders: 300, windowSeconds: 10_800, renewalReserve: 60},
  ...{newHostsPerDomain: 50, domainWindowSeconds: 604_800, ordersPerHost: 5, hostWindowSeconds: 3600},
};
const NOW = Date.parse('2026-11-21T12:00:00Z');
const minutes = (n: number) => NOW + n * 60_000;
const TOLD = {
  type: 'CertificateReady',
  status: 'False',
  reason: 'OrderBudget',
  message: 'It is still queued.',
} as const;

let orderSchedule: OrderSchedule;
beforeEach(() => {
  orderSchedule = new OrderSchedule();
});

/** `told`: the time of the order in the status; absent: the status has none. */
function turn(told?: number, isIssuing = true, issuerRef = ISSUER) {
  const issuer = {metadata: {name: 'ca'}, spec: {server: 'https://ca.test/dir', limits: LIMITS}} as ACMEIssuer;
  const acmeIssuers = {get: (name: string) => (name === 'ca' ? issuer : undefined)};
  const status = told !== undefined && {
    conditions: [{...TOLD, lastTransitionTime: ''}],
    certificate: {nextAttemptAt: new Date(told).toISOString()},
  };
  const {domain} = domainView();
  const view = domainView({host: 'a.test', domain: {...domain, ...(status && {status})}, nowMs: NOW});
  return awaitOrder({orderSchedule, stores: {acmeIssuers}}, view, issuerRef, isIssuing);
}

test('after a restart, the reported time stays until the orders are planned again', () => {
  expect(turn(minutes(30))).toMatchObject({condition: TOLD, nextAttemptAtMs: minutes(30)});
  expect(turn(minutes(30))?.wakeAtMs).toBeLessThan(minutes(1));
});

test('after a restart, no time is reported if none was reported before', () => {
  expect(turn()).toBeUndefined();
});

test('if no order is waiting, no time is reported, even if one was reported before', () => {
  orderSchedule.publish('ca', new Map());
  expect(turn(minutes(30))).toBeUndefined();
});

test.each([
  {case: 'a first time', told: undefined, planned: 20, want: 20},
  {case: 'an earlier time', told: 30, planned: 20, want: 20},
  {case: 'a later time is not told before the one that was told is over', told: 30, planned: 40, want: 30},
  {case: 'a later time, once the one that was told is over', told: -1, planned: 40, want: 40},
])('$case', ({told, planned, want}) => {
  orderSchedule.publish('ca', new Map([['a/a.test', {atMs: minutes(planned), shortage: 'orders'}]]));
  const result = turn(told === undefined ? undefined : minutes(told));
  expect(result).toMatchObject({condition: {reason: 'OrderBudget'}, nextAttemptAtMs: minutes(want)});
});

test('a renewal that waits for the budget reports nothing: the current certificate serves', () => {
  orderSchedule.publish('ca', new Map([['a/a.test', {atMs: minutes(20), shortage: 'orders'}]]));
  expect(turn(undefined, false)).toBeUndefined();
});

test('a certificate of another issuer waits for no order', () => {
  orderSchedule.publish('ca', new Map([['a/a.test', {atMs: minutes(20), shortage: 'orders'}]]));
  const other = {name: 'ca', kind: 'ClusterIssuer', group: 'cert-manager.io'};
  expect(turn(undefined, true, other)).toBeUndefined();
});

test.each([
  {shortage: 'orders', want: 'at the certificate authority is 300 orders in 3 hours, shared by all tenants.'},
  {shortage: 'domain', want: 'the limit for shop.example is 50 new hosts in 7 days, across all accounts.'},
  {shortage: 'host', want: 'the limit for one host is 5 orders in 60 minutes.'},
] as const)('$shortage: which limit it is', ({shortage, want}) => {
  expect(explainShortage(shortage, 'www.shop.example', LIMITS)).toContain(want);
});
