/**
 * Which Issuers of a namespace may be used. An Issuer belongs to the tenant, and its server controls what cert-manager,
 * which is trusted, then does. One that speaks ACME makes it solve challenges in the namespace, so none may. Another may
 * name only servers that the platform lists. The chart's policy `issuers` applies the same rules on admission.
 * https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.IssuerSpec
 */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CertificatesConfig} from '../config/config.ts';
import type {IssuerSpec} from './kinds.ts';

type ListedServers = CertificatesConfig['tenantIssuers']['servers'];

/** The fault of the Issuer, as the end of a sentence that begins with its name; undefined if it has none. */
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
