/** The platform under attack: the chart's defaults, with an issuer whose CA is watched. */
import {ACME_ISSUER} from '../../../src/operator/kinds/kinds.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {installOperator} from '../../support/install.ts';
import {ISSUER_REF} from '../../support/issuers.ts';
import {settings} from '../setup.ts';
import {admin, cluster} from '../world.ts';
import type {WatchedCa} from './watched-ca.ts';

export const ISSUER = {name: 'watched', kind: 'ACMEIssuer', group: 'nameplate.dev'};

async function gatewayApi(): Promise<string> {
  return (await ensurePrograms(['gatewayapi'])).asset('gateway-api-crds');
}

/** Lets attackers write kinds of the Gateway API, none of which this edge serves. */
export async function installGatewayApi(): Promise<void> {
  await cluster.kubectl('apply', '--server-side', '-f', await gatewayApi());
  await untilEstablished(cluster.kubectl);
}

/** Configures the operator for certificates from this CA. Returns the platform's account there. */
export async function issueBy({directory, trust}: WatchedCa): Promise<string> {
  const caBundle = Buffer.from(trust).toString('base64');
  const issuer = {apiVersion: 'nameplate.dev/v1alpha1', kind: ISSUER.kind, metadata: {name: ISSUER.name}};
  await admin.apply(ACME_ISSUER, {...issuer, ...{spec: {server: directory, caBundle, caaIdentities: ['pebble.test']}}});
  await installOperator(cluster, [
    ...settings(cluster),
    `config.certificates.issuerRef.name=${ISSUER.name}`,
    // Hosts of other tests keep their issuer and order nothing.
    `config.certificates.formerIssuerRefs[0].name=${ISSUER_REF.name}`,
    `config.certificates.formerIssuerRefs[0].kind=${ISSUER_REF.kind}`,
    `config.certificates.formerIssuerRefs[0].group=${ISSUER_REF.group}`,
  ]);
  const account = async () => {
    const {status} = (await admin.get(ACME_ISSUER, {name: ISSUER.name})) ?? {};
    return status?.accountServer === directory ? status.accountURI : undefined;
  };
  return await until('the issuer has its account', account);
}

/** Restores the configuration for the other tests. */
export async function restore(): Promise<void> {
  await cluster.kubectl('delete', '-f', await gatewayApi(), '--wait=false', '--ignore-not-found');
  await installOperator(cluster, settings(cluster));
}
