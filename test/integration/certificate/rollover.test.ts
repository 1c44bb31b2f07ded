/**
 * The change of the account's key: with orders in progress, with an operator that is killed at each step, with two that
 * both lead, and with CAs that refuse. Each test starts with the key that the one before left.
 */
import {rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ACME_ISSUER, CONFIG_MAP, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {until} from '../../cluster/wait.ts';
import {type CaResource, refusal} from '../../support/ca-proxy.ts';
import {RELEASE} from '../../support/install.ts';
import {spawnOperator} from '../../support/operator-process.ts';
import {startStepCa} from '../acme/step-ca.ts';
import {newLiveTenant} from '../operator/domain-tenant.ts';
import {type CaWorld, ISSUER_NAME, RESPONDER, startCaWorld} from './ca-world.ts';
import {ordersFor, waitingTenant} from './orders.ts';

const CONFIG_MAP_KEY = `${RELEASE.namespace}/${RELEASE.name}-challenges`;
const LATER = refusal(503, 'serverInternal', 'later', {'retry-after': '1'});

let world: CaWorld;
/** The number of the account's key. */
let current = 0;
let starts = 0;
let account: string | undefined;

beforeAll(async () => {
  world = await startCaWorld();
  await start();
  account = (await issuerBecomes('AccountReady')).accountURI;
});
afterAll(() => world?.stop());
afterEach(() => {
  for (const name of Object.keys(world.proxy.switches)) delete world.proxy.switches[name as never];
});

const nameOf = (n: number) => `account-key-${n}`;
const published = () => world.history.get(CONFIG_MAP, CONFIG_MAP_KEY)?.data?.thumbprint;
const statusOf = (name: string) => world.history.get(ACME_ISSUER, name)?.status;
const seen = (wanted: CaResource, from = 0) => world.proxy.seen.slice(from).filter(({resource}) => resource === wanted);

/** Alone, because a process that is killed keeps its Lease for a while. */
function sections(former: readonly number[], acme: object = {}, certificates: object = world.certificatesBy()) {
  const keys = {accountKeySecret: nameOf(current), formerAccountKeySecrets: former.map(nameOf)};
  return {
    certificates: {...certificates, acme: {...world.certificatesBy().acme, ...keys, ...acme}},
    ...world.electing({enabled: false}),
  };
}

async function start(former: readonly number[] = [], acme: object = {}, certificates?: object): Promise<void> {
  await world.startSigner(`operator-${starts++}`, sections(former, acme, certificates));
}

/** As the platform team starts it: the configuration names a new Secret, and lists the former one. */
async function change(acme: object = {}, certificates?: object): Promise<void> {
  await world.operator().stop();
  current += 1;
  await start([current - 1], acme, certificates);
}

async function issuerBecomes(reason: string, says = '', name = ISSUER_NAME) {
  const ready = () => findCondition(statusOf(name)?.conditions, 'Ready');
  const isSo = () => (ready()?.reason === reason && ready()?.message.includes(says) ? statusOf(name) : undefined);
  return await until(`${name} is ${reason} ${says}`, isSo).catch(() => {
    expect(ready()).toMatchObject({reason, message: expect.stringContaining(says)});
    throw new Error('too late');
  });
}

/** The account is still the same, and has the current key, with which the responder answers. */
async function changed(): Promise<void> {
  const {accountURI, thumbprint} = await issuerBecomes(
    'AccountReady',
    `in Secret ${RELEASE.namespace}/${nameOf(current)}.`,
  );
  expect(accountURI).toBe(account);
  await until('the responder has its thumbprint', () => published() === thumbprint);
}

async function keyIn(n: number): Promise<Record<string, string> | undefined> {
  return (await world.client.get(SECRET, {namespace: RELEASE.namespace, name: nameOf(n)}))?.data;
}

test('orders in progress wait until the CA has validated what was accepted, and are continued with the new key, even after a crash', async () => {
  const [ready, placed, late] = [
    await waitingTenant(world, 'ready'),
    await waitingTenant(world, 'placed'),
    await waitingTenant(world, 'late'),
  ];
  let acceptedAt = 0;
  let changedAt = 0;
  const held: Set<CaResource> = new Set(['finalize']);
  world.proxy.switches.fault = ({resource}) => {
    if (held.has(resource)) return LATER;
    if (changedAt === 0 && resource === 'challenge') acceptedAt = performance.now();
    if (resource !== 'keyChange') return undefined;
    changedAt = performance.now();
    void world.operator().kill();
    return {kind: 'lost'};
  };
  await ready.tenant.createRecords(ready.host);
  await until('one order is ready', () => seen('finalize').length > 0);
  held.add('authorization');
  await placed.tenant.createRecords(placed.host);
  await until('another one was placed', () => placed.tenant.claim(placed.host)?.spec.issuance?.order);
  const before = await keyIn(current);
  await change();
  held.clear();
  await issuerBecomes('ChangingKey', 'the CA may still be validating hosts');
  await late.tenant.createRecords(late.host);
  await until('the CA has changed the key', () => changedAt > 0);
  await world.operator().exited;
  await start([current - 1]);
  await changed();
  expect(changedAt - acceptedAt).toBeGreaterThan(60_000);
  for (const {tenant, host} of [ready, placed, late]) {
    await tenant.becomesLive(host);
    expect(ordersFor(world, host).map(order => order.account)).toEqual([account]);
    expect(tenant.claim(host)?.spec.orders).toHaveLength(1);
    expect(tenant.claim(host)?.spec.failures ?? []).toEqual([]);
  }
  expect(seen('keyChange')).toHaveLength(1);
  expect(await keyIn(current - 1)).toEqual(before);
});

// attack: account-key
test.each<{
  at: string;
  resource: CaResource | 'Secret' | 'ConfigMap' | 'status';
  nth?: number;
  kind?: 'reset' | 'lost';
}>([
  {at: 'the new Secret', resource: 'Secret'},
  {at: 'the question which key the account has', resource: 'newAccount', nth: 2},
  {at: 'the change, before the CA makes it', resource: 'keyChange', kind: 'reset'},
  {at: 'the change, after the CA has made it', resource: 'keyChange'},
  {at: 'the question whether the CA has made it', resource: 'newAccount', nth: 3},
  {at: "the responder's thumbprint", resource: 'ConfigMap'},
  {at: 'the status', resource: 'status'},
])(
  'an operator that is killed at $at leaves the account, which the next one gives the key',
  async ({resource, nth = 1, kind = 'lost'}) => {
    await world.operator().stop();
    const former = await keyIn(current);
    const before = published();
    current += 1;
    const options = {folder: world.folder, name: `mortal-${starts++}`, kubeconfig: world.kubeconfig};
    let [die, count]: [() => void, number] = [() => undefined, 0];
    world.proxy.switches.fault = request => {
      if (request.resource !== resource || ++count !== nth) return undefined;
      die();
      return {kind};
    };
    const dieAt = (what: string, isNow: boolean) => (what === resource && isNow ? die() : undefined);
    world.history.subscribe(SECRET, ({object}) => dieAt('Secret', object.metadata.name === nameOf(current)));
    world.history.subscribe(CONFIG_MAP, ({object}) => dieAt('ConfigMap', object.data?.thumbprint !== before));
    world.history.subscribe(ACME_ISSUER, ({object}) => dieAt('status', object.status?.thumbprint !== before));
    const config = {...world.config, ...sections([current - 1])};
    const mortal = await spawnOperator({...options, config});
    die = () => void mortal.kill();
    await mortal.exited;
    die = () => undefined;
    delete world.proxy.switches.fault;
    expect(count, 'it died where it was to').toBe(['Secret', 'ConfigMap', 'status'].includes(resource) ? 0 : nth);
    await start([current - 1]);
    await changed();
    expect(await keyIn(current - 1)).toEqual(former);
    await newLiveTenant(world, 'killed');
  },
);

// attack: account-key
test('two operators that both lead give the account one key', async () => {
  await world.operator().stop();
  current += 1;
  const rival = await spawnOperator({
    ...{folder: world.folder, name: `rival-${starts++}`, kubeconfig: world.kubeconfig},
    config: {...world.config, ...sections([current - 1])},
  });
  await start([current - 1]);
  await changed();
  await rival.stop();
  await newLiveTenant(world, 'rivals');
});

test.each([
  ['says nothing', () => ({kind: 'lost'}) as const],
  ['fails', () => refusal(500, 'serverInternal', 'no database')],
])('a CA that %s instead of confirming the change is asked again', async (_, fault) => {
  let faults = 0;
  world.proxy.switches.fault = ({resource}) => (resource === 'keyChange' && faults++ === 0 ? fault() : undefined);
  await change();
  await changed();
  expect(faults).toBeGreaterThan(0);
});

test('a CA that has changed the key although it says that it refuses is believed to have changed it', async () => {
  world.proxy.switches.rewrite = ({resource}, reply) => {
    const body = JSON.stringify({type: 'urn:ietf:params:acme:error:malformed', detail: 'no'});
    return resource === 'keyChange' ? {...reply, status: 400, body} : reply;
  };
  await change();
  await changed();
});

test('no order is placed before every replica of the responder answers with the new key', async () => {
  const {addresses} = world.certificatesBy().acme.challenges;
  const [port, operationsPort] = await freePorts(2);
  const file = join(world.folder, 'second-thumbprint');
  const mount = async (thumbprint = '') => {
    await writeFile(`${file}.new`, thumbprint);
    await rename(`${file}.new`, file);
  };
  await mount(published());
  const argv = [RESPONDER, '--thumbprint', file, '--port', `${port}`, '--operations-port', `${operationsPort}`];
  const second = startChild('second', [process.execPath, ...argv], {log: join(world.folder, 'second.log')});
  await until('it is up', async () => (await fetch(`http://127.0.0.1:${operationsPort}/healthz`)).ok);
  const {tenant, host} = await waitingTenant(world, 'replicas');
  await change({challenges: {addresses: [...addresses, `127.0.0.1:${port}`]}});
  const trouble = `the replica 127.0.0.1:${port} of ${RELEASE.name}-challenges answers with the thumbprint of another key`;
  await issuerBecomes('ChallengesUnanswered', trouble);
  await tenant.createRecords(host);
  await tenant.becomes(host, {CertificateReady: 'IssuerNotReady'}, [trouble]);
  expect(ordersFor(world, host)).toEqual([]);
  await mount(published());
  await changed();
  await tenant.becomesLive(host);
  await second.kill();
});

// attack: account-key
test('a configuration that no longer names the key of the account creates neither another key nor another account', async () => {
  const from = world.proxy.seen.length;
  for (const secret of [nameOf(current - 1), 'not-yet']) {
    await world.operator().stop();
    await start([], {accountKeySecret: secret});
    const {accountURI} = await issuerBecomes('AccountKeyMissing', `${RELEASE.namespace}/${secret}`);
    expect(accountURI).toBe(account);
  }
  expect(seen('newAccount', from)).toEqual([]);
  expect(await world.client.get(SECRET, {namespace: RELEASE.namespace, name: 'not-yet'})).toBeUndefined();
  await world.operator().stop();
  current -= 1;
  await start([current + 1]); // the change is taken back
  await changed();
  await newLiveTenant(world, 'taken-back');
});

test('step-ca, which cannot change keys, issues with the former one, and Pebble, which was down, gets the new one later', async () => {
  const {addresses} = world.certificatesBy().acme.challenges;
  const httpPort = Number(addresses[0]?.split(':')[1]);
  const stepCa = await startStepCa(world.folder, {httpPort, dns: world.dns.addresses[0] ?? ''});
  await world.applyIssuer({server: stepCa.directory, caBundle: Buffer.from(stepCa.trust).toString('base64')}, 'step');
  const both = {
    ...world.certificatesBy('step'),
    formerIssuerRefs: [{name: ISSUER_NAME, kind: 'ACMEIssuer', group: 'nameplate.dev'}],
  };
  await change({}, both);
  await changed();
  const {accountURI, thumbprint} = await issuerBecomes('AccountReady', '', 'step');

  world.proxy.switches.down = true;
  await change({}, both);
  const status = await issuerBecomes('KeyChangeRefused', 'with which certificates are still issued', 'step');
  expect(status).toMatchObject({accountURI, thumbprint});
  expect(findCondition(status.conditions, 'Ready')).toMatchObject({status: 'True'});
  await issuerBecomes('CaUnreachable');
  await newLiveTenant(world, 'step');

  world.proxy.switches.down = false;
  await changed();
  await issuerBecomes('KeyChangeRefused', 'with which no certificate is issued, because the replica', 'step');
  await world.operator().stop();
  current -= 1;
  await start([current + 1], {}, both); // the platform team gives up
  await changed();
  await issuerBecomes('AccountReady', `in Secret ${RELEASE.namespace}/${nameOf(current)}.`, 'step');
  await newLiveTenant(world, 'given-up');
  await stepCa.stop();
});
