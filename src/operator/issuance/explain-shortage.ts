import {registrableDomain} from '../../dns/dns.ts';
import type {CertificatesConfig} from '../model/config.ts';
import type {Shortage} from '../state/order-schedule.ts';

/** What a host waits for, as a sentence without its beginning. */
export function explainShortage(
  shortage: Shortage,
  host: string,
  {orderBudget, failureBudget}: CertificatesConfig,
): string {
  const {orders, windowSeconds, newHostsPerDomain, domainWindowSeconds} = orderBudget;
  switch (shortage) {
    case 'orders':
      return `the platform's account at the certificate authority makes ${orders} orders in ${spoken(windowSeconds)}, and shares them out among all tenants.`;
    case 'domain':
      return `certificates are ordered for ${newHostsPerDomain} new hosts of ${registrableDomain(host) ?? host} in ${spoken(domainWindowSeconds)}, whoever they belong to.`;
    case 'host':
      return `certificates are ordered for one host ${failureBudget.failures} times in ${spoken(failureBudget.windowSeconds)}.`;
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
