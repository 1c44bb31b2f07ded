import {registrableDomain} from '../../dns/dns.ts';
import type {CaLimits, Shortage} from '../claim/order-windows.ts';

/** The limit that a host waits for, as a clause that follows a colon. */
export function explainShortage(shortage: Shortage, host: string, limits: CaLimits): string {
  const {orders, windowSeconds, newHostsPerDomain, domainWindowSeconds, ordersPerHost, hostWindowSeconds} = limits;
  switch (shortage) {
    case 'orders':
      return `the platform's limit at the certificate authority is ${orders} orders in ${spoken(windowSeconds)}, shared by all tenants.`;
    case 'domain':
      return `the limit for ${registrableDomain(host) ?? host} is ${newHostsPerDomain} new hosts in ${spoken(domainWindowSeconds)}, across all accounts.`;
    case 'host':
      return `the limit for one host is ${ordersPerHost} orders in ${spoken(hostWindowSeconds)}.`;
  }
}

const UNITS = [
  [86_400, 'days'],
  [3600, 'hours'],
  [60, 'minutes'],
] as const;

function spoken(seconds: number): string {
  const unit = UNITS.find(([length]) => seconds >= 2 * length && seconds % length === 0);
  return unit ? `${seconds / unit[0]} ${unit[1]}` : `${seconds} seconds`;
}
