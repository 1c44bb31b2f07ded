import type {Manager} from '../../runtime/controller/manager.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {changesAccount, inside, self} from '../caches/changes.ts';
import {INDEX} from '../caches/stores.ts';
import {routeKeyOf} from '../kinds/derived-names.ts';
import {acmeIssuerOf, acmeIssuersOf} from '../kinds/issuers.ts';
import type {Certificate, DomainClaim} from '../kinds/kinds.ts';
import {reconcileAccountKey} from './account-key.ts';
import type {IssuerOperator} from './context.ts';
import {reconcileFormerHolder} from './former-holder.ts';
import {reconcileOrders} from './orders.ts';
import {reconcileIssuer} from './reconcile.ts';
import {reconcileRenewal} from './renewals.ts';
import {reconcileSigning} from './sign.ts';

export function addIssuerControllers(manager: Pick<Manager, 'controller'>, operator: IssuerOperator): void {
  const {stores, config} = operator;
  if (acmeIssuersOf(config.certificates).length > 0) {
    manager
      .controller({name: 'account-key', reconcile: reconcileAccountKey(operator), workers: 1})
      .watch(stores.acmeIssuers, () => [])
      .enqueue('account-key');
  }
  manager
    .controller({name: 'acme-issuer', reconcile: reconcileIssuer(operator), workers: 1})
    .watch(stores.acmeIssuers, self);
  addSigningController(manager, operator);
  addOrderController(manager, operator);
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

function addSigningController(manager: Pick<Manager, 'controller'>, operator: IssuerOperator): void {
  const {stores, config} = operator;
  const requests = stores.certificateRequests;
  manager
    .controller({name: 'sign', reconcile: reconcileSigning(operator), workers: config.controller.workers})
    .watch(requests, delta => (acmeIssuerOf(delta.object.spec.issuerRef) === undefined ? [] : self(delta)))
    .watch(stores.claims, ({object}) => requests.byIndex(INDEX.host, object.metadata.name).map(keyOf))
    .watch(stores.acmeIssuers, ({type, object}) =>
      type === 'added' ? requests.byIndex(INDEX.signing, object.metadata.name).map(keyOf) : [],
    )
    .watch(stores.namespaces, delta =>
      changesAccount(delta) ? inside(delta, requests.byIndex(INDEX.inProgress, 'all')) : [],
    );
}

/** Claims show who holds a host, and remember orders; a Certificate shows whether a renewal is due. */
function addOrderController(manager: Pick<Manager, 'controller'>, operator: IssuerOperator): void {
  const {stores} = operator;
  const issuers = () => [...stores.acmeIssuers.list()].map(({metadata}) => metadata.name);
  const issuerOf = ({spec}: {readonly spec: DeepReadonly<Pick<Certificate['spec'], 'issuerRef'>>}) =>
    [acmeIssuerOf(spec.issuerRef) ?? []].flat();
  manager
    .controller({name: 'order', reconcile: reconcileOrders(operator), workers: 1})
    .watch(stores.acmeIssuers, self)
    .watch(stores.certificateRequests, ({object, old}) => [object, ...(old ? [old] : [])].flatMap(issuerOf))
    .watch(stores.claims, ({object, old}) => (changesOrders(object, old) ? issuers() : []))
    .watch(stores.certificates, ({object}) => issuerOf(object))
    .watch(stores.namespaces, delta => (changesAccount(delta) ? issuers() : []));
}

/** A claim was made, moved, or released, or an order ended. An order that the operator itself admits triggers nothing. */
function changesOrders({spec}: DeepReadonly<DomainClaim>, old: DeepReadonly<DomainClaim> | undefined): boolean {
  const [now, before] = [spec.issuance, old?.spec.issuance];
  return !old || now === undefined || now.request === undefined || before?.request !== undefined;
}
