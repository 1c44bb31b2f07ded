/**
 * Minutes represent days: hosts renew certificates of a short lifetime ten times, and meanwhile the CA is away for a
 * third of it, as for two of six days. No certificate ever expires.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Certificate} from '../../../src/operator/kinds/kinds.ts';
import {type DomainTenant, newDomainTenant} from '../operator/domain-tenant.ts';
import {type CaWorld, startCaWorld} from './ca-world.ts';

const MINUTE_MS = 60_000;
const HOSTS = Number(process.env.HOSTS ?? 100);
/** At least 30: the wait of up to 30 s between two attempts is not in miniature. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 60);
const RENEWALS = 10;
/** Each renewal is due at half of it. */
const LIFETIME_MS = (MINUTES * MINUTE_MS) / (RENEWALS / 2);
const AWAY_MS = LIFETIME_MS / 3;
const PER_TENANT = 10;
const SETUP_MS = 20 * MINUTE_MS;

let world: CaWorld;

beforeAll(async () => {
  const profiles = {default: {description: 'short', validityPeriod: LIFETIME_MS / 1000}};
  world = await startCaWorld({config: {profiles}});
  await world.applyIssuer({limits: {hostWindowSeconds: 60}}); // a week of six-day certificates passes in minutes
  await world.startSigner('signer');
}, SETUP_MS);
afterAll(() => world?.stop());

interface Host {
  readonly tenant: DomainTenant;
  readonly host: string;
}

async function newHosts(name: string): Promise<Host[]> {
  const tenant = await newDomainTenant(world, name);
  const [primary = '', ...aliases] = Array.from({length: PER_TENANT}, (_, n) => tenant.host(`h${n}`));
  await tenant.deployedProject({primary, aliases});
  const hosts = [primary, ...aliases].map(host => ({tenant, host}));
  await Promise.all(hosts.map(({host}) => tenant.createRecords(host)));
  for (const {host} of hosts) await tenant.becomesLive(host);
  return hosts;
}

const statusOf = ({tenant, host}: Host): Certificate['status'] => tenant.certificate(host)?.status;

test('no certificate of a short lifetime expires, although the CA is away for a third of it', {
  timeout: SETUP_MS + 2 * MINUTES * MINUTE_MS,
}, async () => {
  const names = Array.from({length: HOSTS / PER_TENANT}, (_, n) => `short${n}`);
  const hosts = (await Promise.all(names.map(newHosts))).flat();
  /** The beginnings of each host's certificates. */
  const seen = new Map(hosts.map(({host}) => [host, new Set<string>()]));
  const renewals = () => Math.min(...[...seen.values()].map(({size}) => size - 1));
  const expired = new Set<string>();
  let leastMs = Number.POSITIVE_INFINITY;
  let awayUntilMs: number | undefined;
  while (renewals() < RENEWALS) {
    const nowMs = Date.now();
    for (const each of hosts) {
      const {notBefore = '', notAfter = ''} = statusOf(each) ?? {};
      if (notBefore !== '') seen.get(each.host)?.add(notBefore);
      const leftMs = Date.parse(notAfter) - nowMs;
      if (!(leftMs > 0)) expired.add(each.host);
      leastMs = Math.min(leastMs, leftMs);
    }
    if (awayUntilMs === undefined && renewals() === RENEWALS / 2) awayUntilMs = nowMs + AWAY_MS;
    world.proxy.switches.down = awayUntilMs !== undefined && nowMs < awayUntilMs;
    await delay(1000);
  }
  console.log(`at least ${Math.round(leastMs / 1000)} of ${LIFETIME_MS / 1000} s were always left`);
  expect(awayUntilMs).toBeDefined();
  expect([...expired]).toEqual([]);
  for (const {tenant, host} of hosts) {
    const {orders = [], failures = []} = tenant.claim(host)?.spec ?? {};
    // cert-manager sometimes issues twice, which is no renewal.
    expect(orders.filter(({exempt}) => exempt).length, host).toBeGreaterThan(RENEWALS / 2);
    expect(failures).toEqual([]);
  }
});
