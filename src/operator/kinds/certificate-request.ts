/** The content of a certificate request, and its progress. */
import {GROUP} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../config/config.ts';
import {type RequestedNames, requestedNames} from './csr.ts';
import {issuerOf} from './issuers.ts';
import type {CertificateRequest} from './kinds.ts';

type Request = DeepReadonly<CertificateRequest>;

export function isDecided({status}: Request): boolean {
  return status?.conditions?.some(({type}) => type === 'Approved' || type === 'Denied') ?? false;
}

/** Approved, and neither issued nor failed. */
export function isInProgress({status}: Request): boolean {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({type}) => type === 'Ready');
  const isOver = ready?.status === 'True' || ready?.reason === 'Failed';
  return !isOver && conditions.some(({type}) => type === 'Approved');
}

/**
 * Whether the operator decides the request: its issuer is cert-manager's or of the configured kind. cert-manager
 * rejects decisions on requests whose issuer kind does not exist. The chart grants the operator nothing for the signers
 * of other kinds: such a request stays unapproved, and no issuer acts on it.
 */
export function isOurs({certificates}: OperatorConfig, {spec}: Request): boolean {
  const {kind, group} = issuerOf(spec.issuerRef);
  const configured = certificates.issuerRef;
  if (group === GROUP || (kind === configured.kind && group === configured.group)) return true;
  return group === 'cert-manager.io' && (kind === 'Issuer' || kind === 'ClusterIssuer');
}

/** Approvals by cert-manager's built-in approver are only reported: it would immediately approve again. */
export function isWithdrawable(config: OperatorConfig, request: Request): boolean {
  const approval = request.status?.conditions?.find(({type}) => type === 'Approved');
  return isInProgress(request) && isOurs(config, request) && approval?.reason !== 'cert-manager.io';
}

/** Issued for a host whose claim has recorded the order, so nothing reads the request again. */
export function isSettled({status}: Request): boolean {
  const conditions = status?.conditions ?? [];
  const isRecorded = conditions.some(({type, reason}) => type === 'Approved' && reason === 'HostHeld');
  return isRecorded && conditions.some(each => each.type === 'Ready' && each.status === 'True');
}

/**
 * An attribute of the subject besides a common name, such as `O`; undefined if none. An issuer may copy the subject into
 * the certificate, and a server that trusts the issuer may read an organization as a group.
 */
export function requestedAttribute(request: Request): string | undefined {
  return namesIn(request)?.attribute;
}

/**
 * The one requested host; undefined if it is not exactly one, or if the certificate would serve as more than a server
 * certificate.
 */
export function requestedHost(request: Request): string | undefined {
  const {isCA, usages = []} = request.spec;
  if (isCA || usages.some(usage => !SERVER_USAGES.has(usage))) return undefined;
  const {dnsNames = [], others, attribute} = namesIn(request) ?? {};
  return dnsNames.length === 1 && !others && attribute === undefined ? dnsNames[0] : undefined;
}

/** Whether all names belong to Services in the namespace, for either end of a connection within the cluster. */
export function requestedServices(
  request: Request,
  {namespace, clusterDomain}: {readonly namespace: string; readonly clusterDomain: string},
): boolean {
  const {isCA, usages = []} = request.spec;
  if (isCA || usages.some(usage => !SERVICE_USAGES.has(usage))) return false;
  const {dnsNames = [], others, attribute} = namesIn(request) ?? {};
  const zones = [`.${namespace}.svc`, `.${namespace}.svc.${clusterDomain}`];
  const isService = (name: string) =>
    zones.some(zone => name.endsWith(zone) && LABELS.test(name.slice(0, -zone.length)));
  return dnsNames.length > 0 && !others && attribute === undefined && dnsNames.every(isService);
}

/** A Service, or a pod of one: at most two labels before the namespace. */
const LABELS = /^([a-z0-9-]+|\*)(\.[a-z0-9-]+)?$/;
const SERVER_USAGES: ReadonlySet<string> = new Set(['digital signature', 'key encipherment', 'server auth']);
const SERVICE_USAGES: ReadonlySet<string> = new Set([...SERVER_USAGES, 'client auth']);

/** A waiting request is judged often, but parsed only once: what is cached never changes. */
const parsed = new WeakMap<object, RequestedNames | undefined>();

function namesIn(request: Request): RequestedNames | undefined {
  if (!parsed.has(request)) parsed.set(request, parse(request.spec.request));
  return parsed.get(request);
}

function parse(request: string): RequestedNames | undefined {
  try {
    return requestedNames(request);
  } catch {
    return undefined; // not a request that any CA could sign
  }
}
