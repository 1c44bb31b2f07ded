/** Limits on what strangers' servers can make us do. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {CrowdResult} from './internet/calls.ts';
import {addressesOf, FAULTS, RESOLVER, ROOTS, SERVERS, type ZoneSpec} from './internet/plan.ts';
import {type Internet, startInternet} from './internet.ts';
import {FORBIDDEN} from './zones/servers.rows.ts';
import {ALL, CNAME, questionAbout, RECURSIVE, SHARED} from './zones/zone-row.ts';

const CROWD = 1000;
/** One after another, 32 at a time, and each until its deadline, the checks of the crowd would take five minutes. */
const PROMPT_MS = 150_000;
/** Half of them never answer; the others answer extremely slowly. */
const TARPITS = ['silent', 'truncate-tcp-silent', 'truncate-tcp-drip', 'drop-all'] as const;

const led = (address: string, n: number): ZoneSpec => ({
  name: `forbidden${n}.com`,
  at: ['a'],
  records: CNAME,
  delegation: `forbidden${n} NS ns.forbidden${n}\nns.forbidden${n} ${address.includes(':') ? 'AAAA' : 'A'} ${address}`,
});
/** A name server whose name is in another zone, and whose address it must not have. */
const aside = (address: string, n: number): ZoneSpec => ({
  name: `aside${n}.com`,
  at: ['a'],
  records: `ns ${address.includes(':') ? 'AAAA' : 'A'} ${address}`,
});

let internet: Internet;
beforeAll(async () => {
  internet = await startInternet([
    ...SHARED,
    ...FORBIDDEN.map(led),
    ...FORBIDDEN.map(aside),
    ...FORBIDDEN.map(
      (_, n): ZoneSpec => ({name: `via${n}.com`, at: [], records: '', delegation: `via${n} NS ns.aside${n}`}),
    ),
    ...TARPITS.map((server): ZoneSpec => ({name: `${server}-pit.com`, at: [server], records: CNAME})),
    {name: 'neighbour.com', at: ALL, records: CNAME},
  ]);
});
afterAll(() => internet?.stop());

describe('where packets go', () => {
  const verifyAll = (config: Parameters<Internet['verify']>[1]) =>
    Promise.all(
      FORBIDDEN.flatMap((_, n) => [`shop.forbidden${n}.com`, `shop.via${n}.com`]).map(host =>
        internet.verify({...questionAbout(host), caaIdentities: ['ca.example']}, config),
      ),
    );

  // attack: hostile-dns
  test('not one leaves for an address that is not public', async () => {
    await internet.capture();
    const verdicts = await verifyAll({});
    const receivers = await internet.captured();
    expect(verdicts.map(({reason}) => reason)).toEqual(verdicts.map(() => 'DelegationBroken'));
    const ours = [...ROOTS, ...Object.values(SERVERS).flat(), RESOLVER, ...FAULTS.flatMap(addressesOf)];
    const strange = Object.keys(receivers).filter(receiver => !ours.some(address => receiver === `${address}:53`));
    expect(strange).toEqual([]);
    expect(receivers[`${SERVERS.registry[0]}:53`]).toBeGreaterThan(FORBIDDEN.length);
  });

  test('but where the configuration allows it, and then the capture shows it', async () => {
    await internet.capture();
    await verifyAll({allowAddresses: ['10.0.0.0/8', 'fd00::/8']});
    const receivers = await internet.captured();
    expect(Object.keys(receivers)).toEqual(expect.arrayContaining(['10.0.0.10:53', 'fd00::10:53']));
    expect(Object.keys(receivers)).not.toContain('127.0.0.1:53');
  });
});

describe(`${CROWD} domains on tarpit servers do not delay a neighbor`, () => {
  const pits = (accountOf: (n: number) => string) =>
    Array.from({length: CROWD}, (_, n) => ({
      account: accountOf(n),
      question: questionAbout(`h${n}.${TARPITS[n % TARPITS.length]}-pit.com`),
    }));
  const neighbour = {account: 'neighbour', question: questionAbout('shop.neighbour.com'), late: true};
  const expectServed = (late: CrowdResult['late']) => {
    console.info(`The neighbor was verified after ${late[0]?.ms?.toFixed(0)} ms`);
    expect(late).toEqual([{host: 'shop.neighbour.com', ms: expect.any(Number)}]);
  };

  // attack: hostile-dns
  test('of another account', async () => {
    const subjects = [...pits(() => 'attacker'), neighbour];
    const {late} = await internet.crowd({config: {}, subjects, lateAfterMs: 6000, limitMs: PROMPT_MS});
    expectServed(late);
  });

  // attack: hostile-dns
  test('of another account, if one resolver is queried about all', async () => {
    const subjects = [...pits(() => 'attacker'), neighbour];
    // By then, the resolver may not have answered anything.
    const {late} = await internet.crowd({config: RECURSIVE, subjects, lateAfterMs: 4000, limitMs: PROMPT_MS});
    expectServed(late);
  });

  test('even if each of them belongs to a separate account', async () => {
    const subjects = [...pits(n => `account ${n}`), neighbour];
    const {late} = await internet.crowd({config: {}, subjects, lateAfterMs: 6000, limitMs: PROMPT_MS});
    expectServed(late);
  });
});
