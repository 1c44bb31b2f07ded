/** When the claim of a released host is deleted. */

import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {reconcileContext} from '../../../test/support/memory-operator.ts';
import {project} from '../../../test/support/objects.ts';
import {timestamp} from '../../api/conditions.ts';
import {API_VERSION} from '../../api/names.ts';
import {Store} from '../../runtime/cache/store.ts';
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import type {ACMEIssuer, DomainClaim} from '../kinds/kinds.ts';
import {reconcileReleasedClaim} from './released-claim.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const ago = (ms: number) => timestamp(NOW - ms);

interface Projects {
  readonly hasProject?: boolean;
  readonly state?: 'synced' | 'syncing';
}

/** Reconciles a claim. Returns the requests and the outcome. */
async function reconcile(
  spec: Partial<DomainClaim['spec']>,
  lingerSeconds = DAY_MS / 1000,
  {hasProject = false, state = 'synced'}: Projects = {},
) {
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
  const limits = {windowSeconds: 3600, domainWindowSeconds: 7 * (DAY_MS / 1000), hostWindowSeconds: 3600};
  const issuer: ACMEIssuer = {
    ...{apiVersion: API_VERSION, kind: 'ACMEIssuer', metadata: {name: 'ca'}},
    spec: {server: 'https://ca.test/dir', limits},
  };
  const acmeIssuers = {list: () => [issuer]};
  const projects = {state, byIndex: () => (hasProject ? [{...project('a', 'shop'), defaultHost: ''}] : [])};
  const config = {claims: {lingerSeconds}};
  const requests: string[] = [];
  const client = {delete: async (_: unknown, {name}: {name: string}) => requests.push(`delete ${name}`)};
  const run = reconcileReleasedClaim({stores: {claims, acmeIssuers, projects}, clock: new ManualClock(NOW), config});
  return {outcome: await run('shop.example.com', reconcileContext(client)), requests};
}

test('one that a Domain holds stays', async () => {
  expect(await reconcile({})).toEqual({outcome: done(), requests: []});
});

// attack: operator-work
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
  const orders = [{at: ago(DAY_MS), issuer: 'ca', request: 'u'}];
  expect((await reconcile({orders, releasedAt: ago(DAY_MS)})).outcome).toEqual(after(6 * DAY_MS));
});

const ISSUANCE = {issuer: 'ca', account: 'acme', namespace: 'a'};

test('one with an authorization at the CA waits until it is deactivated', async () => {
  const released = {releasedAt: ago(2 * DAY_MS), issuance: ISSUANCE};
  expect(await reconcile(released)).toEqual({outcome: done(), requests: []});
});

test.each<{what: string; project: Projects; outcome: Outcome; requests: string[]}>([
  {what: 'its Project exists', project: {hasProject: true}, outcome: after(60 * MINUTE_MS), requests: []},
  {
    what: 'the cache of Projects is not synced',
    project: {state: 'syncing'},
    outcome: after(60 * MINUTE_MS),
    requests: [],
  },
  {what: 'its Project is gone', project: {}, outcome: done(), requests: ['delete shop.example.com']},
])('the record of a default host: $what', async ({project, outcome, requests}) => {
  const spec = {project: 'shop', since: ago(30 * DAY_MS), issuance: ISSUANCE};
  expect(await reconcile(spec, undefined, project)).toEqual({outcome, requests});
});

test('the record of a default host whose Project is gone stays as long as an order counts', async () => {
  const spec = {project: 'shop', since: ago(30 * DAY_MS), orders: [{at: ago(DAY_MS), issuer: 'ca', request: 'u'}]};
  expect((await reconcile(spec)).outcome).toEqual(after(6 * DAY_MS));
});
