import {Gauge, type Registry} from 'prom-client';
import {atOnce} from '../../runtime/controller/turns.ts';
import {caAccountOf, namespaceOf} from '../model/ca-account.ts';
import type {Operator} from '../state/context.ts';
import {ordersLeft} from './order-budget.ts';
import {madeOrders} from './order-history.ts';

/**
 * The order budget of the platform's issuer, while approval is enabled. If each namespace has its own Issuer, there is
 * none in total, and one series per tenant would be too many.
 */
export function watchOrders(operator: Operator, registry: Registry): void {
  const {config, stores, orderSchedule, clock} = operator;
  const {issuerRef, orderBudget} = config.certificates;
  const caAccount = caAccountOf(config, '', issuerRef);
  if (!stores.certificateRequests || caAccount === undefined || namespaceOf(caAccount) !== undefined) return;
  const issuer = issuerRef.name;
  const registers = [registry];
  new Gauge({
    name: 'nameplate_certificate_orders_limit',
    help: 'Orders that the budget of the issuer allows in its window.',
    labelNames: ['issuer'],
    registers,
  }).set({issuer}, orderBudget.orders);
  new Gauge({
    name: 'nameplate_certificate_orders_left',
    help: 'Orders left in the budget of the issuer: for new hosts, and for renewals.',
    labelNames: ['issuer', 'kind'],
    registers,
    collect() {
      this.reset();
      if (stores.claims.state !== 'synced') return;
      const left = ordersLeft(atOnce(madeOrders(operator, caAccount)), config.certificates, clock.now());
      for (const [kind, orders] of Object.entries(left)) this.set({issuer, kind}, orders);
    },
  });
  new Gauge({
    name: 'nameplate_certificate_orders_waiting',
    help: 'Hosts whose certificate order waits for the budget of the issuer. 0 unless this process leads.',
    labelNames: ['issuer'],
    registers,
    collect() {
      this.set({issuer}, orderSchedule.waiting(caAccount));
    },
  });
}
