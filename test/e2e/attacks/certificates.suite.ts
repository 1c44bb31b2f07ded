/** Certificates for another tenant's host. */
import {expect} from 'vitest';
import {routeName} from '../../../src/operator/model/derived-names.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  INGRESS,
  ISSUER,
  SECRET,
} from '../../../src/operator/model/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {signingRequest} from '../../integration/approval/signing-request.ts';
import {issuerObjects, TENANTS_ISSUER} from '../../support/issuers.ts';
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
  const issuers = await issuerObjects(admin, cluster.info, self.namespace, 'acme');
  const spec = issuers.map(({object}) => (object as unknown as {spec: {acme: object}}).spec)[0] ?? {acme: {}};
  await make(attacker, ISSUER, 'mine', {spec});
  const attempts = tenant.recordAttempts();

  const {host} = victim;
  const {acme, fast} = cluster.info.issuers;
  const platform = (name: string) => ({name, kind: 'ClusterIssuer', group: 'cert-manager.io'});
  const certificates = {
    'by-own-acme': {dnsNames: [host], issuerRef: {name: 'mine'}},
    'by-platform': {dnsNames: [host], issuerRef: platform(acme)},
    'at-once': {dnsNames: [host], issuerRef: platform(fast)},
    'beside-own': {dnsNames: [own, host], issuerRef: platform(acme)},
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
  await bypassCertificates(victim, attacker, spec.acme);

  expect(await denials(attacker)).toEqual({
    'at-once': 'HostNotHeld',
    'beside-own': 'NotOneHost',
    'by-hand': 'HostNotHeld',
    'by-own-acme': 'HostNotHeld',
    'by-platform': 'HostNotHeld',
    'two-faced': 'NotOneHost',
  });
  expect(attempts.names().orders).toEqual([]);
  expect(await ingressesFor(host, self.namespace)).toEqual([]);
  for (const name of Object.keys(certificates)) {
    expect(await client.get(SECRET, {namespace: self.namespace, name}), name).toBeUndefined();
  }
  await attempts.stop();
}

/** Objects that only cert-manager creates, a Secret of the edge, and a solver that serves more than its challenge. */
async function bypassCertificates(victim: Victim, attacker: Attacker, acme: object): Promise<void> {
  const {host} = victim;
  const issuerRef = {name: 'mine'};
  const order = {request: await signingRequest({names: [`DNS:${host}`]}), dnsNames: [host], issuerRef};
  await expect(make(attacker, ORDER, 'steal', {spec: order})).rejects.toThrow('Only cert-manager may write this');
  const secretName = routeName(attacker.self.namespace, attacker.self.host('own'));
  const listed = {name: TENANTS_ISSUER, kind: 'Issuer'};
  const shown = make(attacker, CERTIFICATE, 'shown', {spec: {secretName, dnsNames: [host], issuerRef: listed}});
  await expect(shown).rejects.toThrow(REFUSED_AS_MANAGED);
  const url = 'https://ca.test/1';
  const challenge = {url, authorizationURL: url, dnsName: host, issuerRef, key: 'a', token: 'a', type: 'HTTP-01'};
  const solver = {http01: {ingress: {ingressClassName: EDGE_CLASS}}};
  const made = make(attacker, CHALLENGE, 'steal', {spec: {...challenge, solver}});
  await expect(made).rejects.toThrow(/nameplate-(acme|challenges)' denied request/); // either may be evaluated first
  const annotations = {'traefik.ingress.kubernetes.io/router.pathmatcher': `Path(\`/\`) || Host(\`${host}\`) && Path`};
  const ingress = {ingressClassName: EDGE_CLASS, ingressTemplate: {metadata: {annotations}}};
  const wide = make(attacker, ISSUER, 'wide', {spec: {acme: {...acme, solvers: [{http01: {ingress}}]}}});
  await expect(wide).rejects.toThrow('An Issuer may not choose where a challenge is solved');
}

/**
 * The reason for each denial, by the request's name, once all requests but those for the namespace's own host are
 * decided.
 */
function denials({self, tenant}: Attacker): Promise<Record<string, string>> {
  const own = routeName(self.namespace, self.host('own'));
  return until(
    `${tenant.namespace}: all requests are decided`,
    async () => {
      const requests = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
      const others = requests.filter(({metadata}) => !metadata.name.startsWith(own));
      const decided = others.map(({metadata, status}) => [metadata.name.replace(/-\d+$/, ''), decisionOf(status)]);
      const isDone = decided.length >= 6 && decided.every(([, reason]) => reason);
      return isDone ? (Object.fromEntries(decided) as Record<string, string>) : undefined;
    },
    {timeoutMs: 90_000},
  );
}

/** "Approved", or the reason of a denial. */
function decisionOf(status: CertificateRequest['status']): string | undefined {
  const found = status?.conditions?.find(({type}) => type === 'Approved' || type === 'Denied');
  return found?.type === 'Denied' ? found.reason : found?.type;
}
