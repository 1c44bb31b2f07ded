/**
 * Decides by the objects on the API server, not by caches, which may lag behind: cert-manager acts on an approval
 * immediately, and a denial is permanent.
 */
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {BaseContext} from '../caches/context.ts';
import {readFresh} from '../caches/fresh.ts';
import {judgedIssuer} from '../caches/slim.ts';
import {INDEX} from '../caches/stores.ts';
import {requestedHost} from '../kinds/certificate-request.ts';
import {routeKeyOf, routeName} from '../kinds/derived-names.ts';
import {issuerOf} from '../kinds/issuers.ts';
import {
  type CachedProject,
  CERTIFICATE,
  type Certificate,
  type CertificateRequest,
  DOMAIN_CLAIM,
  type DomainClaim,
  ISSUER,
  type Issuer,
  NAMESPACE,
  PROJECT,
} from '../kinds/kinds.ts';
import {type Decision, decide} from './decide.ts';

interface FreshDecision {
  readonly decision: Decision;
  /** The claim of the host, as it was read for the decision. */
  readonly claim: DeepReadonly<DomainClaim> | undefined;
}

/**
 * `isDenied`: what the caches say. Only a denial reads the Certificate: an approved request of a former Certificate
 * gets nothing that its namespace may not have.
 */
export async function decideFreshly(
  context: BaseContext,
  request: DeepReadonly<CertificateRequest>,
  {isDenied = false} = {},
): Promise<FreshDecision> {
  const {client, signal, stores} = context;
  const {namespace = ''} = request.metadata;
  const host = requestedHost(request);
  const issuer = await freshIssuer(context, request);
  const issuers = {get: () => issuer};
  if (host === undefined)
    return {decision: decide({...context, stores: {...stores, issuers}}, request), claim: undefined};
  const [claim, object, certificate] = await Promise.all([
    client.get(DOMAIN_CLAIM, {name: host}, {signal}),
    readFresh(context, NAMESPACE, {name: namespace}, {metadataOnly: true}),
    isDenied ? freshCertificate(context, namespace, host) : cachedCertificate(context, namespace, host),
  ]);
  const project = await freshProject(context, namespace, host, certificate);
  const fresh = {
    claims: {get: () => claim},
    namespaces: {get: () => object},
    certificates: {get: () => certificate},
    projects: {byIndex: () => (project ? [project] : [])},
    issuers,
  };
  return {decision: decide({...context, stores: fresh}, request), claim};
}

function cachedCertificate({stores}: BaseContext, namespace: string, host: string) {
  return stores.certificates.get(routeKeyOf(`${namespace}/${host}`));
}

async function freshCertificate(
  context: BaseContext,
  namespace: string,
  host: string,
): Promise<DeepReadonly<Certificate> | undefined> {
  const found = await readFresh(context, CERTIFICATE, {namespace, name: routeName(namespace, host)});
  return found?.metadata.labels?.[LABEL.managedBy] === 'nameplate' ? found : undefined;
}

/** The Project whose default host this is, if default hosts have their own certificates. */
async function freshProject(
  context: BaseContext,
  namespace: string,
  host: string,
  certificate: DeepReadonly<Certificate> | undefined,
): Promise<CachedProject | undefined> {
  const {config, stores, names} = context;
  if (config.defaultHost.tls !== 'certificate' || !host.endsWith(`.${config.platform.baseDomain}`)) return undefined;
  const [cached] = stores.projects.byIndex(INDEX.defaultHost, `${namespace}/${host}`);
  const name = cached?.metadata.name ?? certificate?.metadata.labels?.[LABEL.project];
  if (name === undefined || names.defaultHost(name, namespace) !== host) return undefined;
  const project = await readFresh(context, PROJECT, {namespace, name});
  return project && {...project, defaultHost: host};
}

/** Only if it belongs to the tenant; no other Issuer is judged. */
async function freshIssuer(
  context: BaseContext,
  {metadata: {namespace}, spec}: DeepReadonly<CertificateRequest>,
): Promise<Issuer | undefined> {
  const {kind, name, group} = issuerOf(spec.issuerRef);
  if (kind !== 'Issuer' || group !== 'cert-manager.io') return undefined;
  const issuer = await readFresh(context, ISSUER, {namespace, name});
  return issuer && judgedIssuer(issuer, context.config);
}
