import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {HostLookup} from '../../dns/dns.ts';
import {FormerEdge} from './former-edge.ts';

const [FORMER, NEW] = ['192.0.2.10', '192.0.2.20'];
const TTL_SECONDS = 300;
const PAUSE_MS = 60_000;
const HOST = 'shop.example.com';

/** DNS that says what the test sets; undefined: it does not answer. */
function newFormerEdge() {
  const clock = new ManualClock(Date.parse('2026-06-01T00:00:00Z'));
  let addresses: readonly string[] | undefined = [FORMER];
  let lookups = 0;
  const lookUp = async (): Promise<HostLookup> => {
    lookups += 1;
    return addresses ? {known: true, addresses, ttlSeconds: TTL_SECONDS} : {known: false};
  };
  const edge = new FormerEdge({addresses: [FORMER, '2001:db8::10'], lookUp, clock, pauseMs: PAUSE_MS});
  return {
    lookups: () => lookups,
    resolveTo: (...found: readonly string[]) => {
      addresses = found;
    },
    silence: () => {
      addresses = undefined;
    },
    /** Time passes, and somebody asks twice: before and after the lookup that the question starts. */
    async after(seconds: number) {
      await clock.advance(seconds * 1000);
      edge.addressesOf(HOST);
      await new Promise(setImmediate);
      return edge.addressesOf(HOST);
    },
    now: () => clock.now(),
    ask: () => edge.addressesOf(HOST),
  };
}

test('nothing is known before the first answer', async () => {
  const dns = newFormerEdge();
  expect(dns.ask()).toEqual({kind: 'unknown'});
  expect(await dns.after(0)).toEqual({kind: 'returned', addresses: [FORMER]});
});

test('once DNS returns other addresses, resolvers have the former one for its TTL', async () => {
  const dns = newFormerEdge();
  await dns.after(0);
  dns.resolveTo(NEW);
  expect(await dns.after(60)).toEqual({kind: 'cached', untilMs: dns.now() + TTL_SECONDS * 1000});
  expect((await dns.after(TTL_SECONDS - 1)).kind).toBe('cached');
  expect(await dns.after(1)).toEqual({kind: 'gone'});
});

test('an address among others counts, and one that comes back', async () => {
  const dns = newFormerEdge();
  dns.resolveTo(NEW, '2001:db8::10');
  expect(await dns.after(0)).toEqual({kind: 'returned', addresses: ['2001:db8::10']});
  dns.resolveTo(NEW);
  await dns.after(60);
  dns.resolveTo(NEW, FORMER);
  expect(await dns.after(TTL_SECONDS)).toEqual({kind: 'returned', addresses: [FORMER]});
  dns.resolveTo(NEW);
  expect((await dns.after(60)).kind).toBe('cached');
});

test('while DNS does not answer, nothing is known, whatever it said before', async () => {
  const dns = newFormerEdge();
  dns.resolveTo(NEW);
  await dns.after(0);
  dns.silence();
  expect(await dns.after(TTL_SECONDS)).toEqual({kind: 'unknown'});
});

test('a host is looked up once per pause, however often somebody asks', async () => {
  const dns = newFormerEdge();
  await dns.after(0);
  await dns.after(59);
  expect(dns.lookups()).toBe(1);
  await dns.after(1);
  expect(dns.lookups()).toBe(2);
});
