/**
 * Decides whether a certificate request is approved. By default, only requests that cert-manager created for the
 * operator's own Certificates are: each for exactly one host that its namespace holds, from an issuer that the platform
 * lists.
 */
import {objectNameOf} from '../../api/host-names.ts';
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Base, BaseContext} from '../caches/context.ts';
import {readFresh} from '../caches/fresh.ts';
import type {Placing} from '../caches/places.ts';
import {judgedIssuer} from '../caches/slim.ts';
import {INDEX, type Stores} from '../caches/stores.ts';
import type {IssuerRef} from '../config/config.ts';
import {accountOf, holderOf} from '../kinds/account.ts';
import {requestedAttribute, requestedHost, requestedServices} from '../kinds/certificate-request.ts';
import {hostKey, routeKeyOf, routeName} from '../kinds/derived-names.ts';
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

export interface Decision {
  readonly type: 'Approved' | 'Denied';
  readonly reason: ApprovalReason | DenialReason;
  readonly message: string;
  /** The one requested host; absent if it does not matter, or if the request is not for exactly one host. */
  readonly host?: string;
}

type ApprovalReason = 'HostHeld' | 'DefaultHost' | 'OwnServices' | 'NamespaceExempt';
type DenialReason =
  | 'SubjectNotAllowed'
  | 'NotOneHost'
  | 'HostNotHeld'
  | 'NotManaged'
  | 'NotFromCertManager'
  | 'IssuerNotListed'
  | 'IssuerNotAllowed';

/** What a decision depends on. */
export interface DecisionBasis extends Pick<Base, 'config'> {
  readonly places: Placing<'projects'>;
  readonly stores: {
    readonly [store in 'namespaces' | 'claims' | 'certificates' | 'issuers']: Pick<Stores[store], 'get'>;
  } & {readonly projects: Pick<Stores['projects'], 'byIndex'>};
}

export function decide(operator: DecisionBasis, request: DeepReadonly<CertificateRequest>): Decision {
  const {approval} = operator.config.certificates;
  const {namespace = ''} = request.metadata;
  if (approval.exemptNamespaces.includes(namespace)) {
    return approved('NamespaceExempt', `The platform's configuration exempts namespace ${namespace}.`);
  }
  const attribute = requestedAttribute(request);
  if (attribute !== undefined) {
    const message = `The subject of this request has the attribute ${attribute}. Nameplate approves only a common name there, because an issuer may sign the subject unchanged. Remove spec.subject from the Certificate, and any other attribute from spec.literalSubject.`;
    return denied('SubjectNotAllowed', message);
  }
  const {services, clusterDomain} = approval.tenantCertificates;
  if (requestedServices(request, {namespace, clusterDomain}) && isListed(services, request)) {
    return issuerDenial(operator, request) ?? approved('OwnServices', `These are names of Services in ${namespace}.`);
  }
  const host = requestedHost(request);
  if (host === undefined) {
    const message =
      'Nameplate approves only server certificates that name exactly one host. List the hosts in spec.domains of a Project: each gets its own certificate.';
    return denied('NotOneHost', message);
  }
  const how = howHeld(operator, namespace, host);
  if (!how) {
    const message = `This namespace does not hold ${host}. List it in spec.domains of a Project and create the record that the Domain shows; Nameplate then requests the certificate.`;
    return denied('HostNotHeld', message);
  }
  return (
    originDenial(operator, request, host) ??
    issuerDenial(operator, request) ??
    approved(how, `This namespace holds ${host}.`, host)
  );
}

/**
 * By a claim or, if default hosts have their own certificates, as the default host of a Project that has a place in the
 * plan.
 */
export function howHeld(
  {
    stores,
    config,
    places,
  }: Pick<DecisionBasis, 'config' | 'places'> & {
    readonly stores: Pick<DecisionBasis['stores'], 'namespaces' | 'claims' | 'projects'>;
  },
  namespace: string,
  host: string,
): 'HostHeld' | 'DefaultHost' | undefined {
  const object = stores.namespaces.get(namespace);
  if (!object || object.metadata.deletionTimestamp) return undefined;
  if (holderOf(stores.claims.get(objectNameOf(host)), accountOf(object, config), namespace) === 'us') return 'HostHeld';
  if (config.defaultHost.tls !== 'certificate') return undefined; // else a tenant could use up the CA's limit for the base domain
  const [project] = stores.projects.byIndex(INDEX.defaultHost, `${namespace}/${host}`);
  if (!project || project.metadata.deletionTimestamp) return undefined; // a tenant's finalizer may keep it for long
  return places.projects.has(project) ? 'DefaultHost' : undefined;
}

/**
 * The UID of the owning Certificate and the user who created a request decide whether it is the operator's own. Names
 * and annotations prove nothing: the writer of a request writes them too.
 */
function originDenial(
  {stores, config}: DecisionBasis,
  request: DeepReadonly<CertificateRequest>,
  host: string,
): Decision | undefined {
  const {certManagerUser, issuerRef, formerIssuerRefs, approval} = config.certificates;
  const {namespace = '', ownerReferences = []} = request.metadata;
  const certificate = stores.certificates.get(routeKeyOf(hostKey(namespace, host)));
  const isOurs =
    certificate && ownerReferences.some(({uid, controller}) => controller && uid === certificate.metadata.uid);
  if (!isOurs) {
    if (isListed(approval.tenantCertificates.hosts, request)) return undefined;
    const message = `This namespace holds ${host}, and Nameplate itself requests the certificate for ${host}. The platform does not approve further certificates for it from this issuer: delete your Certificate, or ask the platform team to list the issuer in config.certificates.approval.tenantCertificates.hosts.`;
    return denied('NotManaged', message);
  }
  if (request.spec.username !== certManagerUser) {
    const message = `User ${request.spec.username ?? '(unknown)'} created this request, not cert-manager (${certManagerUser}). If this user is cert-manager, ask the platform team to set config.certificates.certManagerUser.`;
    return denied('NotFromCertManager', message);
  }
  if (isListed([issuerRef, ...formerIssuerRefs], request)) return undefined;
  const {kind, name} = issuerOf(request.spec.issuerRef);
  const message = `${kind} ${name} is not the platform's issuer. Nameplate replaces it in the Certificate and requests the certificate again.`;
  return denied('IssuerNotListed', message);
}

/** An Issuer is also judged when a request uses it: one that was created before the policies gains nothing. */
function issuerDenial(
  {stores}: DecisionBasis,
  {metadata, spec}: DeepReadonly<CertificateRequest>,
): Decision | undefined {
  const {kind, name, group} = issuerOf(spec.issuerRef);
  if (kind !== 'Issuer' || group !== 'cert-manager.io') return undefined; // the platform's
  const issuer = stores.issuers.get(`${metadata.namespace}/${name}`);
  if (!issuer) return denied('IssuerNotAllowed', `There is no Issuer ${name} in this namespace. Create it first.`);
  if (issuer.problem === undefined) return undefined;
  const message = `Issuer ${name} ${issuer.problem}. Use the platform's issuer: list the host in spec.domains of a Project. Or change this Issuer to a server in config.certificates.tenantIssuers.`;
  return denied('IssuerNotAllowed', message);
}

function isListed(listed: readonly IssuerRef[], {spec}: DeepReadonly<CertificateRequest>): boolean {
  const {name, kind, group} = issuerOf(spec.issuerRef);
  return listed.some(issuer => issuer.name === name && issuer.kind === kind && issuer.group === group);
}

function approved(reason: ApprovalReason, message: string, host?: string): Decision {
  return {type: 'Approved', reason, message, ...(host !== undefined && {host})};
}

function denied(reason: DenialReason, message: string): Decision {
  return {type: 'Denied', reason, message};
}

interface FreshDecision {
  readonly decision: Decision;
  /** The claim of the host, as it was read for the decision. */
  readonly claim: DeepReadonly<DomainClaim> | undefined;
}

/**
 * Decides by the objects on the API server, not by caches, which may lag behind: cert-manager acts on an approval
 * immediately, and a denial is permanent. `isDenied`: what the caches say. Only a denial reads the Certificate: an
 * approved request of a former Certificate gets nothing that its namespace may not have.
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
    client.get(DOMAIN_CLAIM, {name: objectNameOf(host)}, {signal}),
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
  return stores.certificates.get(routeKeyOf(hostKey(namespace, host)));
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
