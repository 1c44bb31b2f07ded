import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {HostLookup} from '../../dns/dns.ts';
import {FormerEdge} from './former-edge.ts';

const [FORMER, NEW] = ['192.0.2.10', '192.0.2.20'];
const REMEMBERED_SECONDS = 300;
const PAUSE_SECONDS = 60;
const HOST = 'shop.example.com';

/** A FormerEdge with DNS answers that the test sets. */
function newFormerEdge() {
  const clock = new ManualClock(Date.parse('2026-06-01T00:00:00Z'));
  const asked: string[] = [];
  let answer: (signal: AbortSignal) => Promise<HostLookup> = async () => ({known: true, addresses: [FORMER]});
  const edge = new FormerEdge({
    addresses: [NEW, '2001:DB8:0:0::20'],
    lookUp: (host, signal) => {
      asked.push(host);
      return answer(signal);
    },
    clock,
    pauseMs: PAUSE_SECONDS * 1000,
    rememberedMs: REMEMBERED_SECONDS * 1000,
  });
  return {
    asked,
    resolveTo: (...addresses: readonly string[]) => {
      answer = async () => ({known: true, addresses});
    },
    silence: () => {
      answer = async () => ({known: false});
    },
    hang: () => {
      answer = signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    run: (signal: AbortSignal) => edge.run(signal),
    ask: (host = HOST, namespace = 'acme') => edge.addressesOf(namespace, host),
    /** Advances the time, then queries twice: before and after the lookup that the first query starts. */
    async after(seconds: number) {
      await clock.advance(seconds * 1000);
      edge.addressesOf('acme', HOST);
      await new Promise(setImmediate);
      return edge.addressesOf('acme', HOST);
    },
    now: () => clock.now(),
    step: (seconds: number) => clock.step(seconds * 1000),
  };
}

test('nothing is known before the first answer', async () => {
  const dns = newFormerEdge();
  expect(dns.ask().kind).toBe('unknown');
  expect(await dns.after(0)).toMatchObject({kind: 'elsewhere', addresses: [FORMER]});
});

test('once DNS returns only the new addresses, resolvers may have a former one for a while', async () => {
  const dns = newFormerEdge();
  await dns.after(0);
  dns.resolveTo(NEW, '2001:db8::20');
  expect(await dns.after(60)).toMatchObject({kind: 'cached', untilMs: dns.now() + REMEMBERED_SECONDS * 1000});
  expect((await dns.after(REMEMBERED_SECONDS - 1)).kind).toBe('cached');
  expect((await dns.after(1)).kind).toBe('gone');
});

test.each([
  {what: 'a former address among new ones', addresses: [NEW, FORMER]},
  {what: 'an address that nobody knows, as of a CDN', addresses: ['203.0.113.1']},
  {what: 'no address', addresses: []},
])('$what counts as the former edge, and the wait begins again', async ({addresses}) => {
  const dns = newFormerEdge();
  dns.resolveTo(NEW);
  await dns.after(0);
  dns.resolveTo(...addresses);
  expect(await dns.after(REMEMBERED_SECONDS)).toMatchObject({kind: 'elsewhere', addresses: addresses.toSorted()});
  dns.resolveTo(NEW);
  expect((await dns.after(PAUSE_SECONDS)).kind).toBe('cached');
});

test('what was true a while ago takes no host off the former edge', async () => {
  const dns = newFormerEdge();
  dns.resolveTo(NEW);
  await dns.after(0);
  expect((await dns.after(REMEMBERED_SECONDS)).kind).toBe('gone');
  dns.resolveTo(FORMER);
  dns.hang();
  expect((await dns.after(86_400)).kind).toBe('unknown');
});

test('a step of the clock takes no host off the former edge early, and lets it wait no longer', async () => {
  const dns = newFormerEdge();
  dns.resolveTo(NEW);
  await dns.after(0);
  dns.step(3600);
  expect((await dns.after(PAUSE_SECONDS)).kind).toBe('cached');
  dns.step(-7200);
  expect((await dns.after(REMEMBERED_SECONDS - PAUSE_SECONDS)).kind).toBe('gone');
});

test('while DNS does not answer, nothing is known, whatever it said before', async () => {
  const dns = newFormerEdge();
  dns.resolveTo(NEW);
  await dns.after(0);
  dns.silence();
  expect(await dns.after(REMEMBERED_SECONDS)).toEqual({kind: 'unknown', againMs: dns.now() + PAUSE_SECONDS * 1000});
});

test('a host is looked up once per pause, however often somebody asks', async () => {
  const dns = newFormerEdge();
  await dns.after(0);
  await dns.after(PAUSE_SECONDS - 1);
  expect(dns.asked).toHaveLength(1);
  await dns.after(1);
  expect(dns.asked).toHaveLength(2);
});

test('a namespace whose name servers do not answer delays no other', async () => {
  const dns = newFormerEdge();
  dns.hang();
  for (let n = 0; n < 100; n++) dns.ask(`h${n}.slow.example`, 'slow');
  await new Promise(setImmediate);
  expect(dns.asked).toHaveLength(4);
  dns.resolveTo(FORMER);
  dns.ask();
  await new Promise(setImmediate);
  expect(dns.ask().kind).toBe('elsewhere');
});

test('when the operator stops, lookups in progress end, and waiting ones do not start', async () => {
  const dns = newFormerEdge();
  dns.hang();
  const stop = new AbortController();
  const running = dns.run(stop.signal);
  for (let host = 0; host < 40; host++) dns.ask(`${host}.example.com`, `namespace-${host}`);
  await new Promise(setImmediate);
  const before = dns.asked.length;
  expect(before).toBe(16);
  stop.abort();
  await running;
  await new Promise(setImmediate);
  expect(dns.asked).toHaveLength(before);
  dns.ask('late.example.com');
  await new Promise(setImmediate);
  expect(dns.asked).toHaveLength(before);
});
