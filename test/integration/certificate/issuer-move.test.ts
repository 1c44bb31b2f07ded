/** A platform moves its hosts to another issuer, within that issuer's budget. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {newLiveTenant} from '../operator/domain-tenant.ts';
import {type CaWorld, ISSUER_NAME, startCaWorld} from './ca-world.ts';
import {claimWith, waitingTenant} from './orders.ts';

const NEXT = 'next';
const MOVING = 5;
const YEAR_SECONDS = 31_536_000;
/** One order is left to new hosts, and two to renewals. */
const AT_ONCE = 3;
const BUDGET = {orders: AT_ONCE + 1 + 2, renewalReserve: 2, windowSeconds: YEAR_SECONDS};

let world: CaWorld;

beforeAll(async () => {
  world = await startCaWorld();
  await world.startSigner('former');
});
afterAll(() => world?.stop());

const orders = () => world.history.get(kinds.ACME_ISSUER, NEXT)?.status?.orders;

test('hosts move as the budget allows, new hosts go first, and each host keeps its certificate until it has the next', async () => {
  const tenants = await Promise.all(Array.from({length: MOVING}, (_, n) => newLiveTenant(world, `moves${n}`)));
  const isAt = (issuer: string) =>
    tenants.filter(({tenant, host}) => tenant.claim(host)?.spec.issuance?.issuer === issuer).length;
  expect(isAt(ISSUER_NAME)).toBe(MOVING);

  await world.operator().stop();
  await world.applyIssuer({limits: BUDGET}, NEXT);
  await world.startSigner('next', {certificates: world.certificatesBy(NEXT)});
  await until('the budget for hosts that move is used up', () => isAt(NEXT) === AT_ONCE);
  await until('the issuer shows how many hosts wait', () => (orders()?.moving ?? 0) >= MOVING - AT_ONCE);
  expect(Date.parse(orders()?.movedBy ?? '')).toBeGreaterThan(Date.now());

  const added = await waitingTenant(world, 'added');
  await added.tenant.createRecords(added.host);
  await added.tenant.becomesLive(added.host);
  expect(isAt(NEXT)).toBe(AT_ONCE);

  await world.applyIssuer({limits: {...BUDGET, orders: 300}}, NEXT);
  for (const {tenant, host} of tenants) {
    await claimWith(tenant, host, issuance => issuance?.issuer === NEXT && issuance.renewal !== undefined);
  }
  await until('nothing is left to move', () => orders() !== undefined && orders()?.moving === undefined);
  for (const {tenant, host, domain} of tenants) {
    await tenant.becomesLive(host);
    const since = Number(domain.metadata.resourceVersion);
    const versions = world.history.versions(kinds.DOMAIN, `${tenant.namespace}/${host}`).filter(({at}) => at > since);
    const ready = versions.map(({object}) => findCondition(object.status?.conditions, 'Ready')?.status);
    expect(ready.filter(status => status !== 'True')).toEqual([]);
  }
});
