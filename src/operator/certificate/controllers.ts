import type {Registry} from 'prom-client';
import type {Manager} from '../../runtime/controller/manager.ts';
import {keyOf} from '../../runtime/kube/object.ts';
import {changesAccount, inside, self} from '../caches/changes.ts';
import type {Base} from '../caches/context.ts';
import {INDEX, inNamespace} from '../caches/stores.ts';
import {routeKeyOf} from '../kinds/derived-names.ts';
import {reconcileCertificateRequest} from './approve.ts';
import {reconcileDryRun} from './dry-run.ts';
import {reconcileRetainedSecret} from './retained-secret.ts';

export function addCertificateControllers(
  manager: Pick<Manager, 'controller'>,
  operator: Base,
  registry: Registry,
): void {
  const {stores, config} = operator;
  manager
    .controller({name: 'retained-secret', reconcile: reconcileRetainedSecret(operator), workers: 1})
    .watch(stores.secrets, self)
    .watch(stores.certificates, ({type, object}) => (type === 'deleted' ? [keyOf(object)] : []))
    .watch(stores.domains, ({object}) => [routeKeyOf(keyOf(object))])
    .watch(stores.projects, ({object}) => [routeKeyOf(inNamespace(object, object.defaultHost))]);
  const {enabled, dryRun} = config.certificates.approval;
  if (enabled && !dryRun) addApprovalController(manager, operator);
  if (stores.dryRunRequests) {
    manager
      .controller({name: 'dry-run', reconcile: reconcileDryRun(operator, stores.dryRunRequests, registry), workers: 1})
      .watch(stores.dryRunRequests, self);
  }
}

function addApprovalController(manager: Pick<Manager, 'controller'>, operator: Base): void {
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
