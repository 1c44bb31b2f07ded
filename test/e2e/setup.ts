/** Prepares the e2e tests: installs the chart with values that make them fast, and removes what an earlier run left. */
import {type Cluster, connect} from '../cluster/cluster.ts';
import {dumpStates} from '../support/dump-states.ts';
import {installOperator, MESSAGES_HOST} from '../support/install.ts';
import {applyPlatformIssuer} from '../support/issuers.ts';
import {createTestClient} from '../support/kube.ts';
import {TENANT_LABEL} from '../support/workload.ts';

const MESSAGES = [
  'messages.enabled=true',
  `messages.host=${MESSAGES_HOST}`,
  'messages.certificate.issuerRef.name=selfca',
  'messages.certificate.issuerRef.kind=ClusterIssuer',
];

/** DNS is checked often, so that a test of drift takes seconds. */
const SETTINGS = [
  ...MESSAGES,
  'config.dns.checks.steadySeconds=5',
  'config.dns.driftAfterSeconds=5',
  'config.claims.lingerSeconds=20',
  'messages.backup.enabled=true',
  'messages.backup.size=1Gi',
];

const GATEWAY_SETTINGS = [
  ...MESSAGES,
  // The default pauses: probes must report a fault within a minute.
  'config.probes.steadySeconds=15',
  'config.probes.failAfterSeconds=30',
  'config.dns.checks.steadySeconds=5',
  'config.claims.lingerSeconds=20',
];

/** The chart's values of the e2e tests, as arguments of `--set`. */
export function settings({info}: Cluster): string[] {
  return info.edge === 'gateway' ? GATEWAY_SETTINGS : SETTINGS;
}

/** Returns the teardown. */
export async function setup(): Promise<() => Promise<void>> {
  const cluster = await connect();
  await cluster.kubectl('delete', 'namespaces', '-l', TENANT_LABEL, '--wait=false');
  await installOperator(cluster, settings(cluster));
  await applyPlatformIssuer(createTestClient(cluster.info.kubeconfig), cluster.info);
  return dumpStates(createTestClient(cluster.info.kubeconfig));
}
