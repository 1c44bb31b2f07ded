/** Prepares the e2e tests: installs the chart with values that make them fast, and removes what an earlier run left. */
import {type Cluster, connect} from '../cluster/cluster.ts';
import {ADDRESSES} from '../cluster/state.ts';
import {dumpStates} from '../support/dump-states.ts';
import {installOperator, MESSAGES_HOST} from '../support/install.ts';
import {ISSUER_NAME, TENANTS_ISSUER} from '../support/issuers.ts';
import {createTestClient} from '../support/kube.ts';
import {TENANT_LABEL} from '../support/workload.ts';

/**
 * Each tenant has its own Issuer, so that a test can do without ACME, or without any issuer. DNS is checked often, so
 * that a test of drift takes seconds.
 */
const SETTINGS = [
  `config.certificates.issuerRef.name=${ISSUER_NAME}`,
  'config.certificates.issuerRef.kind=Issuer',
  `config.certificates.approval.tenantCertificates.hosts[0].name=${TENANTS_ISSUER}`,
  'config.certificates.approval.tenantCertificates.hosts[0].kind=Issuer',
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
  'messages.backup.enabled=true',
  'messages.backup.size=1Gi',
];

/**
 * On a Gateway, all hosts use the platform's issuer: its solver names the Gateway, which a tenant's Issuer may not do.
 */
const GATEWAY_SETTINGS = [
  // So that a tenant can have its own order in progress, and keep it from ending.
  `config.certificates.approval.tenantCertificates.hosts[0].name=${TENANTS_ISSUER}`,
  'config.certificates.approval.tenantCertificates.hosts[0].kind=ClusterIssuer',
  // The default pauses: probes must report a fault within a minute.
  'config.probes.steadySeconds=15',
  'config.probes.failAfterSeconds=30',
  'config.dns.checks.steadySeconds=5',
  'config.claims.lingerSeconds=20',
  'config.certificates.orderBudget.windowSeconds=20',
  'config.certificates.orderBudget.domainWindowSeconds=20',
];

/** The chart's values of the e2e tests, as arguments of `--set`. */
export async function settings(cluster: Cluster): Promise<string[]> {
  const own = cluster.info.edge === 'gateway' ? GATEWAY_SETTINGS : SETTINGS;
  return [...own, ...(await listedServers(cluster))];
}

/** The servers that Issuers of tenants may name: the platform's own CA, and the name server of its challenges. */
async function listedServers({info, kubectl}: Cluster): Promise<string[]> {
  const found = await kubectl(
    'get',
    'clusterissuer',
    info.issuers.acme,
    '-o',
    'jsonpath={.spec.acme.server} {.spec.acme.caBundle}',
  );
  const [url, caBundle] = found.split(' ');
  const servers = 'config.certificates.tenantIssuers.servers';
  return [
    `${servers}[0].url=${url}`,
    `${servers}[0].caBundle=${caBundle}`,
    `${servers}[1].url=${ADDRESSES.challenges}`,
  ];
}

/**
 * For the tenants' own orders on a Gateway. It has a separate account, because Pebble reuses one in a hundred valid
 * authorizations even if configured to reuse none, and then an order has no challenge.
 */
async function applyTenantsClusterIssuer({info, kubectl, apply}: Cluster): Promise<void> {
  const {spec} = JSON.parse(await kubectl('get', 'clusterissuer', info.issuers.acme, '-o', 'json'));
  const acme = {...spec.acme, privateKeySecretRef: {name: `${TENANTS_ISSUER}-account`}};
  const identity = {apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: {name: TENANTS_ISSUER}};
  await apply(JSON.stringify({...identity, spec: {acme}}));
  await kubectl('wait', `clusterissuer/${TENANTS_ISSUER}`, '--for=condition=Ready', '--timeout=60s');
}

/** Returns the teardown. */
export async function setup(): Promise<() => Promise<void>> {
  const cluster = await connect();
  await cluster.kubectl('delete', 'namespaces', '-l', TENANT_LABEL, '--wait=false');
  if (cluster.info.edge === 'gateway') await applyTenantsClusterIssuer(cluster);
  await installOperator(cluster, await settings(cluster));
  return dumpStates(createTestClient(cluster.info.kubeconfig));
}
