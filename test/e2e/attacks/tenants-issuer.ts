/** A tenant's own ACME Issuer, at the server that the platform of these tests lists. */
import {CERTIFICATE, CERTIFICATE_REQUEST, type CertificateRequest, ISSUER} from '../../../src/operator/model/kinds.ts';
import {issuerObjects, TENANTS_ISSUER} from '../../support/issuers.ts';
import {listAll} from '../../support/kube.ts';
import {admin, cluster} from '../world.ts';
import {type Attacker, make} from './attackers.ts';

/**
 * It has its own account at the CA, because Pebble reuses about one in a hundred valid authorizations even if told to reuse
 * none; then an order has no challenge.
 */
export async function makeTenantsIssuer(attacker: Attacker): Promise<void> {
  const [issuer] = await issuerObjects(admin, cluster.info, attacker.self.namespace, 'acme');
  if (!issuer) throw new Error('the cluster has no ACME issuer');
  const {acme} = (issuer.object as {spec?: {acme?: object}}).spec ?? {};
  const privateKeySecretRef = {name: `${TENANTS_ISSUER}-account`};
  await make(attacker, ISSUER, TENANTS_ISSUER, {spec: {acme: {...acme, privateKeySecretRef}}});
}

/** A Certificate named `name`, which the platform of these tests approves if the namespace holds the host. */
export async function orderFromTenantsIssuer(attacker: Attacker, name: string, host: string): Promise<void> {
  const issuerRef = {name: TENANTS_ISSUER, kind: 'Issuer', group: 'cert-manager.io'};
  await make(attacker, CERTIFICATE, name, {spec: {secretName: name, dnsNames: [host], issuerRef}});
}

export async function requestOf({self}: Attacker, certificate: string): Promise<CertificateRequest | undefined> {
  const requests = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
  return requests.find(({metadata}) => metadata.name.startsWith(`${certificate}-`));
}
