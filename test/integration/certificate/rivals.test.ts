/**
 * Two who would use one order: the former and the next holder of a host, and two operators that both believe they lead.
 * The CA has the manners of Boulder: it returns an open order again, and reuses a valid authorization.
 */
import {createPrivateKey} from 'node:crypto';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import {AcmeClient} from '../../../src/acme/client.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {type CaResource, refusal} from '../../support/ca-proxy.ts';
import {RELEASE} from '../../support/install.ts';
import type {OperatorProcess} from '../../support/operator-process.ts';
import {type DomainTenant, newDomainTenant} from '../operator/domain-tenant.ts';
import {type FaultProxy, startFaultProxy} from '../runtime/fault-proxy.ts';
import {type CaWorld, ISSUER_NAME, startCaWorld} from './ca-world.ts';
import {countOrders, isOf, publishedTo, waitingTenant} from './orders.ts';

const signal = new AbortController().signal;

let world: CaWorld;
let orders: ReturnType<typeof countOrders>;

beforeAll(async () => {
  world = await startCaWorld({env: {PEBBLE_AUTHZREUSE: '100'}});
  await world.startSigner('signer');
});
afterAll(() => world?.stop());
beforeEach(() => {
  world.proxy.switches.reuseOrders = true;
  orders = countOrders(world);
});
afterEach(() => {
  delete world.proxy.switches.fault;
});

/** The CA acts on the first request of each of these kinds for the host, and answers it when the function is called. */
function holdFirst(...wanted: readonly (readonly [CaResource, string])[]) {
  const {promise, resolve: answer} = Promise.withResolvers<void>();
  const held = new Set<number>();
  world.proxy.switches.fault = request => {
    const index = wanted.findIndex(([resource, host]) => isOf(resource, request, host));
    if (index === -1 || held.has(index)) return undefined;
    held.add(index);
    return {kind: 'held', until: promise};
  };
  const areHeld = (count: number) => until(`${count} answers are held`, () => held.size === count);
  return {answer, areHeld};
}

function accepted(): number {
  return world.proxy.seen.filter(({resource}) => resource === 'challenge').length;
}

/** What the CA says of an authorization, to the platform's account. */
async function statusOf(authorization: string): Promise<string> {
  const secret = await world.client.get(kinds.SECRET, {namespace: RELEASE.namespace, name: 'nameplate-acme-account'});
  const {'account.key': pem = ''} = secret?.data ?? {};
  const client = new AcmeClient({
    ...{directory: world.proxy.directory, caBundle: world.proxy.trust, timeoutMs: 10_000, userAgent: 'nameplate-test'},
    key: createPrivateKey(Buffer.from(pem, 'base64')),
  });
  const account = world.history.get(kinds.ACME_ISSUER, ISSUER_NAME)?.status?.accountURI ?? '';
  const {status} = await client.authorization(account, authorization, signal);
  await client.close();
  return status;
}

// attack: stale-order
test.each(['newOrder', 'authorization', 'challenge', 'finalize', 'certificate'] as const)(
  'a host that moves to another account before the answer to %s gives its former holder nothing, and is validated again',
  async resource => {
    const {tenant: former, host} = await waitingTenant(world, `from-${resource.toLowerCase()}`);
    const next = await newDomainTenant(world, `to-${resource.toLowerCase()}`);
    const {answer, areHeld} = holdFirst([resource, host]);
    const {fault} = world.proxy.switches;
    let refused = 0;
    world.proxy.switches.fault = request => {
      if (request.payload.status !== 'deactivated') return fault?.(request);
      return refused++ === 0 ? refusal(503, 'serverInternal', 'later') : undefined;
    };
    await former.createRecords(host);
    await areHeld(1);
    const acceptedBefore = accepted();
    await next.deployedProject({primary: host});
    await next.createRecords(host);
    await until('the host has moved', () => next.claim(host)?.spec.namespace === next.namespace);
    answer();
    await next.becomesLive(host);

    expect(publishedTo(former)).toEqual([]);
    expect(world.history.get(kinds.SECRET, `${former.namespace}/${routeName(former.namespace, host)}`)).toBeUndefined();
    expect(publishedTo(next)).toHaveLength(1);
    expect(accepted()).toBe(acceptedBefore + 1);
    const [first = [], ...later] = orders.created(host);
    if (resource === 'newOrder') {
      expect(later).toEqual([]); // it was not recorded, and proved nothing
    } else {
      expect(later).toHaveLength(1);
      expect(await statusOf(first[0] ?? '')).toBe('deactivated');
      expect(refused).toBeGreaterThan(1);
    }
  },
);

function expectOneOrder(tenant: DomainTenant, host: string): void {
  expect(orders.created(host), host).toHaveLength(1);
  expect(tenant.claim(host)?.spec.orders, host).toHaveLength(1);
  expect(tenant.claim(host)?.spec.failures ?? [], host).toEqual([]);
}

/** The API server's answer about the claim, once the order is admitted, arrives when the promise has resolved. */
function holdConfirmation(api: FaultProxy, host: string, confirmed: Promise<void>): () => boolean {
  let [isAdmitted, isHeld] = [false, false];
  api.intercept = ({method, path}) => {
    if (!path.endsWith(`/domainclaims/${host}`) || isHeld) return undefined;
    if (method === 'PUT') isAdmitted = true;
    if (method !== 'GET' || !isAdmitted) return undefined;
    isHeld = true;
    return {kind: 'hold', until: confirmed};
  };
  return () => isHeld;
}

test('a leader that stands still during its orders, and wakes up after another one has finished them, changes nothing', async () => {
  await world.operator().stop();
  const api = await startFaultProxy(world.api, {kubeconfig: world.kubeconfig});
  const first = await world.startSigner('still', {}, api.kubeconfig);
  const second = await world.startSigner('successor');
  const leads = async (operator: OperatorProcess) => (await operator.metric('leader_election_master_status')) === 1;
  await until('the first one leads', () => leads(first));
  const [confirming, ordering, finalizing] = [
    await waitingTenant(world, 'confirming'),
    await waitingTenant(world, 'ordering'),
    await waitingTenant(world, 'finalizing'),
  ];
  const all = [confirming, ordering, finalizing];
  const {answer, areHeld} = holdFirst(['finalize', finalizing.host], ['newOrder', ordering.host]);
  await finalizing.tenant.createRecords(finalizing.host);
  await areHeld(1);
  await ordering.tenant.createRecords(ordering.host);
  await areHeld(2);
  const {promise: confirmed, resolve: confirm} = Promise.withResolvers<void>();
  const isConfirming = holdConfirmation(api, confirming.host, confirmed);
  await confirming.tenant.createRecords(confirming.host);
  await until('it reads the claim to place the order', isConfirming);
  const resume = first.pause();
  try {
    await until('the second one leads', () => leads(second));
    for (const {tenant, host} of all) await tenant.becomesLive(host);
    answer();
    confirm();
  } finally {
    resume();
  }
  expect(await first.exited).toBe(1);
  await api.stop();
  for (const {tenant, host} of all) {
    await tenant.becomesLive(host);
    expectOneOrder(tenant, host);
    expect(publishedTo(tenant)).toHaveLength(1);
  }
});
