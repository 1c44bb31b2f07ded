/**
 * ACME servers that the platform lists for tenants' Issuers, but that lie, hang, or never finish: nothing reaches the
 * edge, and another tenant still gets its certificate within a minute.
 */
import {randomBytes} from 'node:crypto';
import {afterAll, beforeAll, expect, it} from 'vitest';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  CHALLENGE,
  ISSUER,
} from '../../src/operator/model/kinds.ts';
import {until} from '../cluster/wait.ts';
import {installOperator} from '../support/install.ts';
import {TENANTS_ISSUER} from '../support/issuers.ts';
import {follow, listAll} from '../support/kube.ts';
import {type Behaviour, type RogueAcme, startRogueAcme} from '../support/rogue-acme.ts';
import {
  type Attacker,
  EDGE_CLASS,
  ingressesFor,
  liveVictim,
  make,
  newAttacker,
  type Victim,
} from './attacks/attackers.ts';
import {issuerSpec, pathsAtTheEdge} from './attacks/rogue-issuer.suite.ts';
import {makeTenantsIssuer, orderFromTenantsIssuer} from './attacks/tenants-issuer.ts';
import {settings} from './setup.ts';
import {admin, cluster} from './world.ts';

const MINUTE_MS = 60_000;
const SEVERAL = 6;
/** cert-manager retries after 5, 10, and 20 seconds, and so on, for each of two requests. */
const RETRIES_IN_A_MINUTE = 12;

let victim: Victim;
let honest: Attacker;
let orders = 0;
const servers = new Map<string, RogueAcme>();

const dns = (value: string) => ({type: 'dns', value});
const LIES: Readonly<Record<string, Behaviour['authorizations']>> = {
  'another tenant’s host': () => [dns(victim.host)],
  'an IP address': () => [{type: 'ip', value: '192.0.2.1'}],
  'a wildcard over the own host': requested => requested.map(own => ({...own, wildcard: true})),
  'the own host and another tenant’s': requested => [...requested, dns(victim.host)],
  'the own host, 60 times': ([own]) => Array.from({length: 60}, () => own ?? dns('')),
  'the own host, 1,000 times': ([own]) => Array.from({length: 1000}, () => own ?? dns('')),
};
const ENDLESS: Readonly<Record<string, Behaviour['never']>> = {
  'never answers a new order': 'order',
  'never ends an order that is ready': 'finalize',
};

beforeAll(async () => {
  const start = async (name: string, behaviour: Behaviour) =>
    servers.set(name, await startRogueAcme({...behaviour, token: randomBytes(16).toString('hex')}));
  for (const [lie, authorizations] of Object.entries(LIES)) await start(lie, authorizations ? {authorizations} : {});
  for (const [name, never] of Object.entries(ENDLESS)) await start(name, never ? {never} : {});
  const own = await settings(cluster);
  const first = own.filter(setting => /tenantIssuers\.servers\[\d+\]\.url=/.test(setting)).length;
  const listed = [...servers.values()].map(
    ({directory}, n) => `config.certificates.tenantIssuers.servers[${first + n}].url=${directory}`,
  );
  await installOperator(cluster, [...own, ...listed]);
  [victim, honest] = await Promise.all([liveVictim(), newAttacker('honest')]);
  await makeTenantsIssuer(honest);
  await honest.self.goLive({primary: honest.self.host('shop')});
});

afterAll(async () => {
  for (const server of servers.values()) await server.stop();
  await installOperator(cluster, await settings(cluster));
  expect(await victim?.strangeAnswers()).toEqual([]);
});

it.each(Object.keys(LIES))('a listed server that answers with an authorization for %s', async lie => {
  const server = serverOf(lie);
  const {attacker, host} = await tenantOf(server);
  const challenges = new Set<string>();
  const stop = follow(admin, CHALLENGE, {namespace: attacker.self.namespace}, ({metadata}) =>
    challenges.add(metadata.name),
  );
  await orderFromTenantsIssuer(attacker, 'lie', host);
  await until('cert-manager orders', () => server.orders() > 0, {timeoutMs: MINUTE_MS});
  await isIssuedWithinAMinute();
  expect(await pathsAtTheEdge(victim, server)).toEqual([]);
  expect(await ingressesFor(victim.host, attacker.self.namespace)).toEqual([]);
  await stop();
  expect([...challenges]).toEqual([]);
  expect(server.orders()).toBeLessThan(RETRIES_IN_A_MINUTE);
});

it.each(Object.keys(ENDLESS))('a listed server that %s', async name => {
  const server = serverOf(name);
  const {attacker, host} = await tenantOf(server);
  try {
    for (let n = 0; n < SEVERAL; n++) await orderFromTenantsIssuer(attacker, `more-${n}`, host);
    await until('as many wait as one account may have', () => server.waiting() >= 4, {timeoutMs: MINUTE_MS});
    await isIssuedWithinAMinute();
    expect(server.waiting()).toBe(4);
  } finally {
    const {namespace} = attacker.self;
    for (let n = 0; n < SEVERAL; n++) await admin.delete(CERTIFICATE, {namespace, name: `more-${n}`});
    await server.stop(); // cert-manager's workers are free for the next test
  }
});

function serverOf(name: string): RogueAcme {
  const server = servers.get(name);
  if (!server) throw new Error(`there is no server that answers ${name}`);
  return server;
}

/** Creates a tenant with a live host and an Issuer at the server. */
async function tenantOf(server: RogueAcme): Promise<{attacker: Attacker; host: string}> {
  const attacker = await newAttacker('rogue-listed');
  const host = attacker.self.host('own');
  await attacker.self.goLive({primary: host});
  await make(attacker, ISSUER, TENANTS_ISSUER, {spec: issuerSpec(server, {ingressClassName: EDGE_CLASS})});
  return {attacker, host};
}

/** Checks that another tenant gets one more certificate from an honest CA within a minute. */
async function isIssuedWithinAMinute(): Promise<void> {
  const name = `more-${orders++}`;
  const {self} = honest;
  await orderFromTenantsIssuer(honest, name, self.host('shop'));
  const isIssued = async () => {
    const requests: CertificateRequest[] = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
    const own = requests.filter(({metadata}) => metadata.name.startsWith(`${name}-`));
    return own.some(({status}) => status?.conditions?.some(({type, status: is}) => type === 'Ready' && is === 'True'));
  };
  const startMs = performance.now();
  await until(`${name} of another tenant is issued`, isIssued, {timeoutMs: MINUTE_MS});
  console.log(`another tenant's certificate: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
}
