import {isDeepStrictEqual} from 'node:util';
import type {Delta} from '../../runtime/cache/store.ts';
import type {Controller} from '../../runtime/controller/controller.ts';
import type {Manager} from '../../runtime/controller/manager.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {
  changesContent,
  domainKeysOf,
  hostKeysOf,
  isOwnSummary,
  self,
  watchPlatform,
  withinRelabeled,
} from '../caches/changes.ts';
import type {Base} from '../caches/context.ts';
import {ANY_NAMESPACE, domainKeyOf, INDEX, type Stores} from '../caches/stores.ts';
import {type ACMEIssuer, SERVICE} from '../kinds/kinds.ts';
import type {DomainOperator, HostOperator} from './context.ts';
import {reconcileDomain} from './reconcile.ts';
import {mattersToRedirects, withRedirectsTo} from './redirects.ts';

export function addDomainController(manager: Pick<Manager, 'controller'>, operator: DomainOperator): Controller {
  const {stores, scheduler, prober, orderSchedule, outdated, config} = operator;
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
    .watch(stores.acmeIssuers, delta => (changesCaa(delta) ? [...stores.domains.list()].map(keyOf) : []))
    .watch(stores.services, delta =>
      delta.initial ? [] : [...domainsOfService(operator, keyOf(delta.object)), ...routedTo(stores, delta)],
    );
  for (const {store} of stores.routes) {
    // A redirect waits for its target's route.
    controller.watch(store, delta =>
      withRedirectsTo(stores.domains, [...domainKeysOf(delta), ...routedTo(stores, delta)]),
    );
  }
  watchCertificates(controller, operator, stores.domains, domainKeysOf);
  watchPlatform(controller, operator, stores.domains);
  for (const source of [scheduler, prober, orderSchedule]) source.subscribe(key => controller.enqueue(key));
  outdated.subscribe(key => {
    for (const concerned of withRedirectsTo(stores.domains, [key])) controller.enqueue(concerned);
  });
  return controller;
}

/** The inputs of a host's certificate. `owners`: its Domain, or the Project of a default host. */
export function watchCertificates(
  controller: Controller,
  {stores, certManager}: HostOperator,
  owners: Stores['domains'] | Stores['projects'],
  ownerKeysOf: (delta: Delta<KubeObject>) => string[],
): void {
  // Only a host in its own namespace can use an Issuer: a tenant that writes one must not wake those of others.
  const waiting = (where: string) => owners.byIndex(INDEX.awaitsIssuer, where).map(keyOf);
  certManager.subscribe(() => {
    for (const key of waiting(ANY_NAMESPACE)) controller.enqueue(key);
  });
  controller
    .watch(stores.issuers, delta => (changesContent(delta) ? waiting(delta.object.metadata.namespace ?? '') : []))
    .watch(stores.clusterIssuers, delta => (changesContent(delta) ? waiting(ANY_NAMESPACE) : []))
    .watch(stores.acmeIssuers, delta => (changesReadiness(delta) ? waiting(ANY_NAMESPACE) : []))
    .watch(stores.certificates, ownerKeysOf)
    .watch(stores.secrets, ownerKeysOf);
}

/** The Domains whose routes use the Service; none for an object of another kind. */
function routedTo({routes}: Stores, {object}: Delta<KubeObject>): string[] {
  if (object.kind !== SERVICE.kind) return [];
  return routes.flatMap(({store}) =>
    store.byIndex(INDEX.backend, keyOf(object)).flatMap(each => domainKeyOf(each) ?? []),
  );
}

/** What CAA records must allow. */
function changesCaa({type, object, old, initial}: Delta<ACMEIssuer>): boolean {
  const allowed = (issuer: DeepReadonly<ACMEIssuer> | undefined) => [
    issuer?.spec.caaIdentities,
    issuer?.status?.accountURI,
  ];
  const [now, before] = type === 'deleted' ? [undefined, object] : [object, old];
  return !initial && !isDeepStrictEqual(allowed(now), allowed(before));
}

function changesReadiness({object, old}: Delta<ACMEIssuer>): boolean {
  const readiness = (issuer: DeepReadonly<ACMEIssuer> | undefined) =>
    issuer?.status?.conditions?.map(({type, status, message}) => [type, status, message]);
  return !isDeepStrictEqual(readiness(object), readiness(old));
}

/**
 * The Domains that name the Project. `key`: "namespace/name". Only those with a place in the plan, as below: a tenant
 * may create any number of others.
 */
export function domainsOfProject({places}: Pick<Base, 'places'>, key: string): string[] {
  const [namespace = '', project] = key.split('/');
  return places.domains
    .in(namespace)
    .filter(({spec}) => spec.projectRef.name === project)
    .map(keyOf);
}

/** The Domains whose routes point to the Service. A held Domain may name a Project that has no place. */
export function domainsOfService({places, stores}: Pick<Base, 'places' | 'stores'>, key: string): string[] {
  const [namespace = '', service] = key.split('/');
  const usesService = (name: string) => stores.projects.get(`${namespace}/${name}`)?.spec.service.name === service;
  return places.domains
    .in(namespace)
    .filter(({spec}) => usesService(spec.projectRef.name))
    .map(keyOf);
}

/** The keys of Domains, existing or not, for which other objects exist. */
export function* leftBehind({claims, certificates, routes}: Stores): Iterable<string> {
  for (const {metadata, spec} of claims.list()) yield `${spec.namespace}/${metadata.name}`;
  for (const store of [certificates, ...routes.map(({store}) => store)]) {
    for (const object of store.list()) yield* domainKeyOf(object) ?? [];
  }
}
