/** A tenant with its own ACME server, which names the victim's host in its authorizations. */
import {randomBytes} from 'node:crypto';
import {expect} from 'vitest';
import {CERTIFICATE, CERTIFICATE_REQUEST, INGRESS, ISSUER} from '../../../src/operator/model/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {TENANTS_ISSUER} from '../../support/issuers.ts';
import {listAll} from '../../support/kube.ts';
import {ingressSpec} from '../../support/objects.ts';
import {type RogueAcme, startRogueAcme} from '../../support/rogue-acme.ts';
import {kindOf} from '../../support/workload.ts';
import {admin, visitor} from '../world.ts';
import {
  type Attacker,
  EDGE_CLASS,
  ingressesFor,
  make,
  makeAsBefore,
  NOT_LISTED,
  newAttacker,
  type Victim,
} from './attackers.ts';

const CHALLENGE = kindOf('acme.cert-manager.io', 'Challenge');

/**
 * Relays through an Issuer that is refused, through one older than the policies, by annotations, and by the ingress
 * shim.
 */
export async function relayChallenges(victim: Victim): Promise<void> {
  const attacker = await newAttacker('rogue-acme');
  const own = attacker.self.host('own');
  await attacker.self.goLive({primary: own});
  const token = randomBytes(16).toString('hex');
  const rogue = await startRogueAcme({token, authorizations: () => [{type: 'dns', value: victim.host}]});
  try {
    const spec = issuerSpec(rogue, {ingressClassName: EDGE_CLASS});
    await expect(make(attacker, ISSUER, 'rogue', {spec})).rejects.toThrow('does not list the server');
    await makeAsBefore(attacker, ISSUER, 'rogue', {spec});
    await relayBy(attacker, own);
    await relayForNames(attacker, own, victim);
    await relayByAnnotation(attacker, own);
    expect(await pathsAtTheEdge(victim, rogue)).toEqual([]);
    expect(await ingressesFor(victim.host, attacker.self.namespace)).toEqual([]);
    expect(await listAll(admin, CHALLENGE, {namespace: attacker.self.namespace})).toEqual([]);
    expect(rogue.orders()).toBe(0);
  } finally {
    await rogue.stop();
  }
}

export function issuerSpec({directory}: RogueAcme, ingress: object) {
  const acme = {server: directory, privateKeySecretRef: {name: 'rogue-account'}, solvers: [{http01: {ingress}}]};
  return {acme};
}

/** Certificates for the attacker's own host, created in every possible way. */
async function relayBy(attacker: Attacker, own: string): Promise<void> {
  const issuerRef = {name: 'rogue', kind: 'Issuer', group: 'cert-manager.io'};
  const relay = {spec: {secretName: 'relay', dnsNames: [own], issuerRef}};
  await expect(make(attacker, CERTIFICATE, 'relay', relay)).rejects.toThrow(NOT_LISTED);
  const shim = {spec: {...ingressSpec(own, 'another'), tls: [{hosts: [own], secretName: 'by-shim'}]}};
  const annotations = {'cert-manager.io/issuer': 'rogue'};
  await expect(make(attacker, INGRESS, 'by-shim', shim, {annotations})).rejects.toThrow(NOT_LISTED);
  await makeAsBefore(attacker, CERTIFICATE, 'relay', relay);
  expect(await decisionOf(attacker, 'relay')).toMatch(/^Denied NotManaged: /);
}

/** An ACME server can demand a challenge for any name: an address, a wildcard, another tenant's host. */
async function relayForNames(attacker: Attacker, own: string, victim: Victim): Promise<void> {
  const issuerRef = {name: 'rogue', kind: 'Issuer', group: 'cert-manager.io'};
  const names = {
    address: {ipAddresses: ['192.0.2.1']},
    wildcard: {dnsNames: [`*.${own}`]},
    foreign: {dnsNames: [victim.host]},
    several: {dnsNames: [own, victim.host], ipAddresses: ['192.0.2.1']},
  };
  for (const [name, requested] of Object.entries(names)) {
    await makeAsBefore(attacker, CERTIFICATE, name, {spec: {secretName: name, ...requested, issuerRef}});
  }
  for (const name of Object.keys(names)) {
    expect(await decisionOf(attacker, name)).toMatch(/^Denied (NotOneHost|HostNotHeld): /);
  }
}

async function relayByAnnotation(attacker: Attacker, own: string): Promise<void> {
  const says = 'Annotations may not choose where a challenge is solved';
  const issuerRef = {name: TENANTS_ISSUER, kind: 'Issuer'};
  const spec = {secretName: 'moved', dnsNames: [own], issuerRef};
  for (const name of ['http01-override-ingress-name', 'http01-override-ingress-class', 'http01-parentrefname']) {
    const annotations = {[`acme.cert-manager.io/${name}`]: EDGE_CLASS};
    await expect(make(attacker, CERTIFICATE, 'moved', {spec}, {annotations})).rejects.toThrow(says);
  }
  const annotations = {'acme.cert-manager.io/http01-edit-in-place': 'true', 'cert-manager.io/issuer': TENANTS_ISSUER};
  await expect(make(attacker, INGRESS, 'moved', {spec: ingressSpec(own, 'another')}, {annotations})).rejects.toThrow(
    says,
  );
}

/** "Denied HostNotHeld: message", once the first request of the Certificate is decided. */
function decisionOf({self}: Attacker, certificate: string): Promise<string> {
  return until(
    `${self.namespace}: the request of ${certificate} is decided`,
    async () => {
      const requests = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
      const request = requests.find(({metadata}) => metadata.name.startsWith(`${certificate}-`));
      const found = request?.status?.conditions?.find(({type}) => type === 'Approved' || type === 'Denied');
      return found && `${found.type} ${found.reason}: ${found.message}`;
    },
    {timeoutMs: 60_000},
  );
}

/** The edge's answers for the token that are not the victim's own. */
export async function pathsAtTheEdge({host, service}: Victim, {token}: RogueAcme): Promise<string[]> {
  const url = `http://${host}/.well-known/acme-challenge/${token}`;
  const {status, body} = await visitor.request(url);
  return status === 308 || status === 301 || body.includes(`text=${service}`) ? [] : [`${status} ${body}`];
}
