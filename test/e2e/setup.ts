/** Before the e2e tests: the chart installed with values that make them fast, and nothing left of an earlier run. */
import {connect} from '../cluster/cluster.ts';
import {installOperator, MESSAGES_HOST} from '../support/install.ts';
import {ISSUER_NAME} from '../support/issuers.ts';
import {TENANT_LABEL} from '../support/workload.ts';

/**
 * Each tenant brings an Issuer of its own, so that a test can do without ACME, or without any issuer. DNS is looked at
 * often, so that a test of drift takes seconds.
 */
export const SETTINGS = [
  `config.certificates.issuerRef.name=${ISSUER_NAME}`,
  'config.certificates.issuerRef.kind=Issuer',
  'config.dns.checks.steadySeconds=5',
  'config.dns.driftAfterSeconds=5',
  'config.claims.lingerSeconds=20',
  // A claim is kept for as long as its orders count.
  'config.certificates.orderBudget.windowSeconds=20',
  'config.certificates.orderBudget.domainWindowSeconds=20',
  'messages.enabled=true',
  `messages.host=${MESSAGES_HOST}`,
  'messages.certificate.issuerRef.name=selfca',
  'messages.certificate.issuerRef.kind=ClusterIssuer',
];

export async function setup(): Promise<void> {
  const cluster = await connect();
  await cluster.kubectl('delete', 'namespaces', '-l', TENANT_LABEL, '--wait=false');
  await installOperator(cluster, SETTINGS);
}
