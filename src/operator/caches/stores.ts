/** Every cache of the operator, with the indexes by which changes find their keys. */
import {dayOf} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import {API_KEY, type APIKey, hashesOf, KEY_CLAIM, type KeyClaim} from '../../apikey/apikey.ts';
import type {ReadonlyStore} from '../../runtime/cache/store.ts';
import type {Manager} from '../../runtime/controller/manager.ts';
import type {DeepReadonly, KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../config/config.ts';
import {accountId, hasPause, waitsForPlan} from '../kinds/account.ts';
import {isInProgress, isSettled, requestedHost} from '../kinds/certificate-request.ts';
import {type DerivedNames, routeNameIn} from '../kinds/derived-names.ts';
import type {EdgeProvider, PlatformKind, PlatformReader} from '../kinds/edge-provider.ts';
import {acmeIssuerOf, issuerOf} from '../kinds/issuers.ts';
import * as kinds from '../kinds/kinds.ts';
import {listedHosts} from '../kinds/project-hosts.ts';
import {
  exact,
  judgedIssuer,
  slimCertificate,
  slimCertificateRequest,
  slimClusterIssuer,
  slimCopied,
  slimMetadata,
  slimOtherCertificate,
  slimPlatform,
  slimRoute,
  slimSecret,
  slimService,
  undecidedPart,
} from './slim.ts';

export interface Stores {
  readonly projects: ReadonlyStore<kinds.CachedProject>;
  readonly domains: ReadonlyStore<kinds.Domain>;
  /** Keyed by host. */
  readonly claims: ReadonlyStore<kinds.DomainClaim>;
  readonly acmeIssuers: ReadonlyStore<kinds.ACMEIssuer>;
  readonly apiKeys: ReadonlyStore<APIKey>;
  /** Keyed by the hash of the key. */
  readonly keyClaims: ReadonlyStore<KeyClaim>;
  readonly namespaces: ReadonlyStore<KubeObject>;
  /** Only those of tenants. */
  readonly services: ReadonlyStore<kinds.Service>;
  /** The platform's own objects that the edge provider reads. */
  readonly platform: PlatformStores;
  /** Only the operator's own, as are the route objects and the Secrets. */
  readonly certificates: ReadonlyStore<kinds.Certificate>;
  /** Those of tenants and programs that cert-manager's own issuers sign, except in exempt namespaces. */
  readonly otherCertificates: ReadonlyStore<kinds.Certificate>;
  /** Without those that are settled. */
  readonly certificateRequests: ReadonlyStore<kinds.CertificateRequest>;
  /** The requests that a dry run judges; undefined otherwise. */
  readonly dryRunRequests: ReadonlyStore<kinds.CertificateRequest> | undefined;
  readonly issuers: ReadonlyStore<kinds.Issuer>;
  readonly clusterIssuers: ReadonlyStore<kinds.Issuer>;
  /** Metadata only: the operator never reads a private key, and no cache ever holds an API key. */
  readonly secrets: ReadonlyStore<KubeObject>;
  /** The kinds of the edge provider, in the order in which they are applied. */
  readonly routes: readonly RouteStore[];
}

interface PlatformStores extends PlatformReader {
  readonly stores: readonly ReadonlyStore<KubeObject>[];
}

export interface RouteStore {
  readonly resource: ResourceType;
  readonly store: ReadonlyStore<KubeObject>;
}

/** Names of the indexes. Values are "namespace/…" if the kind is namespaced, unless stated otherwise. */
export const INDEX = {
  /**
   * Domains and requests in progress by host across all namespaces (value: the host); Projects that do not wait for
   * their plan, by each "namespace/host" that they list; the route objects of Domains that match requests, by their
   * host.
   */
  host: 'host',
  /** Route objects by "namespace/np-…", the stem of their names. */
  route: 'route',
  namespace: 'namespace',
  /** Route objects by the "namespace/name" of the Services to which they send requests. */
  backend: 'backend',
  /**
   * Projects by "namespace/host" of their default host; its Certificate and route objects, and those of a former one, by
   * "namespace/name" of their Project.
   */
  defaultHost: 'defaultHost',
  redirectTo: 'redirectTo',
  /** Namespaces and claims by account, but no released claims, of which an account may have any number. */
  account: 'account',
  /** APIKeys by the hash of a key that their status shows, across all namespaces. */
  sha256: 'sha256',
  /** Requests in progress, all by the value 'all'. */
  inProgress: 'inProgress',
  /** Requests in progress by the "namespace/name" of a tenant's Issuer. */
  issuer: 'issuer',
  /** Key claims by the uid of their APIKey. */
  uid: 'uid',
  /** Key claims that have their own end, by account. */
  ending: 'ending',
  /**
   * Domains and Projects whose next certificate a change of the issuer may concern, by namespace, and all by
   * `ANY_NAMESPACE`.
   */
  awaitsIssuer: 'awaitsIssuer',
  /** Certificates about which cert-manager has not said anything yet, all by the value 'all'. */
  untouched: 'untouched',
  /** Domains, Projects, and namespaces with a pause, all by the value 'all'. */
  paused: 'paused',
  /** Secrets and key claims by the "namespace/name" of their APIKey. */
  apiKey: 'apiKey',
  /** Approved certificate requests in progress by the ACMEIssuer that signs them. */
  signing: 'signing',
  /** Claims by the UTC day of each of their orders, such as "2026-11-27". */
  orderDay: 'orderDay',
} as const;

export const ANY_NAMESPACE = '*';

/** As type/reason: of a Domain, and of a Project. */
const AWAITS_ISSUER: ReadonlySet<string> = new Set([
  ...[
    ...['IssuerNotFound', 'IssuerNotAllowed', 'IssuerNotReady', 'CertManagerMissing', 'CertManagerDown'],
    ...['Issuing', 'Overdue', 'Expired', 'RenewalFailing'],
  ].map(reason => `CertificateReady/${reason}`),
  ...['CertificateNotReady', 'CertificateExpired', 'RenewalFailing'].map(reason => `Ready/${reason}`),
]);

const OURS = {labelSelector: `${LABEL.managedBy}=nameplate`};
/** Excludes our own. */
const OTHERS = {labelSelector: `${LABEL.managedBy}!=nameplate`};

export function createStores(
  manager: Manager,
  config: OperatorConfig,
  names: Pick<DerivedNames, 'defaultHost'>,
  edge: Pick<EdgeProvider, 'resources' | 'platformKinds' | 'statusOf' | 'backends' | 'emptied'>,
): Stores {
  const {enabled, dryRun, exemptNamespaces} = config.certificates.approval;
  const stores: Stores = {
    projects: manager.cache(kinds.PROJECT as ResourceType<kinds.CachedProject>, {
      transform: project => withDefaultHost(slimMetadata(project), names),
    }),
    domains: manager.cache(kinds.DOMAIN, {transform: slimMetadata}),
    claims: manager.cache(kinds.DOMAIN_CLAIM, {transform: claim => ({...claim, metadata: exact(claim.metadata)})}),
    acmeIssuers: manager.cache(kinds.ACME_ISSUER, {transform: slimMetadata}),
    apiKeys: manager.cache(API_KEY, {transform: slimMetadata}),
    keyClaims: manager.cache(KEY_CLAIM),
    namespaces: manager.cache(kinds.NAMESPACE, {metadataOnly: true, transform: slimMetadata}),
    services: manager.cache(kinds.SERVICE, {...OTHERS, transform: slimService}),
    platform: platformStores(manager, edge.platformKinds),
    otherCertificates: manager.cache(kinds.CERTIFICATE, {
      ...OTHERS,
      transform: slimOtherCertificate,
      holds: ({metadata, spec}) =>
        issuerOf(spec.issuerRef).group === 'cert-manager.io' && !exemptNamespaces.includes(metadata.namespace ?? ''),
    }),
    certificates: manager.cache(kinds.CERTIFICATE, {...OURS, transform: slimCertificate}),
    certificateRequests: manager.cache(kinds.CERTIFICATE_REQUEST, {
      transform: request => undecidedPart(request, config),
      holds: request => !isSettled(request),
    }),
    dryRunRequests:
      enabled && dryRun ? manager.cache(kinds.CERTIFICATE_REQUEST, {transform: slimCertificateRequest}) : undefined,
    issuers: manager.cache(kinds.ISSUER, {transform: issuer => judgedIssuer(issuer, config)}),
    clusterIssuers: manager.cache(kinds.CLUSTER_ISSUER, {transform: issuer => slimClusterIssuer(issuer, config)}),
    secrets: manager.cache(kinds.SECRET, {...OURS, metadataOnly: true, transform: slimSecret}),
    routes: edge.resources.map(resource => ({
      resource,
      store: manager.cache(resource, {...OURS, transform: route => slimRoute(route, edge.statusOf)}),
    })),
  };
  addIndexes(stores);
  addRouteIndexes(stores, edge);
  addRequestIndexes(stores.certificateRequests);
  return stores;
}

function platformStores(manager: Manager, platformKinds: readonly PlatformKind[]): PlatformStores {
  const caches = platformKinds.map(({resource, metadataOnly = false, namespace, isCopied}) => ({
    resource,
    store: manager.cache(resource, {metadataOnly, namespace, transform: isCopied ? slimCopied : slimPlatform}),
  }));
  const storeOf = ({kind}: ResourceType) => caches.find(({resource}) => resource.kind === kind)?.store;
  return {
    stores: caches.map(({store}) => store),
    get: <T extends KubeObject>(resource: ResourceType<T>, key: string) =>
      storeOf(resource as ResourceType)?.get(key) as DeepReadonly<T> | undefined,
    list: <T extends KubeObject>(resource: ResourceType<T>) =>
      (storeOf(resource as ResourceType)?.list() ?? []) as Iterable<DeepReadonly<T>>,
  };
}

/** An HMAC: computed once per version of the object, not with every lookup. */
function withDefaultHost(project: kinds.Project, names: Pick<DerivedNames, 'defaultHost'>): kinds.CachedProject {
  const {name, namespace = ''} = project.metadata;
  return {...project, defaultHost: names.defaultHost(name, namespace)};
}

function addRequestIndexes(requests: ReadonlyStore<kinds.CertificateRequest>): void {
  requests.addIndex(INDEX.signing, request => {
    const issuer = acmeIssuerOf(request.spec.issuerRef);
    return issuer !== undefined && isInProgress(request) ? [issuer] : [];
  });
  requests.addIndex(INDEX.issuer, request => {
    const {kind, name, group} = issuerOf(request.spec.issuerRef);
    const isTenants = kind === 'Issuer' && group === 'cert-manager.io' && isInProgress(request);
    return isTenants ? [inNamespace(request, name)] : [];
  });
  requests.addIndex(INDEX.inProgress, request => (isInProgress(request) ? ['all'] : []));
  // An order for it may be in progress.
  requests.addIndex(INDEX.host, request =>
    isInProgress(request) ? [requestedHost(request) ?? []].flat().map(objectNameOf) : [],
  );
}

function addIndexes(stores: Stores): void {
  const {claims, certificates, namespaces, domains, projects, routes} = stores;
  addProjectIndexes(stores);
  addDomainIndexes(stores);
  addKeyIndexes(stores);
  claims.addIndex(INDEX.account, ({spec}) =>
    spec.releasedAt === undefined && spec.project === undefined ? [spec.account] : [],
  );
  claims.addIndex(INDEX.orderDay, ({spec}) => (spec.orders ?? []).map(({at}) => dayOf(at)));
  claims.addIndex(INDEX.defaultHost, ({spec}) => (spec.project === undefined ? [] : ['all']));
  for (const store of [certificates, ...routes.map(({store}) => store)]) {
    store.addIndex(INDEX.defaultHost, object => (routeNameIn(object.metadata.name) ? projectKeyOf(object) : []));
  }
  certificates.addIndex(INDEX.untouched, ({status}) => (status?.conditions?.length ? [] : ['all']));
  namespaces.addIndex(INDEX.account, namespace => [accountId(namespace)]);
  for (const store of [domains, projects]) {
    store.addIndex(INDEX.awaitsIssuer, ({metadata, status}: DeepReadonly<kinds.Domain | kinds.Project>) =>
      status?.conditions?.some(({type, reason}) => AWAITS_ISSUER.has(`${type}/${reason}`))
        ? [metadata.namespace ?? '', ANY_NAMESPACE]
        : [],
    );
  }
  for (const store of [domains, projects, namespaces]) {
    store.addIndex(INDEX.paused, object => (hasPause(object) ? ['all'] : []));
  }
}

function addProjectIndexes({projects}: Stores): void {
  projects.addIndex(INDEX.host, project =>
    waitsForPlan(project) ? [] : listedHosts(project).map(({host}) => inNamespace(project, objectNameOf(host))),
  );
  projects.addIndex(INDEX.namespace, project => [project.metadata.namespace ?? '']);
  projects.addIndex(INDEX.defaultHost, project => [inNamespace(project, project.defaultHost)]);
}

function addDomainIndexes({domains}: Stores): void {
  domains.addIndex(INDEX.host, domain => [objectNameOf(domain.spec.host)]);
  domains.addIndex(INDEX.namespace, domain => [domain.metadata.namespace ?? '']);
  domains.addIndex(INDEX.redirectTo, ({metadata, spec}) =>
    spec.redirect ? [`${metadata.namespace}/${spec.redirect.to}`] : [],
  );
}

function addKeyIndexes({apiKeys, keyClaims, secrets}: Stores): void {
  apiKeys.addIndex(INDEX.sha256, hashesOf);
  apiKeys.addIndex(INDEX.namespace, apiKey => [apiKey.metadata.namespace ?? '']);
  keyClaims.addIndex(INDEX.ending, ({spec: {account, releasedAt, validUntil}}) =>
    (releasedAt ?? validUntil) === undefined ? [] : [account],
  );
  keyClaims.addIndex(INDEX.namespace, ({spec: {namespace}}) => [namespace]);
  keyClaims.addIndex(INDEX.apiKey, ({spec: {namespace, name}}) => [`${namespace}/${name}`]);
  keyClaims.addIndex(INDEX.uid, ({spec: {uid}}) => [uid]);
  secrets.addIndex(INDEX.apiKey, apiKeyKeysOf);
}

function addRouteIndexes({routes}: Stores, {backends, emptied}: Pick<EdgeProvider, 'backends' | 'emptied'>): void {
  for (const {store} of routes) {
    store.addIndex(INDEX.route, object => {
      const route = routeNameIn(object.metadata.name);
      return route ? [inNamespace(object, route)] : [];
    });
    store.addIndex(INDEX.host, object => {
      const host = object.metadata.annotations?.[ANNOTATION.host];
      const matches = domainKeyOf(object) && routeNameIn(object.metadata.name) && emptied(object);
      return host && matches ? [host] : [];
    });
    store.addIndex(INDEX.backend, object => backends(object).map(name => inNamespace(object, name)));
  }
}

/**
 * The namespace is being deleted, which is final: nothing can be created in it. A tenant's finalizer in it can delay
 * the deletion of everything else indefinitely, so what is published or valid there ends when the deletion begins.
 */
export function isTerminating({namespaces}: Pick<Stores, 'namespaces'>, namespace: string): boolean {
  return namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined;
}

/** The object is being deleted, or goes with its namespace. */
export function isEnding(stores: Pick<Stores, 'namespaces'>, {metadata}: DeepReadonly<KubeObject>): boolean {
  return metadata.deletionTimestamp !== undefined || isTerminating(stores, metadata.namespace ?? '');
}

/** The account of a namespace; undefined if the cache does not have it. */
export function accountIn({namespaces}: Pick<Stores, 'namespaces'>, namespace = ''): string | undefined {
  const object = namespaces.get(namespace);
  return object && accountId(object);
}

/**
 * The key of the Domain that one of our objects belongs to, as a list of one; undefined for a default host's object.
 */
export function domainKeyOf(object: DeepReadonly<KubeObject>): [string] | undefined {
  const host = object.metadata.annotations?.[ANNOTATION.host];
  return host && object.metadata.labels?.[LABEL.project] === undefined
    ? [inNamespace(object, objectNameOf(host))]
    : undefined;
}

/** The key of the Project whose present or former default host has the object, as a list; empty for any other. */
export function projectKeyOf(object: DeepReadonly<KubeObject>): string[] {
  const project = object.metadata.labels?.[LABEL.project];
  return project === undefined ? [] : [inNamespace(object, project)];
}

/** The key of the APIKey whose Secret this is, as a list; empty for any other Secret. */
export function apiKeyKeysOf(secret: DeepReadonly<KubeObject>): string[] {
  const name = secret.metadata.labels?.[LABEL.apiKey];
  return name === undefined ? [] : [inNamespace(secret, name)];
}

export function inNamespace(object: DeepReadonly<KubeObject>, name: string): string {
  return [object.metadata.namespace, name].join('/');
}
