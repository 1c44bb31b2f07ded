/** What caches keep of the objects that tenants write. */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {isDecided, isInProgress} from '../model/certificate-request.ts';
import type {OperatorConfig} from '../model/config.ts';
import {MAX_CHARACTERS} from '../model/csr.ts';
import {issuerProblem} from '../model/issuer-rules.ts';
import type {CertificateRequest, Challenge, EndpointSlice, Issuer, Service} from '../model/kinds.ts';

/** Finds the EndpointSlices of a Service. */
const SERVICE_NAME = 'kubernetes.io/service-name';
const LABELS: ReadonlySet<string> = new Set<string>([...Object.values(LABEL), SERVICE_NAME]);
const ANNOTATIONS: ReadonlySet<string> = new Set<string>(Object.values(ANNOTATION));
/** In characters. The values that we read are at most half as long. */
const MAX_VALUE = 256;

/**
 * Removes the labels and annotations that the operator does not read. An object may have 256 KiB of annotations, and a
 * tenant may have any number of objects. An object that is cached this way must be patched, never replaced.
 */
export function slimMetadata<T extends KubeObject>(object: T): T {
  const {labels, annotations, ...rest} = object.metadata;
  const metadata = {
    ...rest,
    ...(labels && {labels: kept(labels, LABELS)}),
    ...(annotations && {annotations: kept(annotations, ANNOTATIONS)}),
  };
  return {...object, metadata};
}

function kept(values: Record<string, string>, names: ReadonlySet<string>): Record<string, string> {
  const entries = Object.entries(values).filter(([name]) => names.has(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, value.slice(0, MAX_VALUE)]));
}

export function slimService(service: Service): Service {
  const {apiVersion, kind, metadata, spec: {type, selector, ports = []} = {}} = slimMetadata(service);
  return {apiVersion, kind, metadata, spec: {...(type && {type}), ...(selector && {selector}), ports}};
}

/** Of a route only what was applied is compared. */
export function withoutStatus({status: _, ...route}: KubeObject & {status?: unknown}): KubeObject {
  return route;
}

export function slimIssuer(issuer: Issuer): Issuer {
  const {apiVersion, kind, metadata, status} = slimMetadata(issuer);
  return {apiVersion, kind, metadata, status: {conditions: status?.conditions ?? []}};
}

export function slimChallenge(challenge: Challenge): Challenge {
  const {apiVersion, kind, metadata, spec, status} = slimMetadata(challenge);
  return {apiVersion, kind, metadata, spec: {dnsName: spec.dnsName}, status: {processing: status?.processing ?? false}};
}

/** The Issuer in a namespace belongs to the tenant: its content decides whether it may be used. */
export function judgedIssuer(issuer: Issuer, {certificates}: OperatorConfig): Issuer {
  const problem = issuerProblem(issuer.spec ?? {}, certificates.tenantIssuers.servers);
  return {...slimIssuer(issuer), ...(problem !== undefined && {problem})};
}

/** Only whether anything is ready matters; addresses would be most of the memory. */
export function slimEndpointSlice(slice: EndpointSlice): EndpointSlice {
  const ready = slice.endpoints?.some(endpoint => endpoint.conditions?.ready !== false) ?? false;
  const {apiVersion, kind, metadata} = slimMetadata(slice);
  return {apiVersion, kind, metadata, endpoints: ready ? [{conditions: {ready}}] : []};
}
/** What is cached: for a finished request, as most are, only the decision. */
export function undecidedPart(request: CertificateRequest): CertificateRequest {
  const {apiVersion, kind, metadata, spec, status} = slimMetadata(request);
  const {request: text, isCA, usages, issuerRef, username} = spec;
  const kept = status?.conditions?.filter(({type}) => KEPT_CONDITIONS.has(type)) ?? [];
  if (isDecided(request) && !isInProgress(request)) {
    const {name, namespace, uid, resourceVersion} = metadata;
    const identity = {name, namespace, uid, resourceVersion} as CertificateRequest['metadata'];
    return {apiVersion, kind, metadata: identity, spec: {request: '', issuerRef}, status: {conditions: kept}};
  }
  return {
    apiVersion,
    kind,
    metadata,
    spec: {
      request: text.length > MAX_CHARACTERS ? '' : text, // refused without being parsed
      issuerRef,
      ...(isCA && {isCA}),
      ...(usages && {usages: [...new Set(usages)]}),
      ...(username !== undefined && {username}),
    },
    ...(kept.length > 0 && {status: {conditions: kept}}),
  };
}

const KEPT_CONDITIONS: ReadonlySet<string> = new Set(['Approved', 'Denied', 'Ready']);
