/** Every cache of the operator, with the indexes by which changes find their keys. */
import type {Condition} from '../api/conditions.ts';
import {ANNOTATION, LABEL} from '../api/names.ts';
import {API_KEY, type APIKey, hashesOf} from '../keys/apikey.ts';
import type {Manager} from '../runtime/controller/manager.ts';
import type {DeepReadonly, KubeObject, ResourceType} from '../runtime/kube/object.ts';
import type {ReadonlyStore} from '../runtime/kube/store.ts';
import {accountId} from './account.ts';
import {isApprovedWithoutClaim, isDecided, undecidedPart} from './approval/request.ts';
import type {OperatorConfig} from './config.ts';
import {ROUTE_NAME_LENGTH} from './identity.ts';
import {caAccountOf} from './orders/ca-account.ts';
import {listedHosts} from './project/hosts.ts';
import * as kinds from './resources.ts';

export interface Stores {
  readonly projects: ReadonlyStore<kinds.Project>;
  readonly domains: ReadonlyStore<kinds.Domain>;
  /** Keyed by host. */
  readonly claims: ReadonlyStore<kinds.DomainClaim>;
  readonly apiKeys: ReadonlyStore<APIKey>;
  readonly namespaces: ReadonlyStore<KubeObject>;
  /** Those of tenants, as are the EndpointSlices. */
  readonly services: ReadonlyStore<kinds.Service>;
  readonly endpointSlices: ReadonlyStore<kinds.EndpointSlice>;
  readonly ingressClasses: ReadonlyStore<KubeObject>;
  /** Ours only, as are the route objects and the Secrets. */
  readonly certificates: ReadonlyStore<kinds.Certificate>;
  /** Undefined: approval is left to others. */
  readonly certificateRequests: ReadonlyStore<kinds.CertificateRequest> | undefined;
  readonly issuers: ReadonlyStore<kinds.Issuer>;
  readonly clusterIssuers: ReadonlyStore<kinds.Issuer>;
  /** Metadata only: the operator never reads a private key, and no cache ever holds an API key. */
  readonly secrets: ReadonlyStore<KubeObject>;
  /** The flavour's kinds, in the order in which they are applied. */
  readonly routes: readonly RouteStore[];
}

export interface RouteStore {
  readonly resource: ResourceType;
  readonly store: ReadonlyStore<KubeObject>;
}

/** Names of the indexes; values are "namespace/…" where the kind is namespaced, unless said otherwise. */
export const INDEX = {
  /** Domains by host over all namespaces (value: the host); Projects by each "namespace/host" that they list. */
  host: 'host',
  /** Route objects by "namespace/np-…", the stem of their names. */
  route: 'route',
  namespace: 'namespace',
  project: 'project',
  service: 'service',
  redirectTo: 'redirectTo',
  /** Domains and APIKeys by "Condition/Reason", over all namespaces: who waits for what. */
  waitsFor: 'waitsFor',
  /** Namespaces by account. */
  account: 'account',
  /** APIKeys by the hash of a key, over all namespaces. */
  sha256: 'sha256',
  /** Secrets by the "namespace/name" of their APIKey. */
  apiKey: 'apiKey',
  /** Certificate requests by the CA account: those that wait, and those approved for which no claim stands. */
  undecided: 'undecided',
  approvedWithoutClaim: 'approvedWithoutClaim',
} as const;

const OURS = {labelSelector: `${LABEL.managedBy}=nameplate`};
/** Each host has a Service of ours, and Kubernetes gives the EndpointSlices of a Service its labels. */
const OTHERS = {labelSelector: `${LABEL.managedBy}!=nameplate`};

export function createStores(manager: Manager, config: OperatorConfig, routeKinds: readonly ResourceType[]): Stores {
  const approves = config.certificates.approval.enabled;
  const stores: Stores = {
    projects: manager.cache(kinds.PROJECT),
    domains: manager.cache(kinds.DOMAIN),
    claims: manager.cache(kinds.DOMAIN_CLAIM),
    apiKeys: manager.cache(API_KEY),
    namespaces: manager.cache(kinds.NAMESPACE, {metadataOnly: true}),
    services: manager.cache(kinds.SERVICE, {...OTHERS, transform: slimService}),
    endpointSlices: manager.cache(kinds.ENDPOINT_SLICE, {...OTHERS, transform: slimEndpointSlice}),
    ingressClasses: manager.cache(kinds.INGRESS_CLASS, {metadataOnly: true}),
    certificates: manager.cache(kinds.CERTIFICATE, OURS),
    certificateRequests: approves ? manager.cache(kinds.CERTIFICATE_REQUEST, {transform: undecidedPart}) : undefined,
    issuers: manager.cache(kinds.ISSUER, {transform: slimIssuer}),
    clusterIssuers: manager.cache(kinds.CLUSTER_ISSUER, {transform: slimIssuer}),
    secrets: manager.cache(kinds.SECRET, {...OURS, metadataOnly: true}),
    routes: routeKinds.map(resource => ({
      resource,
      store: manager.cache(resource, {...OURS, transform: withoutStatus}),
    })),
  };
  addIndexes(stores);
  if (stores.certificateRequests) addRequestIndexes(stores.certificateRequests, config);
  return stores;
}

function addRequestIndexes(requests: ReadonlyStore<kinds.CertificateRequest>, config: OperatorConfig): void {
  const indexIf = (name: string, isMeant: (request: DeepReadonly<kinds.CertificateRequest>) => boolean) =>
    requests.addIndex(name, request => {
      const caAccount = caAccountOf(config, request.metadata.namespace ?? '', request.spec.issuerRef);
      return caAccount !== undefined && isMeant(request) ? [caAccount] : [];
    });
  indexIf(INDEX.undecided, request => !isDecided(request));
  indexIf(INDEX.approvedWithoutClaim, isApprovedWithoutClaim);
}

function addIndexes(stores: Stores): void {
  const {projects, domains, apiKeys, namespaces, endpointSlices, secrets, routes} = stores;
  projects.addIndex(INDEX.host, project => listedHosts(project).map(({host}) => inNamespace(project, host)));
  projects.addIndex(INDEX.service, project => [inNamespace(project, project.spec.service.name)]);
  projects.addIndex(INDEX.namespace, project => [project.metadata.namespace ?? '']);
  domains.addIndex(INDEX.host, domain => [domain.spec.host]);
  domains.addIndex(INDEX.namespace, domain => [domain.metadata.namespace ?? '']);
  domains.addIndex(INDEX.project, domain => [inNamespace(domain, domain.spec.projectRef.name)]);
  domains.addIndex(INDEX.redirectTo, ({metadata, spec}) =>
    spec.redirect ? [`${metadata.namespace}/${spec.redirect.to}`] : [],
  );
  domains.addIndex(INDEX.waitsFor, ({status}) => waitingReasons(status));
  apiKeys.addIndex(INDEX.sha256, hashesOf);
  apiKeys.addIndex(INDEX.namespace, apiKey => [apiKey.metadata.namespace ?? '']);
  apiKeys.addIndex(INDEX.waitsFor, ({status}) => waitingReasons(status));
  secrets.addIndex(INDEX.apiKey, apiKeyKeysOf);
  namespaces.addIndex(INDEX.account, namespace => [accountId(namespace)]);
  endpointSlices.addIndex(INDEX.service, slice => {
    const service = slice.metadata.labels?.['kubernetes.io/service-name'];
    return service ? [inNamespace(slice, service)] : [];
  });
  for (const {store} of routes) {
    store.addIndex(INDEX.route, object => [inNamespace(object, object.metadata.name.slice(0, ROUTE_NAME_LENGTH))]);
  }
}

/** Nothing can be made in it any more, and its deletion takes along what is in it. */
export function isEnding({namespaces}: Stores, namespace: string): boolean {
  return namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined;
}

/** The key of the Domain that an object of ours belongs to, as a list of one; undefined for a default host's object. */
export function domainKeyOf(object: DeepReadonly<KubeObject>): [string] | undefined {
  const host = object.metadata.annotations?.[ANNOTATION.host];
  return host && object.metadata.labels?.[LABEL.project] === undefined ? [inNamespace(object, host)] : undefined;
}

/** The key of the APIKey whose Secret this is, as a list; empty for any other Secret. */
export function apiKeyKeysOf(secret: DeepReadonly<KubeObject>): string[] {
  const name = secret.metadata.labels?.[LABEL.apiKey];
  return name === undefined ? [] : [inNamespace(secret, name)];
}

function waitingReasons(status: DeepReadonly<{conditions?: Condition[]}> | undefined): string[] {
  return (status?.conditions ?? []).flatMap(({type, status: state, reason}) =>
    state === 'True' ? [] : [`${type}/${reason}`],
  );
}

export function inNamespace(object: DeepReadonly<KubeObject>, name: string): string {
  return `${object.metadata.namespace ?? ''}/${name}`;
}

function slimService(service: kinds.Service): kinds.Service {
  const {apiVersion, kind, metadata, spec: {type, selector, ports = []} = {}} = service;
  return {apiVersion, kind, metadata, spec: {...(type && {type}), ...(selector && {selector}), ports}};
}

/** Of a route only what was applied is compared. */
function withoutStatus({status: _, ...route}: KubeObject & {status?: unknown}): KubeObject {
  return route;
}

function slimIssuer(issuer: kinds.Issuer): kinds.Issuer {
  const {apiVersion, kind, metadata, status} = issuer;
  return {apiVersion, kind, metadata, status: {conditions: status?.conditions ?? []}};
}

/** Only whether anything is ready matters; addresses would be most of the memory. */
function slimEndpointSlice(slice: kinds.EndpointSlice): kinds.EndpointSlice {
  const ready = slice.endpoints?.some(endpoint => endpoint.conditions?.ready !== false) ?? false;
  const {apiVersion, kind, metadata} = slice;
  return {apiVersion, kind, metadata, endpoints: ready ? [{conditions: {ready}}] : []};
}
