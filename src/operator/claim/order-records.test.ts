import {describe, expect, test} from 'vitest';
import {memoryOperator} from '../../../test/support/memory-operator.ts';
import {timestamp} from '../../api/conditions.ts';
import type {DomainClaimSpec} from '../../api/generated/domainclaim.ts';
import {API_VERSION} from '../../api/names.ts';
import {atOnce} from '../../runtime/controller/turns.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import type {CertificateRequest, DomainClaim} from '../kinds/kinds.ts';
import {
  abandoned,
  admitted,
  challenged,
  failed,
  forgotten,
  isAdmitted,
  isOfHolder,
  issued,
  lastProblem,
  nextAttemptAtMs,
  notReplaced,
  placed,
  placedOrder,
  placedOrders,
  refusedForNow,
  replaceable,
  retryDueMs,
  withoutDelay,
} from './order-records.ts';
import type {CaLimits} from './order-windows.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const HOUR = 3_600_000;
const HELD: DomainClaimSpec = {account: 'acme', namespace: 'a', since: '2026-11-01T00:00:00Z'};
const ADMISSION = {
  issuer: 'ca',
  request: 'uid-1',
  renewal: false,
  exempt: false,
  nowMs: NOW,
  countsSinceMs: NOW - 24 * HOUR,
};
const OPEN = placed(admitted(HELD, ADMISSION), 'https://ca.test/order/1', 'https://ca.test/authz/1');
const PROBLEM = {at: timestamp(NOW), type: 'dns', detail: 'no address', retryAt: timestamp(NOW + HOUR)};
const MOVED = {account: 'other', namespace: 'b'};

const requestOf = (uid: string | undefined) =>
  ({metadata: {name: 'r', ...(uid !== undefined && {uid})}}) as CertificateRequest;
const claimOf = (spec: DomainClaimSpec) => ({metadata: {name: 'a.test'}, spec}) as DomainClaim;

test('an admission charges the order before it is placed, and names who may place it', () => {
  const spec = admitted(HELD, ADMISSION);
  expect(spec).toEqual({
    ...HELD,
    orders: [{at: timestamp(NOW), issuer: 'ca', request: 'uid-1'}],
    issuance: {issuer: 'ca', account: 'acme', namespace: 'a', request: 'uid-1'},
  });
  expect(admitted(HELD, {...ADMISSION, renewal: true}).orders).toEqual([
    {at: timestamp(NOW), issuer: 'ca', request: 'uid-1', renewal: true},
  ]);
});

test.each([
  {what: 'the request that was admitted', spec: OPEN, uid: 'uid-1', want: true},
  {what: 'another request of the same name', spec: OPEN, uid: 'uid-2', want: false},
  {what: 'a request without a UID, and a claim without a request', spec: HELD, uid: undefined, want: false},
  {what: 'the request of a former account', spec: {...OPEN, ...MOVED}, uid: 'uid-1', want: false},
  {what: 'one whose host moved within the account', spec: {...OPEN, namespace: 'b'}, uid: 'uid-1', want: false},
  {what: 'one whose claim is released', spec: {...OPEN, releasedAt: timestamp(NOW)}, uid: 'uid-1', want: false},
  {what: 'one whose order has ended', spec: failed(OPEN, PROBLEM), uid: 'uid-1', want: false},
])('$what may order: $want', ({spec, uid, want}) => {
  expect(isAdmitted(claimOf(spec), requestOf(uid))).toBe(want);
});

test('a host without a claim admits nobody', () => {
  expect(isAdmitted(undefined, requestOf('uid-1'))).toBe(false);
});

describe('an open order of a request that is gone', () => {
  test('is continued by the next request of the same holder at the same CA, and costs nothing', () => {
    const next = admitted(OPEN, {...ADMISSION, request: 'uid-2', nowMs: NOW + 1000});
    expect(next.orders).toEqual(OPEN.orders);
    expect(next.issuance).toEqual({...OPEN.issuance, request: 'uid-2'});
  });

  // attack: stale-order
  test.each([
    {what: 'a former holder', spec: {...OPEN, ...MOVED}, issuer: 'ca'},
    {what: 'another CA', spec: OPEN, issuer: 'other'},
  ])('is not continued if it is of $what', ({spec, issuer}) => {
    const next = admitted(spec, {...ADMISSION, issuer, request: 'uid-2'});
    expect(next.orders).toHaveLength(2);
    expect(next.issuance).not.toHaveProperty('order');
    expect(next.issuance).not.toHaveProperty('authorization');
    expect(next.issuance).toMatchObject({issuer, account: spec.account, namespace: spec.namespace});
  });
});

test('orders that no longer count are forgotten, and the newest ones are kept within the limit of the CRD', () => {
  const at = (ms: number) => ({at: timestamp(ms), issuer: 'ca', request: 'any'});
  const old = {...HELD, orders: [at(NOW - 25 * HOUR), at(NOW - HOUR)]};
  expect(admitted(old, ADMISSION).orders?.map(order => order.at)).toEqual([timestamp(NOW - HOUR), timestamp(NOW)]);
  const full = {...HELD, orders: Array.from({length: 20}, (_, n) => at(NOW - HOUR + n * 1000))};
  const orders = admitted(full, ADMISSION).orders ?? [];
  expect(orders).toHaveLength(20);
  expect(orders.at(-1)?.at).toBe(timestamp(NOW));
});

test('a failure ends the order, says why, and counts', () => {
  const spec = failed(OPEN, PROBLEM);
  expect(spec.failures).toEqual([PROBLEM.at]);
  expect(spec.issuance).toMatchObject({issuer: 'ca', problem: PROBLEM});
  expect(spec.issuance).not.toHaveProperty('order');
  expect(spec.issuance).not.toHaveProperty('request');
  expect(spec.orders, 'the order remains charged').toEqual(OPEN.orders);
  let many = spec;
  for (let n = 0; n < 30; n++) many = failed(many, {...PROBLEM, at: timestamp(NOW + n * 1000)});
  expect(many.failures).toHaveLength(20);
  expect(many.failures?.at(-1)).toBe(timestamp(NOW + 29_000));
});

// attack: stale-order
test('the authorization of a failed order stays known, so that it can be deactivated for the next holder', () => {
  const former = {...failed(OPEN, PROBLEM), ...MOVED};
  expect(isOfHolder(former)).toBe(false);
  expect(former.issuance?.authorization).toBe('https://ca.test/authz/1');
  expect(isOfHolder(forgotten(former))).toBe(true);
  expect(forgotten(former)).not.toHaveProperty('issuance');
  expect(forgotten(former).orders, 'the CA has not forgotten the order').toEqual(OPEN.orders);
});

test('a certificate ends the order and the last problem, and its identifier for renewal information is kept', () => {
  const url = 'https://ca.test/order/2';
  const spec = issued(placed(admitted(failed(OPEN, PROBLEM), ADMISSION), url, undefined), url, 'id.1');
  expect(spec.issuance).toEqual({
    ...{issuer: 'ca', account: 'acme', namespace: 'a', request: 'uid-1', issued: url, renewal: 'id.1'},
    authorization: 'https://ca.test/authz/1',
  });
  expect(placedOrder(spec), 'until the request has it').toBe(url);
  const renewing = admitted(spec, {...ADMISSION, request: 'uid-2', renewal: true});
  expect(renewing.issuance?.renewal, 'for the next order, which replaces it').toBe('id.1');
  expect(placedOrder(renewing), 'the next request gets a new order').toBeUndefined();
  expect(renewing.orders).toHaveLength((spec.orders?.length ?? 0) + 1);
  expect(issued(renewing, url, undefined).issuance).not.toHaveProperty('renewal');
});

test('a renewal that the CA exempts says so; refused, it was no order, and the next one is ordinary', () => {
  const url = 'https://ca.test/order/2';
  const held = issued(OPEN, url, 'id.1');
  expect(replaceable(held, 'ca')).toBe('id.1');
  expect(replaceable(held, 'other'), 'another CA does not know it').toBeUndefined();
  expect(replaceable({...held, ...MOVED}, 'ca'), 'it was issued to a former holder').toBeUndefined();
  const renewal = {...ADMISSION, request: 'uid-2', renewal: true, exempt: true};
  const renewing = admitted(held, renewal);
  expect(renewing.orders?.at(-1)).toEqual({
    at: timestamp(NOW),
    issuer: 'ca',
    request: 'uid-2',
    renewal: true,
    exempt: true,
  });
  const refused = notReplaced(renewing);
  expect(refused.orders).toEqual(held.orders);
  expect(isAdmitted(claimOf(refused), requestOf('uid-2')), 'until it is admitted again').toBe(false);
  expect(replaceable(refused, 'ca')).toBeUndefined();
});

test('an order that the CA has forgotten is abandoned: the next one is charged', () => {
  const spec = abandoned(OPEN);
  expect(isAdmitted(claimOf(spec), requestOf('uid-1'))).toBe(false);
  expect(admitted(spec, ADMISSION).orders).toHaveLength(2);
});

test('a refusal is shown, once, until the order is placed or issued', () => {
  const {retryAt: _, ...problem} = PROBLEM;
  const spec = refusedForNow(OPEN, problem) ?? HELD;
  expect(spec).toEqual({...OPEN, issuance: {...OPEN.issuance, problem}});
  expect(lastProblem(claimOf(spec), 'ca')).toEqual(problem);
  expect(lastProblem(claimOf(spec), 'other')).toBeUndefined();
  expect(lastProblem(claimOf({...spec, ...MOVED}), 'ca')).toBeUndefined();
  expect(refusedForNow(spec, {...problem, at: timestamp(NOW + HOUR)})).toBeUndefined();
  expect(refusedForNow(spec, {...problem, detail: 'another'})?.issuance?.problem?.detail).toBe('another');
  expect(placed(spec, 'https://ca.test/order/1', undefined).issuance).not.toHaveProperty('problem');
  expect(issued(spec, 'https://ca.test/order/1', undefined).issuance).not.toHaveProperty('problem');
});

test('a failure that a clock recorded in the future delays nothing', () => {
  expect(retryDueMs(PROBLEM, NOW)).toBe(NOW + HOUR);
  expect(retryDueMs(PROBLEM, NOW + HOUR)).toBeUndefined();
  expect(retryDueMs(PROBLEM, NOW - 1000)).toBeUndefined();
  expect(retryDueMs({...PROBLEM, at: '2030-01-01T00:00:00Z', retryAt: '2030-01-01T08:00:00Z'}, NOW)).toBeUndefined();
  expect(retryDueMs(undefined, NOW)).toBeUndefined();
});

test('a verify request ends a pause, once', () => {
  const spec = withoutDelay(failed(OPEN, PROBLEM), NOW);
  expect(spec?.issuance?.problem).toEqual({...PROBLEM, retryAt: timestamp(NOW)});
  expect(spec?.failures, 'the failure still counts').toEqual([PROBLEM.at]);
  expect(withoutDelay(spec ?? HELD, NOW)).toBeUndefined();
  expect(withoutDelay(HELD, NOW)).toBeUndefined();
});

test('a challenge is recorded once, and ends with the order', () => {
  const challenge = {name: 'a.acme.test', value: 'A'.repeat(43)};
  const spec = challenged(OPEN, challenge) ?? HELD;
  expect(spec.issuance).toEqual({...OPEN.issuance, challenge});
  expect(challenged(spec, challenge)).toBeUndefined();
  expect(challenged(spec, {...challenge, value: 'B'.repeat(43)})?.issuance?.challenge?.value).toBe('B'.repeat(43));
  for (const ended of [failed(spec, PROBLEM), abandoned(spec), issued(spec, 'https://ca.test/order/1', 'id')]) {
    expect(ended.issuance).not.toHaveProperty('challenge');
  }
});

test('nothing changes what it is given', () => {
  const before = structuredClone(OPEN);
  for (const change of [
    () => admitted(OPEN, ADMISSION),
    () => failed(OPEN, PROBLEM),
    () => issued(OPEN, 'https://ca.test/order/1', 'id'),
    () => abandoned(OPEN),
    () => forgotten(OPEN),
  ])
    change();
  expect(OPEN).toEqual(before);
});

const MINUTE = 60_000;
const LIMITS = {ordersPerHost: 5, hostWindowSeconds: 3600};
const LONG_AGO = '2026-01-01T00:00:00Z';

/** Times of failures, in minutes before now. The last one is now. */
const ago = (...minutes: number[]) => minutes.map(minute => timestamp(NOW - minute * MINUTE));
const minutesUntil = (row: Partial<Parameters<typeof nextAttemptAtMs>[0]>) =>
  (nextAttemptAtMs({failures: ago(0), since: LONG_AGO, limits: LIMITS, notAfter: undefined, nowMs: NOW, ...row}) -
    NOW) /
  MINUTE;

test.each([
  {what: 'the first failure', failures: ago(0), want: 1},
  {what: 'the second in a day', failures: ago(60, 0), want: 3},
  {what: 'the fourth in a day', failures: ago(300, 200, 100, 0), want: 27},
  {
    what: 'the twentieth in a day: at most 8 hours',
    failures: ago(...Array.from({length: 20}, (_, n) => 1300 - 65 * n), 0),
    want: 480,
  },
  {what: 'one a day later', failures: ago(25 * 60, 0), want: 1},
  {what: 'none of this account', failures: ago(300, 200, 100, 0), since: timestamp(NOW - 1), want: 1},
])('after $what, it waits $want minutes', ({what: _, want, ...row}) => {
  expect(minutesUntil(row)).toBe(want);
});

test('the failures of a former account are not held against the next one', () => {
  expect(minutesUntil({failures: ago(30, 20, 10, 0), since: timestamp(NOW - 5 * MINUTE)})).toBe(1);
});

test.each([
  {left: 'weeks', notAfter: NOW + 30 * 24 * HOUR, want: 480},
  {left: 'a day', notAfter: NOW + 24 * HOUR, want: 144},
  {left: 'an hour', notAfter: NOW + HOUR, want: 6},
  {left: 'ten minutes: never shorter than the first pause', notAfter: NOW + 10 * MINUTE, want: 1},
  {left: 'nothing: it has expired, and nothing can be saved', notAfter: NOW - HOUR, want: 480},
])('if the current certificate is valid for $left, it waits $want minutes', ({notAfter, want}) => {
  const failures = ago(...Array.from({length: 12}, (_, n) => 1300 - 100 * n), 0);
  expect(minutesUntil({failures, notAfter: timestamp(notAfter)})).toBe(want);
});

test.each([
  {lifetime: '90 days', left: 30 * 24},
  {lifetime: '45 days', left: 15 * 24},
  {lifetime: '160 hours', left: 80},
])('the attempts of a certificate of $lifetime fit into what is left when its renewal is due', ({left}) => {
  const end = NOW + left * HOUR;
  const attempts = [NOW];
  for (let nowMs = NOW; nowMs < end; attempts.push(nowMs)) {
    const failures = attempts.slice(-20).map(timestamp);
    nowMs = nextAttemptAtMs({failures, since: LONG_AGO, limits: LIMITS, notAfter: timestamp(end), nowMs});
  }
  const made = attempts.filter(ms => ms < end);
  expect(made.length).toBeGreaterThan(50);
  expect(end - (made.at(-1) ?? 0), 'the last one').toBeLessThan(HOUR);
  // Times are recorded in whole seconds.
  const inAnHour = made.filter((ms, n) => (made[n + LIMITS.ordersPerHost] ?? end + HOUR) - ms < HOUR - 1000);
  expect(inAnHour, 'more than the CA allows follow within an hour').toEqual([]);
});

test('the limit of the CA on failures of the host holds, whoever failed, and however little time is left', () => {
  const failures = ago(50, 40, 30, 20, 0);
  expect(minutesUntil({failures: failures.slice(1), since: timestamp(NOW - 1)})).toBe(1);
  const row = {failures, since: timestamp(NOW - 1), notAfter: timestamp(NOW + HOUR)};
  expect(minutesUntil(row), 'the first of five leaves the hour').toBe(10);
});

test('a failure that a clock that is ahead recorded counts for no limit', () => {
  expect(
    minutesUntil({failures: [...ago(-500, -400, -300, -200), ...ago(0)], limits: {...LIMITS, ordersPerHost: 2}}),
  ).toBeLessThanOrEqual(81);
});

test('the orders of a wildcard count for it, not for the name of its claim', () => {
  const {operator, put} = memoryOperator();
  const spec = admitted(HELD, ADMISSION);
  put({
    apiVersion: API_VERSION,
    kind: 'DomainClaim',
    metadata: {name: 'wc--any.example.com', uid: 'u'},
    spec,
  } as KubeObject);
  const limits = {windowSeconds: 3600, domainWindowSeconds: 3600, hostWindowSeconds: 3600} as CaLimits;
  const placedNow = atOnce(placedOrders(operator, 'ca', limits, NOW));
  expect(placedNow).toMatchObject([{host: '*.example.com', domain: 'example.com', account: 'acme'}]);
});
