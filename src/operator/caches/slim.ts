/**
 * The parts of tenants' objects that caches keep: at most a few KiB of each. An object may have 256 KiB of
 * annotations and 1.5 MiB in total, and a tenant may have any number of objects. An object that is cached this way must
 * be patched, never replaced.
 */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {RecentMap} from '../../time/recent-map.ts';
import type {OperatorConfig} from '../config/config.ts';
import {isDecided, isInProgress, isOurs} from '../kinds/certificate-request.ts';
import {MAX_CHARACTERS} from '../kinds/csr.ts';
import {routeNameIn} from '../kinds/derived-names.ts';
import {issuerProblem, orderedNames, solvesByDns} from '../kinds/issuers.ts';
import type {Certificate, CertificateRequest, Issuer, Service, ServicePort} from '../kinds/kinds.ts';

const LABELS: ReadonlySet<string> = new Set<string>(Object.values(LABEL));
/** Our own, those on routes that the edge reads, and those in which cert-manager records the names in a Secret. */
const ANNOTATIONS: ReadonlySet<string> = new Set<string>([
  ...Object.values(ANNOTATION),
  ...['entrypoints', 'tls', 'middlewares', 'priority'].map(name => `traefik.ingress.kubernetes.io/router.${name}`),
  'traefik.ingress.kubernetes.io/service.serversscheme',
  ...['alt-names', 'common-name', 'ip-sans', 'uri-sans', 'email-sans'].map(name => `cert-manager.io/${name}`),
]);
/** In characters. The names and values that we read are shorter, so a truncated one never equals any of them. */
const MAX_VALUE = 256;
const MAX_MESSAGE = 1024;
/** In characters of JSON. */
const MAX_OWNERS = 4096;
const MAX_FINALIZERS = 1024;
const MAX_NAMES = 1024;
export const MAX_SERVICE = 4096;

/** Only of the operator's own objects: a tenant could fill it with others, which would stay after their deletion. */
const parts = new RecentMap<object>(8192);
/** In characters of JSON. Larger ones rarely occur twice. */
const MAX_PART = 512;

/** Makes equal parts of objects one object, which nobody changes: the backend of a project's hosts, the issuer. */
function shared<T extends object>(part: T): T {
  const text = JSON.stringify(part);
  const known = parts.get(text);
  if (known !== undefined) return known as T;
  if (text.length <= MAX_PART) parts.set(text, part);
  return withSharedParts(part);
}

function withSharedParts<T extends object>(whole: T): T {
  const fields = whole as Record<string, unknown>; // an array's keys are its indexes
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'object' && value !== null) fields[name] = shared(value);
  }
  return whole;
}

/** Removes the metadata that the operator does not read. */
export function slimMetadata<T extends KubeObject>(object: T): T {
  const {labels, annotations, ownerReferences, finalizers, ...rest} = object.metadata;
  const {name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp} = rest;
  const metadata = exact<KubeObject['metadata']>({
    ...{name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp},
    labels: labels && kept(labels, LABELS),
    annotations: annotations && kept(annotations, ANNOTATIONS),
    ownerReferences: ownerReferences && atMost(ownerReferences, MAX_OWNERS),
    finalizers: finalizers && atMost(finalizers, MAX_FINALIZERS),
  });
  return {...object, metadata};
}

/**
 * A copy without undefined fields, and without room for more, which V8 leaves in objects that are built step by step.
 */
export function exact<T>(value: {[K in keyof T]: T[K] | undefined}): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function kept(values: Record<string, string>, names: ReadonlySet<string>): Record<string, string> {
  const entries = Object.entries(values).filter(([name]) => names.has(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, cut(value)]));
}

/** A copy: a slice would keep the whole text in memory. */
export function cut(text: string, max = MAX_VALUE): string {
  return text.length <= max ? text : Buffer.from(text.slice(0, max)).toString();
}

/** As many of the first elements as fit. */
function atMost<T>(elements: readonly T[], max: number): T[] {
  let size = 0;
  const end = elements.findIndex(element => {
    size += sizeOf(element);
    return size > max;
  });
  return elements.slice(0, end < 0 ? elements.length : end);
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

/**
 * For objects with our label. Anyone may set it, but only trusted writers may use the names of a host's objects. Any
 * other object is not ours, and only its identity is kept.
 */
function slimOurs<T extends KubeObject>(object: T): T {
  return isOfHost(object) ? slimMetadata(object) : identityOf(object);
}

function isOfHost({metadata}: KubeObject): boolean {
  return routeNameIn(metadata.name) !== undefined;
}

function identityOf<T extends KubeObject>({apiVersion, kind, metadata}: T): T {
  const {name, namespace, uid, resourceVersion} = metadata;
  return {apiVersion, kind, metadata: {name, namespace, uid, resourceVersion}} as T;
}

/** The Secret of an APIKey may have any name. */
export function slimSecret(secret: KubeObject): KubeObject {
  return secret.metadata.labels?.[LABEL.apiKey] === undefined ? slimOurs(secret) : slimMetadata(secret);
}

export function slimCertificate(certificate: Certificate): Certificate {
  if (!isOfHost(certificate)) return {...identityOf(certificate), spec: {secretName: '', issuerRef: {name: ''}}};
  const {apiVersion, kind, metadata, spec, status = {}} = slimMetadata(certificate);
  return {apiVersion, kind, metadata, spec: withSharedParts(spec), status: statusOf(status)};
}

/** Of a Certificate that is not the operator's own: whether it can be renewed, and when it expires. */
export function slimOtherCertificate(certificate: Certificate): Certificate {
  const {apiVersion, kind, metadata} = slimMetadata(certificate);
  const names = orderedNames(certificate.spec).map(name => cut(name));
  const {notAfter} = certificate.status ?? {};
  return {
    ...{apiVersion, kind, metadata},
    spec: {secretName: '', issuerRef: issuerRefOf(certificate), dnsNames: atMost(names, MAX_NAMES)},
    ...(notAfter !== undefined && {status: {notAfter}}),
  };
}

type CertificateStatus = NonNullable<Certificate['status']>;

/** Of the condition Ready, which every issued certificate has, only the status is read, and why it is not True. */
function statusOf({conditions, ...times}: CertificateStatus): CertificateStatus {
  const {notBefore, notAfter, renewalTime, lastFailureTime, failedIssuanceAttempts} = times;
  const read = conditions?.map(condition =>
    condition.type === 'Ready'
      ? {type: condition.type, status: condition.status, ...(condition.status !== 'True' && {reason: condition.reason})}
      : condition,
  );
  const kept = exact({notBefore, notAfter, renewalTime, lastFailureTime, failedIssuanceAttempts, conditions: read});
  if (kept.conditions) kept.conditions = shared(kept.conditions);
  return kept;
}

/**
 * Keeps the spec of a route, which is compared with the intent, and the part of its status that the edge provider
 * reads.
 */
export function slimRoute(
  route: KubeObject & {status?: unknown},
  statusOf: (object: KubeObject) => unknown = () => undefined,
): KubeObject {
  const {status: _, spec, ...applied}: KubeObject & {status?: unknown; spec?: object} = slimOurs(route);
  const status = isOfHost(route) ? statusOf(route) : undefined;
  return {...applied, ...(spec && {spec: withSharedParts(spec)}), ...(status !== undefined && {status})} as KubeObject;
}

interface PlatformObject extends KubeObject {
  spec?: {gatewayClassName?: string; controllerName?: string};
  status?: {supportedFeatures?: {name: string}[]; addresses?: {value: string}[]};
}

/** The parts of the platform's own objects that edge providers read. */
export function slimPlatform(object: PlatformObject): KubeObject {
  const {apiVersion, kind, metadata} = slimMetadata(object);
  const {gatewayClassName, controllerName} = object.spec ?? {};
  const {supportedFeatures: features, addresses} = object.status ?? {};
  const status = {
    ...(features && {supportedFeatures: features.slice(0, 256).map(({name}) => ({name: cut(name, 64)}))}),
    ...(addresses && {addresses: addresses.slice(0, 16).map(({value}) => ({value: cut(value)}))}),
  };
  return {
    ...{apiVersion, kind, metadata},
    spec: {
      ...(gatewayClassName !== undefined && {gatewayClassName: cut(gatewayClassName)}),
      ...(controllerName !== undefined && {controllerName: cut(controllerName)}),
    },
    ...(Object.keys(status).length > 0 && {status}),
  } as KubeObject;
}

/** The whole spec, for a copy, but no status, which may change with every host. */
export function slimCopied(object: KubeObject & {spec?: object}): KubeObject {
  const {apiVersion, kind, metadata, spec = {}} = slimMetadata(object);
  return {...{apiVersion, kind, metadata}, ...{spec}};
}

export function slimService(service: Service): Service {
  const {apiVersion, kind, metadata, spec = {}} = slimMetadata(service);
  const {type, selector, ports = [], ipFamilies, ipFamilyPolicy, publishNotReadyAddresses, sessionAffinity} = spec;
  const routed = {
    ...(selector && {selector}),
    ports: ports.map(routedPort),
    ...(ipFamilies && {ipFamilies: shared(ipFamilies)}),
    ...(ipFamilyPolicy && {ipFamilyPolicy}),
    ...(publishNotReadyAddresses && {publishNotReadyAddresses}),
    ...(sessionAffinity && sessionAffinity !== 'None' && {sessionAffinity}),
  };
  const isTooLarge = sizeOf(routed) > MAX_SERVICE;
  return {apiVersion, kind, metadata, spec: {...(type && {type}), ...(isTooLarge ? {isTooLarge} : routed)}};
}

function routedPort({name, port, targetPort, protocol, appProtocol}: ServicePort): ServicePort {
  return {
    ...(name && {name}),
    port,
    ...(targetPort !== undefined && {targetPort}),
    ...(protocol && protocol !== 'TCP' && {protocol}),
    ...(appProtocol && {appProtocol}),
  };
}

function conditionsOf({status}: Issuer | CertificateRequest, types: readonly string[]) {
  const conditions = status?.conditions?.filter(({type}) => types.includes(type)) ?? [];
  return conditions.map(({reason, message, ...condition}) => ({
    ...condition,
    ...(reason !== undefined && {reason: cut(reason)}),
    ...(message !== undefined && {message: cut(message, MAX_MESSAGE)}),
  }));
}

function slimIssuer(issuer: Issuer): Issuer {
  const {apiVersion, kind, metadata} = slimMetadata(issuer);
  const {selfSigned, acme} = issuer.spec ?? {};
  const type = {...(selfSigned && {isSelfSigned: true}), ...(acme && {speaksAcme: true})};
  return {apiVersion, kind, metadata, ...type, status: {conditions: conditionsOf(issuer, ['Ready'])}};
}

export function slimClusterIssuer(issuer: Issuer, {platform}: Pick<OperatorConfig, 'platform'>): Issuer {
  const solvesInBaseDomain = solvesByDns(issuer.spec ?? {}, platform.baseDomain);
  return {...slimIssuer(issuer), ...(solvesInBaseDomain && {solvesInBaseDomain})};
}

/** The Issuer in a namespace belongs to the tenant: its content decides whether it may be used. */
export function judgedIssuer(issuer: Issuer, {certificates}: OperatorConfig): Issuer {
  const problem = issuerProblem(issuer.spec ?? {}, certificates.tenantIssuers.servers);
  return {...slimIssuer(issuer), ...(problem !== undefined && {problem: cut(problem, MAX_MESSAGE)})};
}

const REQUEST_CONDITIONS = ['Approved', 'Denied', 'Ready'];

function issuerRefOf({spec: {issuerRef}}: CertificateRequest | Certificate): Certificate['spec']['issuerRef'] {
  const {name, kind, group} = issuerRef;
  return {name: cut(name), ...(kind && {kind: cut(kind)}), ...(group && {group: cut(group)})};
}

/** Keeps only the conditions of finished requests, as most are, and of those that are not ours to decide. */
export function undecidedPart(request: CertificateRequest, config: OperatorConfig): CertificateRequest {
  if (isOurs(config, request) && (!isDecided(request) || isInProgress(request))) return slimCertificateRequest(request);
  const conditions = conditionsOf(request, REQUEST_CONDITIONS).map(({message: _, ...condition}) => condition);
  return {
    ...identityOf(request),
    spec: shared({request: '', issuerRef: issuerRefOf(request)}),
    ...(conditions.length > 0 && {status: shared({conditions})}),
  };
}

/** Keeps the inputs of a decision. */
export function slimCertificateRequest(request: CertificateRequest): CertificateRequest {
  const {request: text, isCA, usages, username} = request.spec;
  const conditions = conditionsOf(request, REQUEST_CONDITIONS);
  const status = conditions.length > 0 && {status: {conditions}};
  return {
    apiVersion: request.apiVersion,
    kind: request.kind,
    metadata: slimMetadata(request).metadata,
    spec: {
      request: text.length > MAX_CHARACTERS ? '' : text, // refused without being parsed
      issuerRef: issuerRefOf(request),
      ...(isCA && {isCA}),
      ...(usages && {usages: [...new Set(usages)]}),
      ...(username !== undefined && {username: cut(username)}),
    },
    ...status,
  };
}
