/** From a Project to a certificate that a CA has issued after it truly validated the host, whatever the CA answers. */
import {X509Certificate} from 'node:crypto';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {ACME_ISSUER, CERTIFICATE_REQUEST, DOMAIN_CLAIM} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {type CaRequestSeen, type CaResource, refusal, startCaProxy} from '../../support/ca-proxy.ts';
import {listAll} from '../../support/kube.ts';
import {signingRequest} from '../approval/signing-request.ts';
import {newDomainTenant, newLiveTenant} from '../operator/domain-tenant.ts';
import {startFaultProxy} from '../runtime/fault-proxy.ts';
import {type CaWorld, ISSUER_NAME, startCaWorld} from './ca-world.ts';
import {
  claimWith,
  condition,
  countOrders,
  failEveryOrder,
  isOf,
  ordersFor,
  publishedTo,
  readiness,
  waitingTenant,
} from './orders.ts';

let world: CaWorld;

beforeAll(async () => {
  world = await startCaWorld();
  await world.startSigner('signer');
});
afterAll(() => world?.stop());
afterEach(() => {
  for (const name of Object.keys(world.proxy.switches)) delete world.proxy.switches[name as never];
});

test('a host gets its certificate from the CA, and the claim records the order', async () => {
  const {tenant, host} = await newLiveTenant(world, 'first');
  const {spec} = await claimWith(tenant, host, issuance => issuance?.renewal !== undefined);
  expect(spec.orders).toEqual([expect.objectContaining({issuer: ISSUER_NAME})]);
  expect(spec.issuance).toMatchObject({issuer: ISSUER_NAME, namespace: tenant.namespace});
  expect(spec.issuance).not.toHaveProperty('order');
  expect(readiness(tenant, host)).toMatchObject({status: 'True', reason: 'Issued'});
  expect(ordersFor(world, host)).toHaveLength(1);
});

test('the ACMEIssuer shows the account, and whether the CA answers', async () => {
  const {status} = world.history.get(ACME_ISSUER, ISSUER_NAME) ?? {};
  expect(status?.accountURI).toMatch(/^https:/);
  expect(status?.conditions).toContainEqual(expect.objectContaining({type: 'Ready', status: 'True'}));
  expect(status?.conditions).toContainEqual(expect.objectContaining({type: 'Reachable', status: 'True'}));
});

// attack: tenant-issuer
test('no object of a challenge is ever in the namespace of a tenant', async () => {
  const {tenant} = await newLiveTenant(world, 'clean');
  for (const kind of ['orders.acme.cert-manager.io', 'challenges.acme.cert-manager.io']) {
    expect(await world.api.kubectl('get', kind, '-n', tenant.namespace, '-o', 'name')).toBe('');
  }
});

test('a failed validation leaves the request pending, is recorded with what the CA says, and a verify request tries again', async () => {
  const {tenant, host} = await waitingTenant(world, 'failing');
  const error = {type: 'urn:ietf:params:acme:error:unauthorized', detail: '403 "<script>alert(1)</script>"\u001b[31m'};
  failEveryOrder(world, error);
  await tenant.createRecords(host);
  const {spec} = await claimWith(tenant, host, issuance => issuance?.problem !== undefined);
  expect(spec.issuance?.problem).toMatchObject({type: 'unauthorized'});
  expect(spec.issuance?.problem?.detail).toMatch(/^[ -~]*$/);
  expect(spec.issuance).not.toHaveProperty('order');
  expect(spec.failures).toHaveLength(1);
  await tenant.until('the request is pending', () => readiness(tenant, host)?.reason === 'Pending');
  expect(ordersFor(world, host)).toHaveLength(1);
  delete world.proxy.switches.rewrite;
  await tenant.verify(host, 'again');
  await tenant.becomesLive(host);
  expect(ordersFor(world, host)).toHaveLength(2);
});

/** The command is the one of docs/runbooks/operator.md#nameplateissuernotready. */
test('after an outage, one command repeats all orders that have failed, as many as the budget allows', async () => {
  failEveryOrder(world, {type: 'urn:ietf:params:acme:error:connection', detail: 'no route to host'});
  const all = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(name => waitingTenant(world, name)));
  for (const {tenant, host} of all) await tenant.createRecords(host);
  for (const {tenant, host} of all) await tenant.becomes(host, {CertificateReady: 'Failed'}, ['no route to host']);
  delete world.proxy.switches.rewrite;
  const claims = await listAll(world.client, DOMAIN_CLAIM);
  const used = claims.flatMap(({spec}) => spec.orders ?? []).length;
  // For two of them: the third is kept for an account that has had none.
  await world.applyIssuer({limits: {orders: used + 3, renewalReserve: 0}});
  const isRepeated = ({host}: (typeof all)[number]) => ordersFor(world, host).length > 1;
  expect(all.filter(isRepeated)).toEqual([]);

  const now = `nameplate.dev/verify-requested-at=${Math.floor(Date.now() / 1000)}`;
  await world.api.kubectl('annotate', '--overwrite', 'domains', '--all', '-A', now);
  await until('two are repeated', () => all.filter(isRepeated).length === 2);
  for (const {tenant, host} of all.filter(it => !isRepeated(it))) {
    await tenant.becomes(host, {CertificateReady: 'OrderBudget'}, ['The last attempt failed: connection: no route']);
  }
  expect(all.filter(isRepeated)).toHaveLength(2);
  await world.applyIssuer();
  for (const {tenant, host} of all) await tenant.becomesLive(host);
  expect(all.map(({host}) => ordersFor(world, host).length)).toEqual([2, 2, 2, 2, 2]);
});

// attack: ca-limits
test('a host that is removed and added again waits for the same next attempt', async () => {
  const {tenant, host} = await waitingTenant(world, 'readded');
  failEveryOrder(world, {type: 'urn:ietf:params:acme:error:unauthorized', detail: 'it answered 403'});
  await tenant.createRecords(host);
  const {spec} = await claimWith(tenant, host, issuance => issuance?.problem !== undefined);
  const nextAttemptAt = spec.issuance?.problem?.retryAt;
  await tenant.project();
  await tenant.until('nothing is left but the claim', () => {
    return !tenant.domain(host) && !tenant.certificate(host) && tenant.claim(host)?.spec.releasedAt;
  });
  await tenant.project({primary: host});
  const added = await tenant.becomes(host, {CertificateReady: 'Failed'}, [
    'before the host was removed and added again',
  ]);
  expect(added.status?.certificate).toMatchObject({nextAttemptAt});
  expect(ordersFor(world, host)).toHaveLength(1);
  delete world.proxy.switches.rewrite;
  await tenant.verify(host, 'again');
  await tenant.becomesLive(host);
});

test('a name that the CA rejects fails the request', async () => {
  const {tenant, host} = await waitingTenant(world, 'rejected');
  answer('newOrder', host, () => refusal(400, 'rejectedIdentifier', 'policy forbids issuing for this name'));
  await tenant.createRecords(host);
  await tenant.until('the request has failed', () => readiness(tenant, host)?.reason === 'Failed');
  expect(readiness(tenant, host)?.message).toContain('rejectedIdentifier: policy forbids issuing for this name');
});

test('a rate limit holds every order of the account for as long as the CA says', async () => {
  const first = await waitingTenant(world, 'limited');
  const second = await waitingTenant(world, 'unlimited');
  let refusedAtMs = 0;
  answer('newOrder', first.host, () => {
    if (refusedAtMs !== 0) return undefined;
    refusedAtMs = Date.now();
    return refusal(429, 'rateLimited', 'too many new orders', {'retry-after': '4'});
  });
  await first.tenant.createRecords(first.host);
  await until('the CA has refused', () => refusedAtMs > 0);
  const early = world.proxy.seen.length;
  await second.tenant.createRecords(second.host);
  await until('the next order', () => world.proxy.seen.slice(early).some(({resource}) => resource === 'newOrder'));
  expect(Date.now() - refusedAtMs).toBeGreaterThan(3900);
  await first.tenant.becomesLive(first.host);
  await second.tenant.becomesLive(second.host);
  expect(ordersFor(world, first.host)).toHaveLength(2);
});

test('a CA that asks for the next attempt immediately gets one in a second', async () => {
  const {tenant, host} = await waitingTenant(world, 'eager');
  const at: number[] = [];
  answer('newOrder', host, () => {
    at.push(performance.now());
    return at.length <= 3 ? refusal(429, 'rateLimited', 'too many new orders', {'retry-after': '0'}) : undefined;
  });
  await tenant.createRecords(host);
  await tenant.becomesLive(host);
  expect(at.slice(1).map((ms, index) => ms - (at[index] ?? 0) > 950)).toEqual([true, true, true]);
});

test('orders of a CA that the ACMEIssuer no longer names are forgotten, also those of a former holder', async () => {
  const [open, moving] = [await waitingTenant(world, 'open'), await waitingTenant(world, 'moving')];
  world.proxy.switches.fault = ({resource}) =>
    resource === 'finalize' ? refusal(503, 'serverInternal', 'later') : undefined;
  for (const {tenant, host} of [open, moving]) {
    await tenant.createRecords(host);
    await claimWith(tenant, host, issuance => issuance?.order !== undefined);
  }
  const other = await startCaProxy(world.pebble);
  await world.applyIssuer({server: other.directory, caBundle: Buffer.from(other.trust).toString('base64')});
  const next = await newDomainTenant(world, 'next');
  await next.deployedProject({primary: moving.host});
  await next.createRecords(moving.host);
  await open.tenant.becomesLive(open.host);
  await next.becomesLive(moving.host);
  delete world.proxy.switches.fault;
  await world.applyIssuer();
  await newLiveTenant(world, 'back');
  await other.stop();
});

test('while the CA is down, requests stay pending, the ACMEIssuer says so, and nothing needs a person afterwards', async () => {
  const {tenant, host} = await waitingTenant(world, 'outage');
  world.proxy.switches.down = true;
  await tenant.createRecords(host);
  await tenant.until('the request is pending', () =>
    readiness(tenant, host)?.message?.startsWith('The CA does not answer'),
  );
  const reachable = () =>
    world.history.get(ACME_ISSUER, ISSUER_NAME)?.status?.conditions?.find(({type}) => type === 'Reachable')?.status;
  await until('the ACMEIssuer says so', () => reachable() === 'False');
  world.proxy.switches.down = false;
  await tenant.becomesLive(host);
  expect(tenant.claim(host)?.spec.failures ?? []).toEqual([]);
});

test('a CA that fails at the certificate to replace gets an ordinary order', async () => {
  const {tenant, host} = await newLiveTenant(world, 'irreplaceable');
  await claimWith(tenant, host, issuance => issuance?.renewal !== undefined);
  const failure = refusal(500, 'serverInternal', 'could not find an order for the given certificate');
  world.proxy.switches.fault = request =>
    isOf('newOrder', request, host) && request.payload.replaces !== undefined ? failure : undefined;
  await tenant.renew(host);
  await tenant.until('it is renewed', () => publishedTo(tenant).length === 2);
  expect(ordersFor(world, host).map(({payload}) => typeof payload.replaces)).toEqual([
    'undefined',
    'string',
    'undefined',
  ]);
});

test('an order whose answer was lost is not placed twice', async () => {
  const {tenant, host} = await waitingTenant(world, 'lost');
  world.proxy.switches.reuseOrders = true;
  let lost = 0;
  answer('newOrder', host, () => (lost++ === 0 ? {kind: 'lost'} : undefined));
  await tenant.createRecords(host);
  await tenant.becomesLive(host);
  expect(tenant.claim(host)?.spec.orders).toHaveLength(1);
});

test.each([
  ['for another key', async () => await foreignChain()],
  ['that is none', async () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
])('a certificate %s is never published', async (what, chain) => {
  const {tenant, host} = await waitingTenant(world, what === 'that is none' ? 'nonsense' : 'other-key');
  const body = await chain();
  world.proxy.switches.rewrite = (request, reply) => (isCertificateOf(request, host) ? {...reply, body} : reply);
  await tenant.createRecords(host);
  await until('the CA has sent it', () => world.proxy.seen.some(request => isCertificateOf(request, host)));
  await tenant.until('the claim has no open order', () => {
    const {issuance} = tenant.claim(host)?.spec ?? {};
    return issuance !== undefined && (issuance.problem !== undefined || issuance.order === undefined);
  });
  const issued = tenant.certificateRequests(host).some(({object}) => {
    const status = world.history.get(CERTIFICATE_REQUEST, `${tenant.namespace}/${object.metadata.name}`)?.status;
    return JSON.stringify(status ?? {}).includes('"certificate"');
  });
  expect(issued).toBe(false);
});

test('a slow order is polled, not abandoned', async () => {
  const {tenant, host} = await waitingTenant(world, 'slow');
  world.proxy.switches.processingMs = 3000;
  await tenant.createRecords(host);
  await tenant.becomesLive(host);
  expect(ordersFor(world, host)).toHaveLength(1);
});

test('an order whose challenge the CA has accepted before is continued', async () => {
  const {tenant, host} = await waitingTenant(world, 'accepted');
  const problem = {type: 'urn:ietf:params:acme:error:malformed', detail: 'the challenge is not pending'};
  let failures = 0; // so that the order is recorded when its challenge is accepted
  answer('authorization', host, () => (failures++ === 0 ? refusal(503, 'serverInternal', 'later') : undefined));
  world.proxy.switches.rewrite = (request, reply) => {
    if (request.resource !== 'challenge') return reply;
    const headers = {...reply.headers, 'content-type': 'application/problem+json'};
    return {...reply, status: 400, headers, body: JSON.stringify(problem)};
  };
  await tenant.createRecords(host);
  await tenant.becomesLive(host);
  expect(ordersFor(world, host)).toHaveLength(1);
});

// attack: foreign-certificate
test('a request that is not ours is denied, no matter whose host it names', async () => {
  const {tenant, host} = await newLiveTenant(world, 'own');
  const name = 'mine';
  await world.client.create(CERTIFICATE_REQUEST, {
    apiVersion: 'cert-manager.io/v1',
    kind: 'CertificateRequest',
    metadata: {name, namespace: tenant.namespace},
    spec: {
      request: await signingRequest({names: [`DNS:${host}`]}),
      issuerRef: {name: ISSUER_NAME, kind: 'ACMEIssuer', group: 'nameplate.dev'},
    },
  });
  await tenant.until(
    'it is denied',
    () => condition(tenant.get(CERTIFICATE_REQUEST, name), 'Denied')?.status === 'True',
  );
  await tenant.until(
    'it has ended',
    () => condition(tenant.get(CERTIFICATE_REQUEST, name), 'Ready')?.reason === 'Denied',
  );
  expect(ordersFor(world, host)).toHaveLength(1);
});

test('a default host gets its own certificate by one order, and keeps it', async () => {
  await world.operator().stop();
  await world.startSigner('own-certificates', {defaultHost: {tls: 'certificate'}});
  const tenant = await newDomainTenant(world, 'default');
  await tenant.deployedProject();
  const {status} = await tenant.projectBecomes('shop', {Ready: 'Published'});
  const host = status?.defaultHost ?? '';
  await claimWith(tenant, host, issuance => issuance?.renewal !== undefined);
  const {uid} = tenant.certificate(host)?.metadata ?? {};
  await world.operator().stop();
  await world.startSigner('restarted', {defaultHost: {tls: 'certificate'}});
  await newLiveTenant(world, 'beside');
  expect(tenant.certificate(host)?.metadata).toMatchObject({uid});
  expect(tenant.claim(host)?.spec).not.toHaveProperty('releasedAt');
  expect(ordersFor(world, host)).toHaveLength(1);
});

/** Alone: a process that is killed keeps its Lease for a while. */
async function startAlone(name: string, through?: string): Promise<void> {
  await world.operator().stop();
  await world.startSigner(name, world.electing({enabled: false}), through);
}

test.each(['newOrder', 'order', 'authorization', 'challenge', 'finalize', 'certificate'] as const)(
  'an operator that is killed at %s leaves one order, which the next one continues',
  async resource => {
    await startAlone(`dies-at-${resource}`);
    const {tenant, host} = await waitingTenant(world, `kill-${resource.toLowerCase()}`);
    const orders = countOrders(world);
    world.proxy.switches.reuseOrders = true;
    let isDead = false;
    answer(resource, host, () => {
      if (isDead) return undefined;
      isDead = true;
      void world.operator().kill();
      return {kind: 'lost'};
    });
    await tenant.createRecords(host);
    await until('the operator is dead', () => isDead);
    await world.operator().exited;
    await startAlone(`after-${resource}`);
    await tenant.becomesLive(host);
    expect(orders.created(host)).toHaveLength(1);
    expect(tenant.claim(host)?.spec.orders).toHaveLength(1);
    expect(publishedTo(tenant)).toHaveLength(1);
  },
);

test('an operator that is killed when it has published a certificate has recorded its identifier for renewal information', async () => {
  const api = await startFaultProxy(world.api, {kubeconfig: world.kubeconfig});
  await startAlone('dies-at-publish', api.kubeconfig);
  const {tenant, host} = await waitingTenant(world, 'kill-publish');
  const downloads = () => world.proxy.seen.filter(({resource}) => resource === 'certificate').length;
  const before = downloads();
  let isDead = false;
  api.intercept = ({method, path}) => {
    const isStatus = /\/certificaterequests\/[^/]+\/status$/.test(path) && path.includes(`/${tenant.namespace}/`);
    if (method !== 'PATCH' || !isStatus || downloads() === before || isDead) return undefined;
    isDead = true;
    return {kind: 'lost', onLost: () => void world.operator().kill()};
  };
  await tenant.createRecords(host);
  await until('the operator is dead', () => isDead);
  await world.operator().exited;
  await startAlone('after-publish');
  await api.stop();
  await tenant.becomesLive(host);
  expect(tenant.claim(host)?.spec.issuance).toMatchObject({renewal: expect.stringMatching(/^[\w-]+\.[\w-]+$/)});
  expect(tenant.claim(host)?.spec.orders).toHaveLength(1);
});

function isCertificateOf(request: CaRequestSeen, host: string): boolean {
  return isOf('certificate', request, host);
}

function answer(resource: CaResource, host: string, fault: () => ReturnType<typeof refusal> | undefined): void {
  world.proxy.switches.fault = request => (isOf(resource, request, host) ? fault() : undefined);
}

/** A chain that the CA has issued for somebody else. */
async function foreignChain(): Promise<string> {
  const {tenant, host} = await newLiveTenant(world, 'somebody');
  const last = tenant.certificateRequests(host).at(-1)?.object.metadata.name ?? '';
  const request = await world.client.get(CERTIFICATE_REQUEST, {namespace: tenant.namespace, name: last});
  const chain = Buffer.from((request?.status as {certificate?: string})?.certificate ?? '', 'base64').toString();
  expect(new X509Certificate(chain).subjectAltName).toBe(`DNS:${host}`);
  return chain;
}
