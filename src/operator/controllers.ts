import {isDeepStrictEqual} from 'node:util';
import type {Registry} from 'prom-client';
import {findCondition} from '../api/conditions.ts';
import type {Delta, ReadonlyStore} from '../runtime/cache/store.ts';
import type {Controller} from '../runtime/controller/controller.ts';
import type {Manager} from '../runtime/controller/manager.ts';
import {after, done} from '../runtime/controller/outcome.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../runtime/kube/object.ts';
import {reconcileApiKey} from './apikey/reconcile.ts';
import {crowdedOut, reconcileKeyClaim} from './apikey/release.ts';
import {domainsOfProject, domainsOfService, projectsOfService} from './caches/dependents.ts';
import {
  apiKeyAndWhoShares,
  backendProjectsOf,
  changesAccount,
  changesContent,
  domainKeysOf,
  holdersOf,
  hostKeysOf,
  inside,
  isOwnSummary,
  isRelabeled,
  projectKeysOf,
  self,
} from './caches/keys.ts';
import {listing} from './caches/listing.ts';
import {ANY_NAMESPACE, apiKeyKeysOf, domainKeyOf, INDEX, inNamespace, type Stores} from './caches/stores.ts';
import {reconcileCertificateRequest} from './certificate/approve.ts';
import {reconcileDryRun} from './certificate/dry-run.ts';
import {reconcileRetainedSecret} from './certificate/retained-secret.ts';
import {reconcileReleasedClaim} from './claim/released-claim.ts';
import {reconcileDomain} from './domain/reconcile.ts';
import {mattersToRedirects, withRedirectsTo} from './domain/redirects-to.ts';
import {reconcileUnusedService} from './edge/unused-service.ts';
import {reconcileAccountKey} from './issuer/account-key.ts';
import {reconcileFormerHolder} from './issuer/former-holder.ts';
import {reconcileOrders} from './issuer/orders.ts';
import {reconcileIssuer} from './issuer/reconcile.ts';
import {reconcileRenewal} from './issuer/renewals.ts';
import {reconcileSigning} from './issuer/sign.ts';
import {accountId, hasPause} from './kinds/account.ts';
import {routeKeyOf} from './kinds/derived-names.ts';
import {acmeIssuerOf, acmeIssuersOf} from './kinds/issuer-ref.ts';
import {type ACMEIssuer, type CachedProject, type Certificate, type DomainClaim, SERVICE} from './kinds/kinds.ts';
import {listedHosts} from './kinds/project-hosts.ts';
import type {Operator} from './operator.ts';
import {reconcileManagedDomain} from './project/managed.ts';
import {reconcileProject} from './project/reconcile.ts';

export function addControllers(manager: Manager, operator: Operator, registry: Registry): void {
  const project = addProjectController(manager, operator);
  const managed = addManagedDomainController(manager, operator);
  const domain = addDomainController(manager, operator);
  watchKinds({project, managed, domain}, operator);
  addPlanController(manager, operator, {project, managed, domain});
  addRetentionControllers(manager, operator);
  addApiKeyController(manager, operator);
  addSigningControllers(manager, operator);
  const {dryRunRequests} = operator.stores;
  const {enabled, dryRun} = operator.config.certificates.approval;
  if (enabled && !dryRun) addApprovalController(manager, operator);
  if (dryRunRequests) {
    manager
      .controller({name: 'dry-run', reconcile: reconcileDryRun(operator, dryRunRequests, registry), workers: 1})
      .watch(dryRunRequests, self);
  }
}

function addProjectController(manager: Manager, operator: Operator): Controller {
  const {stores, domainRefusals} = operator;
  const {workers} = operator.config.controller;
  const controller = manager
    .controller({name: 'project', reconcile: reconcileProject(operator), workers})
    .watch(stores.projects, self)
    .watch(stores.namespaces, delta => withinRelabeled(stores.projects, delta))
    .watch(stores.services, ({object, initial}) => (initial ? [] : projectsOfService(operator, keyOf(object))))
    .watch(stores.domains, ({object, old}) => [
      ...listing(operator, keyOf(object)).map(keyOf),
      ...(old ? [inNamespace(old, old.spec.projectRef.name)] : []),
    ])
    .watch(stores.certificates, projectKeysOf)
    .watch(stores.claims, ({object: {spec}}) =>
      spec.project === undefined ? [] : [`${spec.namespace}/${spec.project}`],
    )
    .watch(stores.secrets, projectKeysOf);
  for (const {store} of stores.routes) {
    controller.watch(store, delta => [...projectKeysOf(delta), ...backendProjectsOf(delta)]);
  }
  watchPlatform(controller, operator, stores.projects);
  operator.certManager.subscribe(() => {
    for (const project of stores.projects.list()) if (awaitsCertificate(project)) controller.enqueue(keyOf(project));
  });
  domainRefusals.subscribe(key => {
    for (const project of listing(operator, key)) controller.enqueue(keyOf(project));
  });
  return controller;
}

const CERTIFICATE_REASONS: ReadonlySet<string> = new Set(['CertificateNotReady', 'CertificateExpired']);

function awaitsCertificate({status}: DeepReadonly<CachedProject>): boolean {
  return CERTIFICATE_REASONS.has(findCondition(status?.conditions, 'Ready')?.reason ?? '');
}

function addManagedDomainController(manager: Manager, operator: Operator): Controller {
  const {stores, domainRefusals, config} = operator;
  const {workers} = config.controller;
  return manager
    .controller({name: 'managed-domain', reconcile: domainRefusals.of(reconcileManagedDomain(operator)), workers})
    .watch(stores.projects, delta => (isOwnSummary(delta) ? [] : hostKeysOf(stores, delta)))
    .watch(stores.namespaces, ({object, old}) =>
      old && hasPause(old) && !hasPause(object)
        ? stores.projects
            .byIndex(INDEX.namespace, object.metadata.name)
            .flatMap(project => [...hostKeysOf(stores, {type: 'updated', object: project, initial: false})])
        : [],
    )
    .watch(stores.domains, self);
}

function addDomainController(manager: Manager, operator: Operator): Controller {
  const {stores, scheduler, prober, orderSchedule, outdated, domainRefusals, config} = operator;
  const {workers} = config.controller;
  const controller = manager
    .controller({name: 'domain', reconcile: reconcileDomain(operator), workers})
    .watch(stores.domains, delta =>
      mattersToRedirects(delta) ? withRedirectsTo(stores.domains, self(delta)) : self(delta),
    )
    .watch(stores.projects, delta =>
      delta.initial || isOwnSummary(delta)
        ? []
        : new Set([...domainsOfProject(operator, keyOf(delta.object)), ...hostKeysOf(stores, delta)]),
    )
    .watch(stores.namespaces, delta => withinRelabeled(stores.domains, delta))
    .watch(stores.claims, delta => [
      ...stores.domains.byIndex(INDEX.host, delta.object.metadata.name).map(keyOf),
      ...[delta.object, delta.old].flatMap(claim => (claim ? [`${claim.spec.namespace}/${claim.metadata.name}`] : [])),
    ])
    .watch(stores.services, ({object, initial}) => (initial ? [] : domainsOfService(operator, keyOf(object))));
  for (const {store} of stores.routes) {
    controller.watch(store, delta => [
      ...withRedirectsTo(stores.domains, domainKeysOf(delta)), // a redirect waits for its target's route
      ...(delta.type === 'added' ? [] : backendProjectsOf(delta).flatMap(key => domainsOfProject(operator, key))),
    ]);
  }
  watchIssuance(controller, operator);
  watchPlatform(controller, operator, stores.domains);
  scheduler.subscribe(key => controller.enqueue(key));
  prober.subscribe(key => controller.enqueue(key));
  orderSchedule.subscribe(key => controller.enqueue(key));
  domainRefusals.subscribe(key => controller.enqueue(key));
  outdated.subscribe(key => {
    for (const concerned of withRedirectsTo(stores.domains, [key]))
      if (concerned !== key) controller.enqueue(concerned);
  });
  return controller;
}

/** The inputs of the certificate of a Domain. */
function watchIssuance(controller: Controller, {stores, certManager}: Operator): void {
  // Only a Domain in its own namespace can use an Issuer: a tenant that writes one must not wake everyone's.
  const waiting = (where: string) => stores.domains.byIndex(INDEX.awaitsIssuer, where).map(keyOf);
  certManager.subscribe(() => {
    for (const key of waiting(ANY_NAMESPACE)) controller.enqueue(key);
  });
  controller
    .watch(stores.issuers, delta => (changesContent(delta) ? waiting(delta.object.metadata.namespace ?? '') : []))
    .watch(stores.clusterIssuers, delta => (changesContent(delta) ? waiting(ANY_NAMESPACE) : []))
    .watch(stores.acmeIssuers, delta => (changesReadiness(delta) ? waiting(ANY_NAMESPACE) : []))
    .watch(stores.certificates, domainKeysOf)
    .watch(stores.secrets, domainKeysOf);
}

/** Ranks the accounts that are beyond their plan, and requeues what got or lost a place. */
function addPlanController(
  manager: Manager,
  {stores, places}: Operator,
  {project, managed, domain}: Readonly<Record<'project' | 'managed' | 'domain', Controller>>,
): void {
  const all = Object.values(places);
  const controller = manager
    .controller({
      name: 'plan',
      reconcile: async (account: string) => {
        const ms = Math.max(...all.map(each => each.refresh(account)));
        return ms > 0 ? after(ms) : done();
      },
      workers: 1,
    })
    .watch(stores.namespaces, ({object}) => [accountId(object)]);
  for (const each of all) each.onStale((account: string) => controller.enqueue(account));
  places.domains.onMove(key => domain.enqueue(key));
  places.projects.onMove(key => {
    project.enqueue(key);
    const object = stores.projects.get(key);
    if (!object) return;
    for (const {host} of listedHosts(object)) {
      for (const concerned of [managed, domain]) concerned.enqueue(inNamespace(object, host));
    }
  });
}

/** The objects of a namespace of which something has changed that we read. */
function withinRelabeled(store: ReadonlyStore<KubeObject>, delta: Delta<KubeObject>): string[] {
  return isRelabeled(delta) ? store.byIndex(INDEX.namespace, delta.object.metadata.name).map(keyOf) : [];
}

function addRetentionControllers(manager: Manager, operator: Operator): void {
  const {stores} = operator;
  const unused = manager.controller({name: 'unused-service', reconcile: reconcileUnusedService(operator), workers: 1});
  for (const {resource, store} of stores.routes) {
    const used = ({object, old}: Delta<KubeObject>) =>
      [object, old].flatMap(version =>
        version ? operator.edge.backends(version).map(name => inNamespace(version, name)) : [],
      );
    unused.watch(store, resource === SERVICE ? self : used);
  }
  manager
    .controller({name: 'retained-secret', reconcile: reconcileRetainedSecret(operator), workers: 1})
    .watch(stores.secrets, self)
    .watch(stores.domains, ({object}) => [routeKeyOf(keyOf(object))])
    .watch(stores.projects, ({object}) => [routeKeyOf(inNamespace(object, object.defaultHost))]);
  manager
    .controller({name: 'released-claim', reconcile: reconcileReleasedClaim(operator), workers: 1})
    .watch(stores.claims, self);
}

function addApiKeyController(manager: Manager, operator: Operator): void {
  const {stores, config, keyWaiters, places} = operator;
  const controller = manager
    .controller({name: 'apikey', reconcile: reconcileApiKey(operator), workers: config.controller.workers})
    .watch(stores.apiKeys, delta => apiKeyAndWhoShares(stores, keyWaiters, delta))
    .watch(stores.keyClaims, delta => holdersOf(keyWaiters, delta))
    .watch(stores.secrets, ({object, old}) => [object, old].flatMap(secret => (secret ? apiKeyKeysOf(secret) : [])))
    .watch(stores.namespaces, delta => withinRelabeled(stores.apiKeys, delta));
  places.apiKeys.onMove(key => controller.enqueue(key));
  manager
    .controller({name: 'key-claim', reconcile: reconcileKeyClaim(operator), workers: 1})
    .watch(stores.keyClaims, ({object}) => [
      keyOf(object),
      ...[crowdedOut(stores, object, operator.clock.now()) ?? []].flat(),
    ])
    .watch(stores.apiKeys, ({object: {metadata}}) => stores.keyClaims.byIndex(INDEX.uid, metadata.uid ?? '').map(keyOf))
    .watch(stores.namespaces, ({object: {metadata}}) =>
      metadata.deletionTimestamp ? stores.keyClaims.byIndex(INDEX.namespace, metadata.name).map(keyOf) : [],
    );
}

function addSigningControllers(manager: Manager, operator: Operator): void {
  const {stores, config} = operator;
  const {workers} = config.controller;
  const requests = stores.certificateRequests;
  const signing = (host: string) => requests.byIndex(INDEX.host, host).map(keyOf);
  if (acmeIssuersOf(config.certificates).length > 0) {
    manager
      .controller({name: 'account-key', reconcile: reconcileAccountKey(operator), workers: 1})
      .watch(stores.acmeIssuers, () => [])
      .enqueue('account-key');
  }
  manager
    .controller({name: 'acme-issuer', reconcile: reconcileIssuer(operator), workers: 1})
    .watch(stores.acmeIssuers, self);
  manager
    .controller({name: 'sign', reconcile: reconcileSigning(operator), workers})
    .watch(requests, delta => (acmeIssuerOf(delta.object.spec.issuerRef) === undefined ? [] : self(delta)))
    .watch(stores.claims, ({object}) => signing(object.metadata.name))
    .watch(stores.acmeIssuers, ({type, object}) =>
      type === 'added' ? requests.byIndex(INDEX.signing, object.metadata.name).map(keyOf) : [],
    )
    .watch(stores.namespaces, delta =>
      changesAccount(delta) ? inside(delta, requests.byIndex(INDEX.inProgress, 'all')) : [],
    );
  // Claims show who holds a host, and remember orders; a Certificate shows whether a renewal is due.
  const issuers = () => [...stores.acmeIssuers.list()].map(({metadata}) => metadata.name);
  const issuerOf = ({spec}: {readonly spec: DeepReadonly<Pick<Certificate['spec'], 'issuerRef'>>}) =>
    [acmeIssuerOf(spec.issuerRef) ?? []].flat();
  manager
    .controller({name: 'order', reconcile: reconcileOrders(operator), workers: 1})
    .watch(stores.acmeIssuers, self)
    .watch(requests, ({object, old}) => [object, ...(old ? [old] : [])].flatMap(issuerOf))
    .watch(stores.claims, ({object, old}) => (changesOrders(object, old) ? issuers() : []))
    .watch(stores.certificates, ({object}) => issuerOf(object))
    .watch(stores.namespaces, delta => (changesAccount(delta) ? issuers() : []));
  manager
    .controller({name: 'former-holder', reconcile: reconcileFormerHolder(operator), workers: 2})
    .watch(stores.claims, self);
  const certificateOf = (claim: DeepReadonly<DomainClaim>) =>
    claim.spec.issuance?.renewal === undefined ? [] : [routeKeyOf(`${claim.spec.namespace}/${claim.metadata.name}`)];
  manager
    .controller({name: 'renewal', reconcile: reconcileRenewal(operator), workers: 2})
    .watch(stores.certificates, self)
    .watch(stores.claims, ({object, old}) =>
      object.spec.issuance?.renewal === old?.spec.issuance?.renewal ? [] : certificateOf(object),
    );
}

/** A claim was made, moved, or released, or an order ended. An order that the operator itself admits triggers nothing. */
function changesOrders({spec}: DeepReadonly<DomainClaim>, old: DeepReadonly<DomainClaim> | undefined): boolean {
  const [now, before] = [spec.issuance, old?.spec.issuance];
  return !old || now === undefined || now.request === undefined || before?.request !== undefined;
}

function changesReadiness({object, old}: Delta<ACMEIssuer>): boolean {
  const readiness = (issuer: DeepReadonly<ACMEIssuer> | undefined) =>
    issuer?.status?.conditions?.map(({type, status, message}) => [type, status, message]);
  return !isDeepStrictEqual(readiness(object), readiness(old));
}

function addApprovalController(manager: Manager, operator: Operator): void {
  const {stores, config} = operator;
  const requests = stores.certificateRequests;
  manager
    .controller({
      name: 'certificate-request',
      reconcile: reconcileCertificateRequest(operator),
      workers: config.controller.workers,
    })
    .watch(requests, self) // a request waits only for its grace period
    .watch(stores.claims, ({object}) => requests.byIndex(INDEX.host, object.metadata.name).map(keyOf))
    .watch(stores.namespaces, delta =>
      changesAccount(delta) || delta.object.metadata.deletionTimestamp
        ? inside(delta, requests.byIndex(INDEX.inProgress, 'all'))
        : [],
    )
    .watch(stores.issuers, ({object}) => requests.byIndex(INDEX.issuer, keyOf(object)).map(keyOf));
}

/** A kind that is installed while the operator runs: its objects are reported, but what waits for the kind is not. */
function watchKinds(
  {project, managed, domain}: Readonly<Record<'project' | 'managed' | 'domain', Controller>>,
  {stores}: Operator,
): void {
  const enqueue = (controller: Controller, keys: Iterable<string>) => {
    for (const key of keys) controller.enqueue(key, {lowPriority: true});
  };
  const domains = () => stores.domains.list();
  stores.certificates.onInstalled(() => {
    enqueue(project, keysOf(stores.projects.list()));
    enqueue(domain, keysOf(domains()));
  });
  stores.projects.onInstalled(() => {
    for (const controller of [managed, domain]) enqueue(controller, keysOf(domains()));
  });
  stores.domains.onInstalled(() => enqueue(domain, leftBehind(stores)));
}

function* keysOf(objects: Iterable<DeepReadonly<KubeObject>>): Iterable<string> {
  for (const object of objects) yield keyOf(object);
}

/** The keys of Domains, existing or not, of which something else exists. */
function* leftBehind({claims, certificates, routes}: Stores): Iterable<string> {
  for (const {metadata, spec} of claims.list()) yield `${spec.namespace}/${metadata.name}`;
  for (const store of [certificates, ...routes.map(({store}) => store)]) {
    for (const object of store.list()) yield* domainKeyOf(object) ?? [];
  }
}

/** All of them, if a change of the platform's edge may change what it can serve. */
function watchPlatform(controller: Controller, {stores, edge}: Operator, all: ReadonlyStore<KubeObject>): void {
  for (const store of stores.platform.stores) {
    controller.watch(store, delta =>
      edge.reads(delta.object) && changesContent(delta) ? [...all.list()].map(keyOf) : [],
    );
  }
}
