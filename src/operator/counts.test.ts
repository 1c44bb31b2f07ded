import {expect, test} from 'vitest';
import {KeyReady} from './apikey/conditions.ts';
import {type CaLimits, explainShortage} from './claim/order-windows.ts';
import {Accepted, CertificateReady} from './domain/conditions.ts';
import {DomainsReady, ProjectReady} from './project/conditions.ts';

const HOST = 'shop.example.com';
const ONE: CaLimits = {
  ...{orders: 1, renewalReserve: 0, newHostsPerDomain: 1, ordersPerHost: 1},
  ...{windowSeconds: 1, domainWindowSeconds: 60, hostWindowSeconds: 3600},
};

test.each([
  ['hosts of a plan', Accepted.planLimitReached('pro', 1).message, 'allows 1 custom domain per account'],
  [
    'Projects of a plan, at a Domain',
    Accepted.projectBeyondPlan('a', 'pro', 1).message,
    'allows 1 Project per account',
  ],
  ['Projects of a plan', ProjectReady.planLimitReached('pro', 1).message, 'allows 1 Project per account'],
  ['APIKeys of a plan', KeyReady.planLimitReached('pro', 1).message, 'allows 1 APIKey per account'],
  ['live hosts', DomainsReady.all(1).message, 'The custom domain is live.'],
  ['waiting hosts', DomainsReady.waiting([HOST], 1).message, 'The custom domain is not live: shop.example.com.'],
  ['waiting hosts of two', DomainsReady.waiting([HOST], 2).message, '1 of 2 custom domains is not live'],
  ['minutes', CertificateReady.overdue(1, '', 'run: it').message, 'after 1 minute.'],
  ['orders of the platform', explainShortage('orders', HOST, ONE), '1 order in 1 second,'],
  ['orders for a domain', explainShortage('domain', HOST, ONE), '1 new host in 60 seconds,'],
  ['orders for a host', explainShortage('host', HOST, ONE), '1 order in 60 minutes.'],
])('one is singular: %s', (_, message, want) => expect(message).toContain(want));

test.each([
  ['hosts', Accepted.planLimitReached('none', 0).message, 'allows 0 custom domains per account. Upgrade the plan'],
  ['APIKeys', KeyReady.planLimitReached('none', 0).message, 'allows 0 APIKeys per account. Upgrade the plan'],
])('a plan that allows no %s has no older ones to remove', (_, message, want) => expect(message).toContain(want));
