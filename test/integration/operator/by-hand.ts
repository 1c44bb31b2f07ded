/** Certificates that the test creates itself, because cert-manager does not run. */
import {timestamp} from '../../../src/api/conditions.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import type {DeepReadonly} from '../../../src/runtime/kube/object.ts';
import {CLUSTER_ISSUER_NAME} from './cert-manager.ts';
import type {DomainTenant} from './domain-tenant.ts';
import {installIngressClass, type OperatorWorld} from './operator-world.ts';

export async function prepareForHand({certManager, history, client}: OperatorWorld): Promise<void> {
  await certManager.installCrds();
  for (const kind of [kinds.CERTIFICATE, kinds.CERTIFICATE_REQUEST]) await history.follow(kind);
  await installIngressClass(client);
  const issuer = {apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: {name: CLUSTER_ISSUER_NAME}};
  await client.apply(kinds.CLUSTER_ISSUER, {...issuer, ...{spec: {ca: {secretName: 'none'}}}});
}

export async function claimed(tenant: DomainTenant, host: string): Promise<void> {
  await tenant.createRecords(host);
  await tenant.until(`${host} is claimed`, () => tenant.claim(host)?.spec.namespace === tenant.namespace);
}

export async function issue(tenant: DomainTenant, host: string): Promise<void> {
  const certificate = await tenant.until('a certificate is requested', () => tenant.certificate(host));
  await leaveIssued(tenant.world.client, certificate);
}

/** Writes what cert-manager leaves once a certificate is issued. */
export async function leaveIssued(
  client: KubeClient,
  {metadata, spec}: DeepReadonly<kinds.Certificate>,
): Promise<void> {
  const {namespace = '', name, labels = {}} = metadata; // the Secret has the same, by secretTemplate
  const [host = ''] = spec.dnsNames ?? [];
  const annotations = {[ANNOTATION.host]: host, 'cert-manager.io/alt-names': host};
  const content = {type: 'kubernetes.io/tls', data: {'tls.crt': 'YQ==', 'tls.key': 'YQ=='}};
  const secret = {apiVersion: 'v1', kind: 'Secret', metadata: {namespace, name, labels, annotations}, ...content};
  await client.apply(kinds.SECRET, secret);
  const nowMs = Date.now();
  const inDays = (days: number) => timestamp(nowMs + days * 86_400_000);
  const ready = {type: 'Ready', status: 'True', reason: 'Ready', message: 'by the test', lastTransitionTime: inDays(0)};
  const status = {conditions: [ready], notBefore: inDays(0), notAfter: inDays(90), renewalTime: inDays(60)};
  await client.patch(kinds.CERTIFICATE, {namespace, name}, {status}, {subresource: 'status'});
}
