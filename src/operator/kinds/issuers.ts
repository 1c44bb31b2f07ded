/** Issuers: which one is meant, which of a tenant's may be used, and with which cert-manager cannot renew. */
import {findCondition} from '../../api/conditions.ts';
import {GROUP} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CertificatesConfig, IssuerRef as ConfiguredIssuer, OperatorConfig} from '../config/config.ts';
import type {ACMEIssuer, Certificate, Issuer, IssuerSpec} from './kinds.ts';

type IssuerRef = Readonly<Certificate['spec']['issuerRef']>;

/** The issuer as cert-manager reads it: its defaults apply to missing and empty fields. */
export function issuerOf({name, kind, group}: IssuerRef): Required<IssuerRef> {
  return {name, kind: kind || 'Issuer', group: group || 'cert-manager.io'};
}

/** A certificate keeps an issuer that the platform lists now or listed before; any other issuer is replaced. */
export function keptIssuer(
  {certificates: {issuerRef, formerIssuerRefs}}: OperatorConfig,
  existing: DeepReadonly<Certificate> | undefined,
): IssuerRef {
  if (!existing) return issuerRef;
  const has = issuerOf(existing.spec.issuerRef);
  const isSame = ({name, kind, group}: ConfiguredIssuer) =>
    name === has.name && kind === has.kind && group === has.group;
  return [issuerRef, ...formerIssuerRefs].some(isSame) ? existing.spec.issuerRef : issuerRef;
}

/** The name of the ACMEIssuer; undefined if the reference is to another kind of issuer. */
export function acmeIssuerOf(issuerRef: IssuerRef): string | undefined {
  const {name, kind, group} = issuerOf(issuerRef);
  return kind === 'ACMEIssuer' && group === GROUP ? name : undefined;
}

/** The ACMEIssuers that the configuration names, and so trusts with orders. */
export function acmeIssuersOf({
  issuerRef,
  formerIssuerRefs,
}: Pick<CertificatesConfig, 'issuerRef' | 'formerIssuerRefs'>): string[] {
  return [issuerRef, ...formerIssuerRefs].flatMap(ref => acmeIssuerOf(ref) ?? []);
}

type ListedServers = CertificatesConfig['tenantIssuers']['servers'];

/**
 * The fault of the Issuer of a namespace, as the end of a sentence that begins with its name; undefined if it may be
 * used. It belongs to the tenant, and its server controls what cert-manager, which is trusted, then does. One that
 * speaks ACME makes it solve challenges in the namespace, so none may. Another may name only servers that the platform
 * lists. The chart's policy `issuers` applies the same rules on admission.
 * https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.IssuerSpec
 */
export function issuerProblem(spec: DeepReadonly<IssuerSpec>, servers: ListedServers): string | undefined {
  const {acme, ca, selfSigned, vault, venafi, ...others} = spec;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `is of a type that Nameplate does not know: ${unknown}`;
  if (acme) return 'solves challenges in this namespace, which the platform does not allow: it is of type acme';
  if (vault) return serverProblem('vault.server', vault.server, vault, servers);
  if (venafi) return venafiProblem(venafi, servers);
  return undefined; // it signs with its own key, and contacts no server
}

interface Trust {
  readonly skipTLSVerify?: boolean | undefined;
  readonly caBundle?: string | undefined;
  readonly caBundleSecretRef?: unknown;
}

/** Compares complete URLs: with only a prefix, a tenant could choose another server. */
function serverProblem(
  field: string,
  url: string | undefined,
  {skipTLSVerify, caBundle, caBundleSecretRef}: Trust,
  servers: ListedServers,
): string | undefined {
  const listed = servers.find(server => server.url === url);
  if (!listed) return `names a server that the platform does not list: ${field} is ${url ?? ''}`;
  if (skipTLSVerify) return 'does not verify its server: it sets skipTLSVerify';
  if (caBundleSecretRef) return 'changes how its server is verified: it sets caBundleSecretRef';
  if (caBundle && caBundle !== listed.caBundle) return 'changes how its server is verified: it sets caBundle';
  return undefined;
}

function venafiProblem(venafi: NonNullable<DeepReadonly<IssuerSpec>['venafi']>, servers: ListedServers) {
  const {tpp, cloud, ngts} = venafi;
  const optional = {
    'venafi.cloud.url': cloud?.url,
    'venafi.ngts.url': ngts?.url,
    'venafi.ngts.tokenEndpoint': ngts?.tokenEndpoint,
  };
  if (tpp) return serverProblem('venafi.tpp.url', tpp.url, tpp, servers);
  for (const [field, url] of Object.entries(optional)) {
    const problem = url ? serverProblem(field, url, {}, servers) : undefined;
    if (problem) return problem;
  }
  return undefined;
}

interface Issuers {
  get(key: string): DeepReadonly<Issuer> | undefined;
}

/**
 * Whether cert-manager cannot renew the certificate: it may solve challenges in a tenant's namespace only for a
 * ClusterIssuer, through DNS-01, for names below the platform's own domain. The chart's policy `challenges` refuses all
 * others. cert-manager takes that for a network error and retries silently, so nothing else would report it.
 */
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

/** Why an ACMEIssuer issues nothing now; undefined if it does, or has not said. */
export function acmeNotReady(name: string, {status}: DeepReadonly<ACMEIssuer>): string | undefined {
  const failing = status?.conditions?.find(condition => condition.status === 'False');
  return failing && `The platform's ACMEIssuer ${name} is not ready: ${failing.message.replace(/[.\s]+$/, '')}.`;
}

/** The message of an issuer that is not ready; undefined if it is ready, or has none. */
export function notReady(kind: string, name: string, issuer: DeepReadonly<Issuer>): string | undefined {
  const ready = findCondition(issuer.status?.conditions, 'Ready');
  if (ready?.status !== 'False') return undefined;
  const why = (ready.message ?? ready.reason ?? '').replace(/[.\s]+$/, '');
  return `The platform's ${kind} ${name} is not ready${why === '' ? '' : `: ${why}`}.`;
}
