/**
 * Which Issuers of a namespace may be used. An Issuer belongs to the tenant, and its server controls what cert-manager,
 * which is trusted, then does: a lying ACME server chooses the name and the token that are routed at the edge, and one
 * that never ends its challenges delays all others. An Issuer may therefore name only servers that the
 * platform lists, and may not choose where a challenge is solved. The chart's policy `issuers` applies the same rules
 * on admission. https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.IssuerSpec
 */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CertificatesConfig} from './config.ts';
import type {IssuerSpec} from './kinds.ts';

type ListedServers = CertificatesConfig['tenantIssuers']['servers'];

/** What is wrong with the Issuer, as the end of a sentence that begins with its name; undefined if nothing is wrong. */
export function issuerProblem(spec: DeepReadonly<IssuerSpec>, servers: ListedServers): string | undefined {
  const {acme, ca, selfSigned, vault, venafi, ...others} = spec;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `is of a type that Nameplate does not know: ${unknown}`;
  if (acme)
    return serverProblem('acme.server', acme.server, acme, servers) ?? solverProblem(acme.solvers ?? [], servers);
  if (vault) return serverProblem('vault.server', vault.server, vault, servers);
  if (venafi) return venafiProblem(venafi, servers);
  return undefined; // it signs with its own key, and contacts no server
}

/** All servers that cert-manager would contact for the Issuer, in the order of the policy. */
export function serversOf({acme, vault, venafi}: DeepReadonly<IssuerSpec>): readonly string[] {
  const dns01 = (acme?.solvers ?? []).flatMap(solver => solver.dns01 ?? []);
  return [
    acme?.server,
    vault?.server,
    venafi?.tpp?.url,
    venafi?.cloud?.url,
    venafi?.ngts?.url,
    venafi?.ngts?.tokenEndpoint,
    ...dns01.map(({rfc2136}) => rfc2136?.nameserver),
    ...dns01.map(({acmeDNS}) => acmeDNS?.host),
    ...dns01.map(({akamai}) => akamai?.serviceConsumerDomain),
  ].filter(server => server !== undefined);
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

type Solver = NonNullable<NonNullable<DeepReadonly<IssuerSpec>['acme']>['solvers']>[number];

function solverProblem(solvers: readonly Solver[], servers: ListedServers): string | undefined {
  for (const {http01, dns01} of solvers) {
    if (http01?.gatewayHTTPRoute) return 'chooses where a challenge is solved: it sets http01.gatewayHTTPRoute';
    if (http01?.ingress?.name) return 'chooses where a challenge is solved: it sets http01.ingress.name';
    if (http01?.ingress?.ingressTemplate) return 'changes the route of a challenge: it sets ingressTemplate';
    if (dns01?.webhook) return 'delegates its challenges to a program in the cluster: it sets dns01.webhook';
    const named = {
      'dns01.rfc2136.nameserver': dns01?.rfc2136?.nameserver,
      'dns01.acmeDNS.host': dns01?.acmeDNS?.host,
      'dns01.akamai.serviceConsumerDomain': dns01?.akamai?.serviceConsumerDomain,
    };
    for (const [field, server] of Object.entries(named)) {
      const problem = server ? serverProblem(field, server, {}, servers) : undefined;
      if (problem) return problem;
    }
  }
  return undefined;
}
