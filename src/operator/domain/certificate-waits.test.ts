import {beforeEach, expect, test} from 'vitest';
import {hostBytes, MAX_RECORD_BYTES} from '../../api/held-hosts-size.ts';
import {Refusals} from '../../runtime/controller/refusals.ts';
import type {Operator} from '../state/context.ts';
import {OrderSchedule} from '../state/order-schedule.ts';
import {awaitOrder, awaitWithdrawal} from './certificate-waits.ts';
import type {DomainView} from './view.ts';

const ISSUER = {name: 'ca', kind: 'ClusterIssuer', group: 'cert-manager.io'};
const ACCOUNT = 'ClusterIssuer/ca';
const NOW = Date.parse('2026-11-21T12:00:00Z');
const minutes = (n: number) => NOW + n * 60_000;
const TOLD = {type: 'CertificateReady', status: 'False', reason: 'OrderBudget', message: 'It is still queued.'};

let orderSchedule: OrderSchedule;
beforeEach(() => {
  orderSchedule = new OrderSchedule();
});

/** `told`: the time of the order in the status; absent: the status has none. */
function turn(told?: number, isAwaited = true) {
  const certificates = {
    issuerRef: ISSUER,
    orderBudget: {orders: 300, windowSeconds: 10_800},
    failureBudget: {failures: 5, windowSeconds: 3600},
  };
  const operator = {orderSchedule, config: {certificates}, stores: {certificateRequests: {}}} as unknown as Operator;
  const status = told !== undefined && {
    conditions: [TOLD],
    certificate: {nextAttemptAt: new Date(told).toISOString()},
  };
  const view = {key: 'a/a.test', host: 'a.test', namespace: 'a', domain: {...(status && {status})}, nowMs: NOW};
  return awaitOrder(operator, view as unknown as DomainView, ISSUER, isAwaited);
}

test('after a restart, the reported time stays until the orders are planned again', () => {
  expect(turn(minutes(30))).toMatchObject({condition: TOLD, nextAttemptAtMs: minutes(30)});
  expect(turn(minutes(30))?.wakeAtMs).toBeLessThan(minutes(1));
});

test('after a restart, no time is reported if none was reported before', () => {
  expect(turn()).toBeUndefined();
});

test('if no order is waiting, no time is reported, even if one was reported before', () => {
  orderSchedule.publish(ACCOUNT, new Map());
  expect(turn(minutes(30))).toBeUndefined();
});

test.each([
  {case: 'a first time', told: undefined, planned: 20, want: 20},
  {case: 'an earlier time', told: 30, planned: 20, want: 20},
  {case: 'a later time is not told before the one that was told is over', told: 30, planned: 40, want: 30},
  {case: 'a later time, once the one that was told is over', told: -1, planned: 40, want: 40},
])('$case', ({told, planned, want}) => {
  orderSchedule.publish(ACCOUNT, new Map([['a/a.test', {atMs: minutes(planned), shortage: 'orders'}]]));
  const result = turn(told === undefined ? undefined : minutes(told));
  expect(result).toMatchObject({condition: {reason: 'OrderBudget'}, nextAttemptAtMs: minutes(want)});
});

test.each([{isAwaited: true}, {isAwaited: false}])(
  'a decision that the API server rejects is reported, even if the host has a certificate: $isAwaited',
  ({isAwaited}) => {
    orderSchedule.publish(ACCOUNT, new Map([['a/a.test', {atMs: minutes(1), refusal: 'PATCH: 403: no'}]]));
    const {condition} = turn(undefined, isAwaited) ?? {};
    expect(condition).toMatchObject({status: 'False', reason: 'Refused'});
    expect(condition?.message).toContain('rejected the decision on the certificate request: PATCH: 403: no.');
  },
);

/** What a host waits for whose namespace has recorded `recorded` others, with names as long as its own. */
function wait(recorded: number) {
  const names = Array.from({length: recorded}, (_, index) => `${index}`.padStart(6, '0'));
  const record = {spec: {hosts: Object.fromEntries(names.map(name => [name, 'uid']))}};
  const stores = {heldHosts: {state: 'synced', get: () => record}};
  const operator = {stores, recordRefusals: new Refusals()} as unknown as Operator;
  return awaitWithdrawal(operator, {host: 'a.test', namespace: 'a', nowMs: NOW} as unknown as DomainView);
}

const FULL = Math.floor(MAX_RECORD_BYTES / hostBytes('a.test'));

test('a host that its namespace has no room for learns that, and what to do', () => {
  const {condition, wakeAtMs} = wait(FULL) ?? {};
  expect(condition).toMatchObject({status: 'False', reason: 'NamespaceFull'});
  expect(condition?.message).toContain(`Namespace a has certificates for ${FULL} hosts`);
  expect(condition?.message).toContain('another namespace of your account');
  expect(wakeAtMs).toBeUndefined();
});

test('a host that waits for the record looks again, because others may fill it', () => {
  expect(wait(FULL - 1)).toMatchObject({condition: {reason: 'Waiting'}, wakeAtMs: minutes(1)});
});
