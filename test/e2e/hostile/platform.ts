/** The platform under attack: the chart's defaults, with an issuer whose CA is watched. */
import {CLUSTER_ISSUER, SECRET} from '../../../src/operator/model/kinds.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {installOperator} from '../../support/install.ts';
import {ISSUER_NAME} from '../../support/issuers.ts';
import {settings} from '../setup.ts';
import {admin, cluster} from '../world.ts';
import type {WatchedCa} from './watched-ca.ts';

export const ISSUER = {name: 'watched', kind: 'ClusterIssuer', group: 'cert-manager.io'};

async function gatewayApi(): Promise<string> {
  return (await ensurePrograms(['gatewayapi'])).asset('gateway-api-crds');
}

/** Lets attackers write kinds of the Gateway API, none of which this edge serves. */
export async function installGatewayApi(): Promise<void> {
  await cluster.kubectl('apply', '--server-side', '-f', await gatewayApi());
  await untilEstablished(cluster.kubectl);
}

/** Configures the operator for certificates from this CA. Returns the issuer's account there. */
export async function issueBy({directory, trust}: WatchedCa): Promise<string> {
  const caBundle = Buffer.from(trust).toString('base64');
  const solvers = [{http01: {ingress: {ingressClassName: cluster.info.ingress.className}}}];
  const spec: object = {acme: {server: directory, caBundle, privateKeySecretRef: {name: 'watched-account'}, solvers}};
  const issuer = {apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: {name: ISSUER.name}};
  await admin.delete(SECRET, {namespace: 'cert-manager', name: 'watched-account'}); // from an earlier directory
  await admin.apply(CLUSTER_ISSUER, {...issuer, ...{spec}});
  const account = async () => {
    const {status} = ((await admin.get(CLUSTER_ISSUER, issuer.metadata)) ?? {}) as {status?: {acme?: {uri?: string}}};
    return status?.acme?.uri?.startsWith(new URL(directory).origin) ? status.acme.uri : undefined;
  };
  const uri = await until('the issuer has its account', account, {timeoutMs: 60_000});
  await installOperator(cluster, [
    ...(await settings(cluster)),
    `config.certificates.issuerRef.name=${ISSUER.name}`,
    `config.certificates.issuerRef.kind=${ISSUER.kind}`,
    // So that a former holder can have its own Certificate from the platform's issuer.
    `config.certificates.approval.tenantCertificates.hosts[1].name=${ISSUER.name}`,
    `config.certificates.approval.tenantCertificates.hosts[1].kind=${ISSUER.kind}`,
    // Hosts of other tests keep their issuer and order nothing.
    `config.certificates.formerIssuerRefs[0].name=${ISSUER_NAME}`,
    'config.certificates.formerIssuerRefs[0].kind=Issuer',
    `config.certificates.tenantIssuers.servers[1].url=${directory}`,
    `config.certificates.tenantIssuers.servers[1].caBundle=${caBundle}`,
  ]);
  return uri;
}

/** Restores the configuration for the other tests. */
export async function restore(): Promise<void> {
  await cluster.kubectl('delete', '-f', await gatewayApi(), '--wait=false', '--ignore-not-found');
  await installOperator(cluster, await settings(cluster));
}
