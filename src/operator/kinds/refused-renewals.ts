/**
 * Which certificates cert-manager cannot renew: it may solve challenges in a tenant's namespace only for a
 * ClusterIssuer, through DNS-01, for names below the platform's own domain. The chart's policy `challenges` refuses all
 * others. cert-manager takes that for a network error and retries silently, so nothing else would report it.
 */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../config/config.ts';
import {issuerOf} from './issuer-ref.ts';
import type {Certificate, Issuer, IssuerSpec} from './kinds.ts';

interface Issuers {
  get(key: string): DeepReadonly<Issuer> | undefined;
}

/** `stores`: issuers as the operator caches them. */
export function isRenewalRefused(
  {certificates, platform}: Pick<OperatorConfig, 'certificates' | 'platform'>,
  {issuers, clusterIssuers}: {readonly issuers: Issuers; readonly clusterIssuers: Issuers},
  {metadata: {namespace = ''}, spec}: DeepReadonly<Certificate>,
): boolean {
  const {name, kind, group} = issuerOf(spec.issuerRef);
  if (group !== 'cert-manager.io' || certificates.approval.exemptNamespaces.includes(namespace)) return false;
  const isOfPlatform = kind === 'ClusterIssuer';
  const issuer = isOfPlatform ? clusterIssuers.get(name) : issuers.get(`${namespace}/${name}`);
  if (!issuer?.speaksAcme) return false;
  const isBelow = (host: string) => host.endsWith(`.${platform.baseDomain}`);
  return !isOfPlatform || !issuer.solvesInBaseDomain || !orderedNames(spec).every(isBelow);
}

/** The names in the Order that cert-manager creates for the Certificate. */
export function orderedNames({commonName, dnsNames = [], ipAddresses = []}: DeepReadonly<Certificate['spec']>) {
  return [...(commonName ? [commonName] : []), ...dnsNames, ...ipAddresses];
}

/** Whether it has a solver for DNS-01 that applies to names below the domain. */
export function solvesByDns({acme}: DeepReadonly<IssuerSpec>, domain: string): boolean {
  const solvers = acme?.solvers ?? [];
  return solvers.some(({dns01, selector}) => {
    const zones = selector?.dnsZones ?? [];
    const applies = zones.length === 0 || zones.some(zone => `.${domain}`.endsWith(`.${zone}`));
    return dns01 !== undefined && applies;
  });
}
