/** The controllers, and which keys each change concerns. */
import {isDeepStrictEqual} from 'node:util';
import {LABEL} from '../api/names.ts';
import {type APIKey, hashesOf} from '../keys/apikey.ts';
import type {Manager} from '../runtime/controller/manager.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../runtime/kube/object.ts';
import type {Delta, ReadonlyStore} from '../runtime/kube/store.ts';
import {accountId} from './account.ts';
import {reconcileApiKey} from './apikey/reconcile.ts';
import {reconcileCertificateRequest} from './approval/reconcile.ts';
import type {Operator} from './context.ts';
import {reconcileManagedDomain} from './domain/managed.ts';
import {reconcileDomain} from './domain/reconcile.ts';
import {routeKeyOf} from './identity.ts';
import {caAccountOf} from './orders/ca-account.ts';
import {reconcileOrders} from './orders/reconcile.ts';
import {listedHosts} from './project/hosts.ts';
import {reconcileProject} from './project/reconcile.ts';
import type {CertificateRequest, DomainClaim, Project} from './resources.ts';
import {reconcileReleasedClaim, reconcileRetainedSecret} from './retention.ts';
import {apiKeyKeysOf, domainKeyOf, INDEX, inNamespace, type Stores} from './stores.ts';

export function addControllers(manager: Manager, operator: Operator): void {
  addProjectController(manager, operator);
  addManagedDomainController(manager, operator);
  addDomainController(manager, operator);
  addRetentionControllers(manager, operator);
  addApiKeyController(manager, operator);
  const {certificateRequests} = operator.stores;
  if (certificateRequests) addApprovalControllers(manager, operator, certificateRequests);
}

function addProjectController(manager: Manager, operator: Operator): void {
  const {stores} = operator;
  const {workers} = operator.config.controller;
  const ofService = (key: string) => stores.projects.byIndex(INDEX.service, key).map(keyOf);
  const controller = manager
    .controller({name: 'project', reconcile: reconcileProject(operator), workers})
    .watch(stores.projects, self)
    .watch(stores.services, ({object}) => ofService(keyOf(object)))
    .watch(stores.endpointSlices, ({object}) => {
      const service = object.metadata.labels?.['kubernetes.io/service-name'];
      return service ? ofService(inNamespace(object, service)) : [];
    })
    .watch(stores.domains, ({object, old}) => [
      ...stores.projects.byIndex(INDEX.host, keyOf(object)).map(keyOf),
      ...(old ? [inNamespace(old, old.spec.projectRef.name)] : []),
    ])
    .watch(stores.ingressClasses, ({object}) =>
      ofIngressClass(operator, object, () => [...stores.projects.list()].map(keyOf)),
    )
    .watch(stores.certificates, projectKeysOf)
    .watch(stores.secrets, projectKeysOf);
  for (const {store} of stores.routes) controller.watch(store, projectKeysOf);
}

function addManagedDomainController(manager: Manager, operator: Operator): void {
  const {stores, config} = operator;
  const {workers} = config.controller;
  manager
    .controller({name: 'managed-domain', reconcile: reconcileManagedDomain(operator), workers})
    .watch(stores.projects, delta => (isOwnSummary(delta) ? [] : hostKeysOf(delta)))
    .watch(stores.domains, self);
}

function addDomainController(manager: Manager, operator: Operator): void {
  const {stores, scheduler, orders, config} = operator;
  const {workers} = config.controller;
  const ofProject = (key: string) => stores.domains.byIndex(INDEX.project, key).map(keyOf);
  const waitingFor = (...reasons: string[]) =>
    new Set(reasons.flatMap(reason => stores.domains.byIndex(INDEX.waitsFor, reason).map(keyOf)));
  const accountIn = (namespace: string) => {
    const found = stores.namespaces.get(namespace);
    return found && accountId(found);
  };
  const waitingForPlace = (account: string | undefined) =>
    stores.domains
      .byIndex(INDEX.waitsFor, 'Accepted/PlanLimitReached')
      .filter(({metadata}) => accountIn(metadata.namespace ?? '') === account)
      .map(keyOf);
  const issuers = () =>
    waitingFor('CertificateReady/IssuerNotFound', 'CertificateReady/CertManagerMissing', 'CertificateReady/Issuing');
  const controller = manager
    .controller({name: 'domain', reconcile: reconcileDomain(operator), workers})
    .watch(stores.domains, delta => [
      ...withRedirectsTo(stores, [keyOf(delta.object)]),
      ...(delta.type === 'deleted' ? waitingForPlace(accountIn(delta.object.metadata.namespace ?? '')) : []),
    ])
    .watch(stores.projects, delta =>
      isOwnSummary(delta) ? [] : new Set([...ofProject(keyOf(delta.object)), ...hostKeysOf(delta)]),
    )
    .watch(stores.namespaces, ({type, object, old = object}) => [
      ...stores.domains.byIndex(INDEX.namespace, object.metadata.name).map(keyOf),
      ...(type === 'deleted' || accountId(old) !== accountId(object) ? waitingForPlace(accountId(old)) : []),
    ])
    .watch(stores.claims, delta => [
      ...stores.domains.byIndex(INDEX.host, delta.object.metadata.name).map(keyOf),
      ...[delta.object, delta.old].flatMap(claim => (claim ? [`${claim.spec.namespace}/${claim.metadata.name}`] : [])),
      ...(isLetGo(delta) ? waitingForPlace((delta.old ?? delta.object).spec.account) : []),
    ])
    .watch(stores.services, ({object}) =>
      stores.projects.byIndex(INDEX.service, keyOf(object)).flatMap(project => ofProject(keyOf(project))),
    )
    .watch(stores.ingressClasses, ({object}) =>
      ofIngressClass(operator, object, () => [...stores.domains.list()].map(keyOf)),
    )
    .watch(stores.issuers, issuers)
    .watch(stores.clusterIssuers, issuers)
    .watch(stores.certificates, domainKeysOf)
    .watch(stores.secrets, domainKeysOf);
  for (const {store} of stores.routes) {
    controller.watch(store, delta => withRedirectsTo(stores, domainKeysOf(delta))); // a redirect waits for its target's route
  }
  scheduler.subscribe(key => controller.enqueue(key));
  orders.subscribe(key => controller.enqueue(key));
}

function addRetentionControllers(manager: Manager, operator: Operator): void {
  const {stores} = operator;
  const ofDefaultHost = ({metadata: {name, namespace = ''}}: DeepReadonly<Project>) =>
    routeKeyOf(`${namespace}/${operator.identity.defaultHost(name, namespace)}`);
  manager
    .controller({name: 'retained-secret', reconcile: reconcileRetainedSecret(operator), workers: 1})
    .watch(stores.secrets, self)
    .watch(stores.domains, ({object}) => [routeKeyOf(keyOf(object))])
    .watch(stores.projects, ({object}) => [ofDefaultHost(object)]);
  manager
    .controller({name: 'released-claim', reconcile: reconcileReleasedClaim(operator), workers: 1})
    .watch(stores.claims, self);
}

function addApiKeyController(manager: Manager, operator: Operator): void {
  const {stores, config} = operator;
  manager
    .controller({name: 'apikey', reconcile: reconcileApiKey(operator), workers: config.controller.workers})
    .watch(stores.apiKeys, delta => apiKeyAndWhoShares(stores, delta))
    .watch(stores.secrets, ({object, old}) => [object, old].flatMap(secret => (secret ? apiKeyKeysOf(secret) : [])))
    .watch(stores.namespaces, ({object}) => stores.apiKeys.byIndex(INDEX.namespace, object.metadata.name).map(keyOf));
}

function addApprovalControllers(
  manager: Manager,
  operator: Operator,
  requests: ReadonlyStore<CertificateRequest>,
): void {
  const {stores, config} = operator;
  manager
    .controller({
      name: 'certificate-request',
      reconcile: reconcileCertificateRequest(operator),
      workers: config.controller.workers,
    })
    .watch(requests, self); // a request waits for nothing but its grace
  // Claims say who has a host and remember orders; Certificates say that a renewal is due.
  const {issuerRef} = config.certificates;
  const caAccount = (namespace = '', issuer: DeepReadonly<CertificateRequest['spec']['issuerRef']> = issuerRef) =>
    [caAccountOf(config, namespace, issuer) ?? []].flat();
  manager
    .controller({name: 'order', reconcile: reconcileOrders(operator), workers: 1})
    .watch(requests, ({object: {metadata, spec}}) => caAccount(metadata.namespace, spec.issuerRef))
    .watch(stores.claims, ({object: {spec}}) => caAccount(spec.namespace))
    .watch(stores.certificates, ({object: {metadata, spec}}) => caAccount(metadata.namespace, spec.issuerRef));
}

function self({object}: Delta<KubeObject>): string[] {
  return [keyOf(object)];
}

/** The status of a Project sums its Domains up, and changes with each of them: were it to call them all, n would call n². */
function isOwnSummary({object, old}: Delta<Project>): boolean {
  return (
    old?.metadata.generation === object.metadata.generation &&
    isDeepStrictEqual(old?.metadata.annotations, object.metadata.annotations)
  );
}

/** The hosts that a Project lists, or listed before: other Projects and Domains may want them. */
function hostKeysOf({object, old}: Delta<Project>): Set<string> {
  const hosts = [object, old].flatMap(version => (version ? listedHosts(version) : []));
  return new Set(hosts.map(({host}) => inNamespace(object, host)));
}

/** Whoever held the host has it no longer, and with it a place in the plan. */
function isLetGo({type, object, old = object}: Delta<DomainClaim>): boolean {
  if (old.spec.releasedAt !== undefined) return false;
  return type === 'deleted' || !isDeepStrictEqual(holderOf(old), holderOf(object));
}

/** Undefined once the claim is released. */
function holderOf({spec: {account, namespace, releasedAt}}: DeepReadonly<DomainClaim>) {
  return releasedAt === undefined ? {account, namespace} : undefined;
}

/** A change of the one class that routes refer to concerns them all; of another class, none. */
function ofIngressClass({config}: Operator, object: DeepReadonly<KubeObject>, all: () => string[]): string[] {
  return object.metadata.name === config.routing.ingressClassName ? all() : [];
}

function projectKeysOf({object, old}: Delta<KubeObject>): string[] {
  return [object, old].flatMap(version => {
    const project = version?.metadata.labels?.[LABEL.project];
    return version && project !== undefined ? [inNamespace(version, project)] : [];
  });
}

/** Whose object it is, and was before somebody edited that away. */
function domainKeysOf({object, old}: Delta<KubeObject>): string[] {
  return [object, old].flatMap(version => (version && domainKeyOf(version)) ?? []);
}

/** The hosts and those that redirect to them, however long the chain. */
function withRedirectsTo({domains}: Stores, hosts: Iterable<string>): Set<string> {
  const keys = new Set(hosts);
  for (const at of keys) for (const redirect of domains.byIndex(INDEX.redirectTo, at)) keys.add(keyOf(redirect));
  return keys;
}

/** The APIKey, those that show the same key, and, when a key became free, those that were refused one. */
function apiKeyAndWhoShares({apiKeys}: Stores, {type, object, old}: Delta<APIKey>): Set<string> {
  const [now, before] = [hashesOf(object), old ? hashesOf(old) : []];
  const others = now.flatMap(hash => apiKeys.byIndex(INDEX.sha256, hash));
  const isFreed = type === 'deleted' ? now.length > 0 : before.some(hash => !now.includes(hash));
  const refused = isFreed ? apiKeys.byIndex(INDEX.waitsFor, 'Ready/KeyInUse') : [];
  return new Set([object, ...others, ...refused].map(keyOf));
}
