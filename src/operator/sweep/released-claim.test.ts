/** When the claim of a released host is deleted. */
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {timestamp} from '../../api/conditions.ts';
import {API_VERSION} from '../../api/names.ts';
import {Store} from '../../runtime/cache/store.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DomainClaim} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {reconcileReleasedClaim} from './released-claim.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const ago = (ms: number) => timestamp(NOW - ms);

/** Reconciles a claim. Returns the requests and the outcome. */
async function reconcile(spec: Partial<DomainClaim['spec']>, lingerSeconds = DAY_MS / 1000) {
  const claims = new Store<DomainClaim>({
    onHandlerError: error => {
      throw error;
    },
  });
  claims.upsert({
    apiVersion: API_VERSION,
    kind: 'DomainClaim',
    metadata: {name: 'shop.example.com', uid: 'u', resourceVersion: '1'},
    spec: {account: 'acme', namespace: 'a', since: ago(2 * DAY_MS), ...spec},
  });
  const window = {windowSeconds: 3600, domainWindowSeconds: 7 * (DAY_MS / 1000)};
  const config = {claims: {lingerSeconds}, certificates: {orderBudget: window}};
  const requests: string[] = [];
  const client = {delete: async (_: unknown, {name}: {name: string}) => requests.push(`delete ${name}`)};
  const run = reconcileReleasedClaim({stores: {claims}, clock: new ManualClock(NOW), config} as unknown as Operator);
  const context = {client, signal: new AbortController().signal} as unknown as Parameters<typeof run>[1];
  return {outcome: await run('shop.example.com', context), requests};
}

test('one that a Domain holds stays', async () => {
  expect(await reconcile({})).toEqual({outcome: done(), requests: []});
});

test('one without failures and orders goes after ten minutes, however many hosts a tenant adds and removes', async () => {
  expect(await reconcile({releasedAt: ago(MINUTE_MS)})).toEqual({outcome: after(9 * MINUTE_MS), requests: []});
  expect((await reconcile({releasedAt: ago(10 * MINUTE_MS)})).requests).toEqual(['delete shop.example.com']);
  expect((await reconcile({releasedAt: ago(1000)}, 1)).requests, 'a shorter time counts').toHaveLength(1);
});

test('one that remembers failed attempts lingers for the whole time', async () => {
  const failures = [ago(DAY_MS)];
  expect((await reconcile({failures, releasedAt: ago(10 * MINUTE_MS)})).outcome).toEqual(
    after(DAY_MS - 10 * MINUTE_MS),
  );
  expect((await reconcile({failures, releasedAt: ago(DAY_MS)})).requests).toHaveLength(1);
});

test('one with an order stays as long as the order counts', async () => {
  const orders = [{at: ago(DAY_MS)}];
  expect((await reconcile({orders, releasedAt: ago(DAY_MS)})).outcome).toEqual(after(6 * DAY_MS));
});
