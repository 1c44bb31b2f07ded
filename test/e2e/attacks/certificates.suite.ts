/** Certificates for another tenant's host. */
import {expect} from 'vitest';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  CLUSTER_ISSUER,
  INGRESS,
  ISSUER,
  SECRET,
  SERVICE,
} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {signingRequest} from '../../integration/approval/signing-request.ts';
import {ISSUER_REF} from '../../support/issuers.ts';
import {listAll} from '../../support/kube.ts';
import {ingressSpec} from '../../support/objects.ts';
import {kindOf, ORDER} from '../../support/workload.ts';
import {admin, cluster} from '../world.ts';
import {
  type Attacker,
  EDGE_CLASS,
  ingressesFor,
  make,
  makeAsBefore,
  NOT_LISTED,
  newAttacker,
  REFUSED_AS_MANAGED,
  REFUSED_BY_RBAC,
  type Victim,
} from './attackers.ts';

const CHALLENGE = kindOf('acme.cert-manager.io', 'Challenge');

/** Attempts that admission refuses, attempts older than the policies that the approver denies, and ways around both. */
export async function askForCertificates(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-certs');
  const {self, client, tenant} = attacker;
  const own = self.host('own');
  await self.goLive({primary: own});
  const platformIssuer = await admin.get(CLUSTER_ISSUER, {name: cluster.info.issuers.acme});
  const spec = {acme: {...platformIssuer?.spec?.acme, privateKeySecretRef: {name: 'mine'}}};
  await expect(make(attacker, ISSUER, 'mine', {spec})).rejects.toThrow('would solve challenges in this namespace');
  await makeAsBefore(attacker, ISSUER, 'mine', {spec});
  const attempts = tenant.recordAttempts();

  const {host} = victim;
  const {acme, fast} = cluster.info.issuers;
  const platform = (name: string) => ({name, kind: 'ClusterIssuer', group: 'cert-manager.io'});
  const certificates = {
    'by-own-acme': {dnsNames: [host], issuerRef: {name: 'mine'}},
    'by-platform': {dnsNames: [host], issuerRef: platform(acme)},
    'at-once': {dnsNames: [host], issuerRef: platform(fast)},
    'beside-own': {dnsNames: [own, host], issuerRef: platform(acme)},
    'by-nameplate': {dnsNames: [host], issuerRef: ISSUER_REF},
    'own-by-nameplate': {dnsNames: [own], issuerRef: ISSUER_REF},
  };
  for (const [name, each] of Object.entries(certificates)) {
    const content = {spec: {secretName: name, ...each}};
    await expect(make(attacker, CERTIFICATE, name, content)).rejects.toThrow(NOT_LISTED);
    await makeAsBefore(attacker, CERTIFICATE, name, content);
  }
  const shim = {...ingressSpec(host, 'another'), tls: [{hosts: [host], secretName: 'by-shim'}]};
  const annotations = {'cert-manager.io/cluster-issuer': fast};
  await expect(make(attacker, INGRESS, 'by-shim', {spec: shim}, {annotations})).rejects.toThrow(NOT_LISTED);
  const [mine = Buffer.of(), theirs = Buffer.of()] = await Promise.all(
    [own, host].map(async name => Buffer.from(await signingRequest({names: [`DNS:${name}`]}), 'base64')),
  );
  const twoFaced = Buffer.concat([Buffer.from('x'), mine, theirs]); // cert-manager skips a block within a line
  for (const [name, request] of Object.entries({'by-hand': theirs, 'two-faced': twoFaced})) {
    const content = {spec: {request: request.toString('base64'), issuerRef: platform(fast), usages: ['server auth']}};
    await expect(make(attacker, CERTIFICATE_REQUEST, name, content)).rejects.toThrow(NOT_LISTED);
    await makeAsBefore(attacker, CERTIFICATE_REQUEST, name, content);
  }
  const approve = {status: {conditions: [{type: 'Approved', status: 'True', reason: 'Mine', message: 'mine'}]}};
  const byHand = {namespace: self.namespace, name: 'by-hand'};
  await expect(client.patch(CERTIFICATE_REQUEST, byHand, approve, {subresource: 'status'})).rejects.toThrow(
    REFUSED_BY_RBAC,
  );
  await bypassCertificates(victim, attacker);

  expect(await denials(attacker)).toEqual({
    'at-once': 'HostNotHeld',
    'beside-own': 'NotOneHost',
    'by-hand': 'HostNotHeld',
    'by-own-acme': 'HostNotHeld',
    'by-nameplate': 'HostNotHeld',
    'by-platform': 'HostNotHeld',
    'own-by-nameplate': 'NotManaged',
    'two-faced': 'NotOneHost',
  });
  expect(attempts.names().orders).toEqual([]);
  expect(await ingressesFor(host, self.namespace)).toEqual([]);
  for (const name of Object.keys(certificates)) {
    expect(await client.get(SECRET, {namespace: self.namespace, name}), name).toBeUndefined();
  }
  await attempts.stop();
}

/** Objects with which cert-manager would order and solve, whoever creates them, and a Secret of the edge. */
async function bypassCertificates({host}: Victim, attacker: Attacker): Promise<void> {
  const issuerRef = {name: 'mine'};
  const order = {request: await signingRequest({names: [`DNS:${host}`]}), dnsNames: [host], issuerRef};
  const url = 'https://ca.test/1';
  const challenge = {url, authorizationURL: url, dnsName: host, issuerRef, key: 'a', token: 'a', type: 'HTTP-01'};
  const solver = {http01: {ingress: {ingressClassName: EDGE_CLASS}}};
  const metadata = {namespace: attacker.self.namespace, name: 'steal'};
  for (const [resource, spec] of [
    [ORDER, order],
    [CHALLENGE, {...challenge, solver}],
  ] as const) {
    await expect(make(attacker, resource, 'steal', {spec})).rejects.toThrow(REFUSED_BY_RBAC_OR_POLICY);
    const {group, version, kind} = resource;
    const object = {apiVersion: `${group}/${version}`, kind, metadata, ...{spec}};
    await expect(admin.create(resource, object)).rejects.toThrow('must not solve challenges');
  }
  const labels = {'acme.cert-manager.io/http01-solver': 'true'};
  const solverService = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {...metadata, labels},
    spec: {ports: [{port: 80}]},
  };
  await expect(admin.create(SERVICE, solverService)).rejects.toThrow('Nothing solves challenges');
  const secretName = routeName(attacker.self.namespace, attacker.self.host('own'));
  const shown = make(attacker, CERTIFICATE, 'shown', {spec: {secretName, dnsNames: [host], issuerRef}});
  await expect(shown).rejects.toThrow(REFUSED_BY_ONE_OF_TWO);
}

/** The API server names the policy that it happened to evaluate first. */
const REFUSED_BY_ONE_OF_TWO = new RegExp(`${REFUSED_AS_MANAGED.source}|Nameplate would not approve`);
const REFUSED_BY_RBAC_OR_POLICY = /Only cert-manager may write this|must not solve challenges|forbidden/;

/**
 * The reason for each denial, by the request's name, once all requests but those for the namespace's own host are
 * decided.
 */
function denials({self, tenant}: Attacker): Promise<Record<string, string>> {
  const own = routeName(self.namespace, self.host('own'));
  return until(`${tenant.namespace}: all requests are decided`, async () => {
    const requests = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
    const others = requests.filter(({metadata}) => !metadata.name.startsWith(own));
    const decided = others.map(({metadata, status}) => [metadata.name.replace(/-\d+$/, ''), decisionOf(status)]);
    const isDone = decided.length >= 8 && decided.every(([, reason]) => reason);
    return isDone ? (Object.fromEntries(decided) as Record<string, string>) : undefined;
  });
}

/** "Approved", or the reason of a denial. */
function decisionOf(status: CertificateRequest['status']): string | undefined {
  const found = status?.conditions?.find(({type}) => type === 'Approved' || type === 'Denied');
  return found?.type === 'Denied' ? found.reason : found?.type;
}
