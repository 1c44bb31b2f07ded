import {Gauge, type Registry} from 'prom-client';
import {atOnce} from '../../runtime/controller/turns.ts';
import {limitsOf} from '../ca/limits.ts';
import {ordersLeft} from '../ca/order-windows.ts';
import type {Operator} from '../state/context.ts';
import {placedOrders} from './order-history.ts';

/** The order budget of each ACMEIssuer, and whether its CA answers. */
export function watchOrders({stores, orderSchedule, accounts, clock}: Operator, registry: Registry): void {
  const [labelNames, registers] = [['issuer'], [registry]];
  const issuers = () => [...stores.acmeIssuers.list()];
  new Gauge({
    name: 'nameplate_certificate_orders_limit',
    help: 'Orders that the limits of the ACMEIssuer allow in their window.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const {metadata, spec} of issuers()) this.set({issuer: metadata.name}, limitsOf(spec).orders);
    },
  });
  new Gauge({
    name: 'nameplate_certificate_orders_left',
    help: 'Orders left in the budget of the ACMEIssuer: for new hosts, and for renewals.',
    labelNames: ['issuer', 'kind'],
    registers,
    collect() {
      this.reset();
      if (stores.claims.state !== 'synced') return;
      for (const {metadata, spec} of issuers()) {
        const [issuer, limits, nowMs] = [metadata.name, limitsOf(spec), clock.now()];
        const left = atOnce(ordersLeft(atOnce(placedOrders({stores}, issuer, limits, nowMs)), limits, nowMs));
        this.set({issuer, kind: 'new'}, left.forNew);
        this.set({issuer, kind: 'renewal'}, left.forRenewals);
      }
    },
  });
  new Gauge({
    name: 'nameplate_certificate_orders_waiting',
    help: 'Hosts whose certificate order waits for the budget of the ACMEIssuer. 0 unless this process leads.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const {metadata} of issuers()) this.set({issuer: metadata.name}, orderSchedule.waiting(metadata.name));
    },
  });
  new Gauge({
    name: 'nameplate_certificate_authority_unreachable_seconds',
    help: 'For how long the CA of the ACMEIssuer has not answered; 0 if it answers. 0 unless this process leads.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const {metadata} of issuers()) {
        const {sinceMs = clock.now()} = accounts.troubleOf(metadata.name) ?? {};
        this.set({issuer: metadata.name}, Math.max(0, clock.now() - sinceMs) / 1000);
      }
    },
  });
}
