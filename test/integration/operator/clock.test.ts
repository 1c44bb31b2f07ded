/**
 * The wall clock of the operator's machine is set an hour forward or back: no live host loses anything, and nothing
 * that should wait for seconds waits for an hour. The test creates the certificates.
 */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {findCondition, timestamp} from '../../../src/api/conditions.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {bundleOperator} from '../../support/operator-process.ts';
import {signingRequest} from '../approval/signing-request.ts';
import {claimed, issue, prepareForHand} from './by-hand.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {type OperatorWorld, startOperatorWorld, UNHURRIED} from './operator-world.ts';

const HOUR_MS = 3_600_000;

let folder: string;
let world: OperatorWorld;
/** Sets the operator's wall clock to the real time plus this. */
let step: (ms: number) => Promise<void>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-clock-'));
  const file = join(folder, 'step');
  step = ms => writeFile(file, `${ms}`);
  await step(0);
  const preloaded = `
    import {readFileSync} from 'node:fs';
    const {now} = Date;
    Date.now = () => now() + Number(readFileSync(${JSON.stringify(file)}, 'utf8'));
  `;
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(preloaded)}`];
  world = await startOperatorWorld({operatorApproves: true, program: [...flags, await bundleOperator(folder)]});
  await prepareForHand(world);
  await world.startOperator('stepped');
});
afterAll(async () => {
  await world?.stop();
  await rm(folder, {recursive: true, force: true});
});

async function newLive(name: string) {
  const tenant = await newDomainTenant(world, name);
  const host = tenant.host('shop');
  await tenant.deployedProject({primary: host});
  await claimed(tenant, host);
  await issue(tenant, host);
  return {tenant, host, domain: await tenant.becomesLive(host)};
}

/** Creates a request for the operator to decide. Returns a function for its decisions. */
async function request(tenant: DomainTenant, host: string): Promise<() => string[]> {
  const key = {namespace: tenant.namespace, name: 'asked'};
  const spec = {issuerRef: UNHURRIED, request: await signingRequest({names: [`DNS:${host}`]}), usages: ['server auth']};
  const object = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata: key, spec};
  await world.client.create(kinds.CERTIFICATE_REQUEST, object);
  return () => {
    const conditions = tenant.get(kinds.CERTIFICATE_REQUEST, 'asked')?.status?.conditions ?? [];
    return conditions.map(({type, reason}) => `${type} ${reason}`);
  };
}

const backendOf = (tenant: DomainTenant, host: string) =>
  tenant.ingress(host)?.spec.rules[0]?.http?.paths[0]?.backend.service.name ?? '';

test.each([
  {what: 'forward', ms: HOUR_MS},
  {what: 'back', ms: -HOUR_MS},
])('an hour $what', async ({what, ms}) => {
  const [quiet, moving, former, next, solving, mallory] = [
    await newLive(`${what}-quiet`),
    await newLive(`${what}-moving`),
    await newLive(`${what}-former`),
    await newDomainTenant(world, `${what}-next`),
    await newLive(`${what}-solving`),
    await newDomainTenant(world, `${what}-mallory`),
  ];
  await next.deployedProject({primary: former.host});
  await next.becomes(former.host, {Claimed: 'HeldByAnotherAccount'});
  const decided = await request(solving.tenant, solving.host);
  await solving.tenant.until('the request is approved', () => decided().includes('Approved HostHeld'));

  await step(ms);
  try {
    await moving.tenant.verify(moving.host, `after the step ${what}`);
    const before = backendOf(moving.tenant, moving.host);
    const key = {namespace: moving.tenant.namespace, name: 'shop'};
    await world.client.patch(kinds.SERVICE, key, {spec: {ports: [{name: 'http', port: 8080}]}});
    await moving.tenant.until('the route has moved', () => backendOf(moving.tenant, moving.host) !== before);
    await claimed(next, former.host);
    const denied = await request(mallory, quiet.host);
    await mallory.until('a request for a host of others is denied', () => denied().includes('Denied HostNotHeld'));
    const reconciled = () =>
      world.operator().metric('controller_runtime_reconcile_total', {controller: 'certificate-request'});
    const count = await reconciled();
    const {namespace} = solving.tenant;
    const judgeAgain = {metadata: {labels: {judge: 'again'}}};
    await world.client.patch(kinds.CERTIFICATE_REQUEST, {namespace, name: 'asked'}, judgeAgain);
    await until('the request in progress is judged again', async () => (await reconciled()) > count);
    await quiet.tenant.verify(quiet.host, `the last one, ${what}`);
    expect(decided()).toEqual(['Approved HostHeld']);
  } finally {
    await step(0);
  }
  expect(quiet.tenant.disturbances(quiet.host, quiet.domain).map(({type, key}) => `${type} ${key}`)).toEqual([]);
  for (const {tenant, host, domain} of [quiet, moving, solving]) {
    const since = Number(domain.metadata.resourceVersion);
    const versions = world.history.versions(kinds.DOMAIN, `${tenant.namespace}/${host}`).filter(({at}) => at > since);
    expect(versions.filter(({object}) => findCondition(object.status?.conditions, 'Ready')?.status !== 'True')).toEqual(
      [],
    );
    expect(tenant.trace(host).filter(({type}) => type === 'DELETED')).toEqual([]);
  }
});

test('the operator really had another time', async () => {
  const times = (await world.operator().log()).map(({time}) => Date.parse(`${time}`));
  const nowMs = Date.now();
  expect(
    times.some(time => time > nowMs + HOUR_MS / 2),
    timestamp(nowMs),
  ).toBe(true);
  expect(
    times.some(time => time < nowMs - HOUR_MS / 2),
    timestamp(nowMs),
  ).toBe(true);
});
