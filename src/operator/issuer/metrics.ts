import type {Registry} from 'prom-client';
import {metricsIn} from '../../operations/metrics.ts';
import {atOnce} from '../../runtime/controller/turns.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {placedOrders} from '../claim/order-records.ts';
import {limitsOf, ordersLeft} from '../claim/order-windows.ts';
import {acmeIssuerOf} from '../kinds/issuers.ts';
import type {ACMEIssuer, Certificate} from '../kinds/kinds.ts';
import type {IssuerOperator} from './context.ts';

/** The order budget of each ACMEIssuer, and whether its CA answers. */
export function watchOrders({stores, orderSchedule, accounts, clock}: IssuerOperator, registry: Registry): void {
  const {readings} = metricsIn(registry);
  const ofIssuer = (name: string, help: string, figure: (issuer: DeepReadonly<ACMEIssuer>) => number) =>
    readings(name, help, ['issuer'], () =>
      [...stores.acmeIssuers.list()].map(issuer => [{issuer: issuer.metadata.name}, figure(issuer)]),
    );
  ofIssuer(
    'nameplate_certificate_orders_limit',
    'Orders that the limits of the ACMEIssuer allow in their window.',
    ({spec}) => limitsOf(spec).orders,
  );
  readings(
    'nameplate_certificate_orders_left',
    'Orders left in the budget of the ACMEIssuer: for new hosts, and for renewals.',
    ['issuer', 'kind'],
    () => {
      if (stores.claims.state !== 'synced') return [];
      return [...stores.acmeIssuers.list()].flatMap(({metadata, spec}) => {
        const [issuer, limits, nowMs] = [metadata.name, limitsOf(spec), clock.now()];
        const left = atOnce(ordersLeft(atOnce(placedOrders({stores}, issuer, limits, nowMs)), limits, nowMs));
        return [[{issuer, kind: 'new'}, left.forNew] as const, [{issuer, kind: 'renewal'}, left.forRenewals] as const];
      });
    },
  );
  ofIssuer(
    'nameplate_certificate_orders_waiting',
    'Hosts whose certificate order waits for the budget of the ACMEIssuer. 0 unless this process leads.',
    ({metadata}) => orderSchedule.waiting(metadata.name),
  );
  ofIssuer(
    'nameplate_certificate_renewals_ratio',
    'Part of the orders of the ACMEIssuer that renewals need, from the lifetimes of its certificates. 0 if the CA does not count them.',
    issuer => renewalsRatio(stores.certificates.list(), issuer),
  );
  ofIssuer(
    'nameplate_certificate_authority_unreachable_seconds',
    'For how long the CA of the ACMEIssuer has not answered; 0 if it answers. 0 unless this process leads.',
    ({metadata}) => {
      const {sinceMs = clock.now()} = accounts.troubleOf(metadata.name) ?? {};
      return Math.max(0, clock.now() - sinceMs) / 1000;
    },
  );
}

/** The renewals of the issuer's certificates in one window, as a part of its orders. */
export function renewalsRatio(
  certificates: Iterable<DeepReadonly<Certificate>>,
  {metadata, spec}: DeepReadonly<ACMEIssuer>,
): number {
  if (spec.limits?.exemptRenewals) return 0;
  const {orders, windowSeconds} = limitsOf(spec);
  let renewals = 0;
  for (const {
    spec: {issuerRef},
    status,
  } of certificates) {
    const periodMs = Date.parse(status?.renewalTime ?? '') - Date.parse(status?.notBefore ?? '');
    if (periodMs > 0 && acmeIssuerOf(issuerRef) === metadata.name) renewals += (windowSeconds * 1000) / periodMs;
  }
  return renewals / orders;
}
