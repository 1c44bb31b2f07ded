/** The platform's issuer in the test cluster: an ACMEIssuer at Pebble. */
import {ACME_ISSUER, CLUSTER_ISSUER} from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {ClusterInfo} from '../cluster/cluster.ts';

/** The ACMEIssuer that the operator is configured to use. */
export const ISSUER_NAME = 'pebble';
/** As the operator and cert-manager name it. */
export const ISSUER_REF = {name: ISSUER_NAME, kind: 'ACMEIssuer', group: 'nameplate.dev'} as const;

/** `limits`: of the CRD's. By default, windows so short that a claim does not outlive its test. */
export async function applyPlatformIssuer(
  client: Pick<KubeClient, 'get' | 'apply'>,
  {issuers}: Pick<ClusterInfo, 'issuers'>,
  limits: Readonly<Record<string, number>> = {
    windowSeconds: 20,
    domainWindowSeconds: 20,
    hostWindowSeconds: 60,
  },
): Promise<void> {
  const found = await client.get(CLUSTER_ISSUER, {name: issuers.acme});
  const {server = '', caBundle} = (found?.spec?.acme ?? {}) as {server?: string; caBundle?: string};
  await client.apply(ACME_ISSUER, {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'ACMEIssuer',
    metadata: {name: ISSUER_NAME},
    ...{spec: {server, ...(caBundle && {caBundle}), caaIdentities: ['pebble.test'], limits}},
  });
}
