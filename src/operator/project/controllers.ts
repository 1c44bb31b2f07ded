import type {Controller} from '../../runtime/controller/controller.ts';
import type {Manager} from '../../runtime/controller/manager.ts';
import {keyOf} from '../../runtime/kube/object.ts';
import {
  backendProjectsOf,
  hostKeysOf,
  isOwnSummary,
  labeledProjectsOf,
  self,
  watchPlatform,
  withinRelabeled,
} from '../caches/changes.ts';
import type {Base} from '../caches/context.ts';
import {listing} from '../caches/listing.ts';
import {INDEX, inNamespace} from '../caches/stores.ts';
import {watchCertificates} from '../domain/controllers.ts';
import {hasPause} from '../kinds/account.ts';
import type {ProjectOperator} from './context.ts';
import {reconcileManagedDomain} from './managed.ts';
import {reconcileProject} from './reconcile.ts';

export function addProjectController(manager: Pick<Manager, 'controller'>, operator: ProjectOperator): Controller {
  const {stores, outdated, orderSchedule, prober} = operator;
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
    .watch(stores.claims, ({object: {spec}}) =>
      spec.project === undefined ? [] : [`${spec.namespace}/${spec.project}`],
    );
  for (const {store} of stores.routes) {
    controller.watch(store, delta => [...labeledProjectsOf(delta), ...backendProjectsOf(delta)]);
  }
  watchCertificates(controller, operator, stores.projects, labeledProjectsOf);
  watchPlatform(controller, operator, stores.projects);
  for (const about of [orderSchedule, prober]) {
    about.subscribe(key => {
      for (const project of stores.projects.byIndex(INDEX.defaultHost, key)) controller.enqueue(keyOf(project));
    });
  }
  outdated.subscribe(key => {
    for (const project of listing(operator, key)) controller.enqueue(keyOf(project));
  });
  return controller;
}

/**
 * The Projects that name the Service. `key`: "namespace/name". Only those with a place in the plan: a tenant may create
 * any number of others.
 */
export function projectsOfService({places}: Pick<Base, 'places'>, key: string): string[] {
  const [namespace = '', service] = key.split('/');
  return places.projects
    .in(namespace)
    .filter(({spec}) => spec.service.name === service)
    .map(keyOf);
}

export function addManagedDomainController(
  manager: Pick<Manager, 'controller'>,
  operator: ProjectOperator,
): Controller {
  const {stores, outdated, config} = operator;
  const {workers} = config.controller;
  return manager
    .controller({name: 'managed-domain', reconcile: outdated.observing(reconcileManagedDomain(operator)), workers})
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
