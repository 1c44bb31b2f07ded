/** Adds all controllers. Each room says what enqueues their keys: in controllers.ts, or beside its only reconcile. */
import type {Registry} from 'prom-client';
import {objectNameOf} from '../api/host-names.ts';
import type {Controller} from '../runtime/controller/controller.ts';
import type {Manager} from '../runtime/controller/manager.ts';
import {after, done} from '../runtime/controller/outcome.ts';
import {keyOf} from '../runtime/kube/object.ts';
import {addApiKeyControllers} from './apikey/controllers.ts';
import {inNamespace} from './caches/stores.ts';
import {addCertificateControllers} from './certificate/controllers.ts';
import {addReleasedClaimController} from './claim/released-claim.ts';
import {addDomainController, leftBehind} from './domain/controllers.ts';
import {addUnusedServiceController} from './edge/unused-service.ts';
import {addIssuerControllers} from './issuer/controllers.ts';
import {accountId} from './kinds/account.ts';
import {listedHosts} from './kinds/project-hosts.ts';
import type {Operator} from './operator.ts';
import {addManagedDomainController, addProjectController} from './project/controllers.ts';

type OfHosts = Readonly<Record<'project' | 'managed' | 'domain', Controller>>;

export function addControllers(manager: Pick<Manager, 'controller'>, operator: Operator, registry: Registry): void {
  const ofHosts = {
    project: addProjectController(manager, operator),
    managed: addManagedDomainController(manager, operator),
    domain: addDomainController(manager, operator),
  };
  watchKinds(ofHosts, operator);
  addPlanController(manager, operator, ofHosts);
  addUnusedServiceController(manager, operator);
  addReleasedClaimController(manager, operator);
  addCertificateControllers(manager, operator, registry);
  addApiKeyControllers(manager, operator);
  addIssuerControllers(manager, operator);
}

/** Ranks the accounts that are beyond their plan, and requeues what got or lost a place. */
function addPlanController(
  manager: Pick<Manager, 'controller'>,
  {stores, places}: Pick<Operator, 'stores' | 'places'>,
  {project, managed, domain}: OfHosts,
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
      for (const concerned of [managed, domain]) concerned.enqueue(inNamespace(object, objectNameOf(host)));
    }
  });
}

/** If a kind is installed while the operator runs, its objects are reported, but not what waits for the kind. */
function watchKinds({project, managed, domain}: OfHosts, {stores}: Pick<Operator, 'stores'>): void {
  const enqueue = (controller: Controller, keys: Iterable<string>) => {
    for (const key of keys) controller.enqueue(key, {lowPriority: true});
  };
  const domains = () => Iterator.from(stores.domains.list()).map(keyOf);
  stores.certificates.onInstalled(() => {
    enqueue(project, Iterator.from(stores.projects.list()).map(keyOf));
    enqueue(domain, domains());
  });
  stores.projects.onInstalled(() => {
    for (const controller of [managed, domain]) enqueue(controller, domains());
  });
  stores.domains.onInstalled(() => enqueue(domain, leftBehind(stores)));
}
