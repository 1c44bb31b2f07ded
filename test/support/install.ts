/** The release of the chart: its names in all tests, and its installation in the test cluster. */
import {join} from 'node:path';
import type {Cluster} from '../cluster/cluster.ts';
import type {Edge} from '../cluster/programs.ts';
import {ADDRESSES} from '../cluster/state.ts';
import {LISTENERS_ALLOWED} from './objects.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Paths are relative to the repository. */
export const RELEASE = {
  name: 'nameplate',
  namespace: 'nameplate-system',
  chart: 'charts/nameplate',
  values: 'test/support/values.yaml',
} as const;

/** The files with the values for this edge, relative to the repository. */
export function valuesFor(edge: Edge): string[] {
  return [RELEASE.values, ...(edge === 'gateway' ? ['test/support/values-gateway.yaml'] : [])];
}

/**
 * Gives the Service of the name server the address to which the ACME domain is delegated, as a load balancer would:
 * arguments of kubectl.
 */
export const DELEGATED = [
  ...['-n', RELEASE.namespace, 'patch', 'service', `${RELEASE.name}-nameserver`],
  ...['--patch', JSON.stringify({spec: {externalIPs: [ADDRESSES.nameServer]}})],
] as const;

/** The operator's service account, as the API server names it. */
export const OPERATOR_USER = `system:serviceaccount:${RELEASE.namespace}:${RELEASE.name}`;

export const MESSAGES_HOST = 'api.nameplate.test';

/** The messages API has a listener on the Gateway, too. */
const NAMESPACE = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: RELEASE.namespace,
    labels: {...LISTENERS_ALLOWED, 'pod-security.kubernetes.io/enforce': 'restricted'},
  },
});

/** Of the key of the platform's account, as the challenge responder reads it. */
export async function thumbprint({kubectl}: Pick<Cluster, 'kubectl'>): Promise<string> {
  const {name, namespace} = RELEASE;
  return await kubectl('-n', namespace, 'get', 'configmap', `${name}-challenges`, '-o', 'jsonpath={.data.thumbprint}');
}

/**
 * Installs or upgrades the chart, and returns once its pods are ready. The image must be loaded. `settings` are Helm's
 * `--set` arguments, such as `config.certificates.issuerRef.name=selfca`.
 */
export async function installOperator(
  {info, apply, helm, kubectl}: Cluster,
  settings: readonly string[] = [],
): Promise<void> {
  const {name, namespace, chart} = RELEASE;
  await apply(NAMESPACE);
  const values = valuesFor(info.edge).flatMap(file => ['--values', join(ROOT, file)]);
  const files = [join(ROOT, chart), '--namespace', namespace, ...values];
  const changes = settings.flatMap(setting => ['--set', setting]);
  await helm('upgrade', '--install', name, ...files, ...changes, '--wait', '--timeout', '120s');
  await kubectl(...DELEGATED);
}

/** The pod that holds the lease. */
export async function leaderPod({kubectl}: Pick<Cluster, 'kubectl'>): Promise<string> {
  const {name, namespace} = RELEASE;
  const holder = await kubectl('-n', namespace, 'get', 'lease', name, '-o', 'jsonpath={.spec.holderIdentity}');
  return holder.replace(/_.*/, ''); // the rest distinguishes a restarted container from the previous one
}
