/** How a verdict follows changes of the zone. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Verdict} from '../../../src/dns/verdict/verdict.ts';
import {SERVERS, type ZoneSpec} from './internet/plan.ts';
import {type Internet, startInternet} from './internet.ts';
import {ALL, CNAME, CONFIRMED, questionAbout, SHARED} from './zones/zone-row.ts';

const zone = (name: string, records: string): ZoneSpec => ({name, at: ALL, records, negativeTtl: 300});

const NAME_SERVERS = ['a', 'b', 'c', 'd'] as const;
/** Eight name servers, each named in a zone of its own, so that none has glue. */
const glueless = Array.from({length: 8}, (_, n) => ({
  zone: `glue${n}.com`,
  address: SERVERS[NAME_SERVERS[n % 4] ?? 'a'][n < 4 ? 0 : 1],
}));
const GLUE_ZONES = glueless.map(
  ({zone: name, address}): ZoneSpec => ({
    name,
    at: ['a'],
    records: `ns ${address.includes(':') ? 'AAAA' : 'A'} ${address}`,
  }),
);
const crowded = (name: string, more: Partial<ZoneSpec> = {}): ZoneSpec => ({
  name,
  at: ALL,
  records: CNAME,
  delegation: glueless.map(({zone: at}) => `${name}. NS ns.${at}.`).join('\n'),
  ...more,
});

let internet: Internet;
beforeAll(async () => {
  const half = {b: 'shop A 192.0.2.7', d: 'shop A 192.0.2.7'};
  const zones = [...GLUE_ZONES, crowded('crowded.com'), crowded('halfold.com', {instead: half})];
  internet = await startInternet([
    ...SHARED,
    ...zones,
    zone('fixed.com', ''),
    zone('cached.com', ''),
    zone('lost.com', CNAME),
  ]);
});
afterAll(() => internet?.stop());

test('a fixed zone is verified immediately, whatever resolvers have cached', async () => {
  const question = questionAbout('shop.fixed.com');
  expect(await internet.resolve('shop.fixed.com', 'CNAME')).toEqual([]);
  expect(await internet.verify(question, {})).toMatchObject({reason: 'RecordMissing', agreed: true});
  await internet.change(zone('fixed.com', CNAME));
  expect(await internet.verify(question, {})).toMatchObject({reason: 'Verified', agreed: true});
  expect(await internet.resolve('shop.fixed.com', 'CNAME')).toEqual([]);
});

test('if a resolver must confirm it, the message says how long the old answer lasts', async () => {
  expect(await internet.resolve('shop.cached.com', 'A')).toEqual([]);
  await internet.change(zone('cached.com', CNAME));
  const verdict = await internet.verify(questionAbout('shop.cached.com'), CONFIRMED);
  expect(verdict).toMatchObject({reason: 'Propagating', agreed: false});
  expect(verdict.message).toMatch(/the resolver 9\.9\.9\.9 still has the old answer, for about (2\d\d|300) s more/);
});

/** With a configuration that no other test has, so nothing is cached. Returns the first check that is finished. */
async function checksFromCold(host: string, queryTimeoutMs: number): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  while (verdicts.length < 4) {
    const verdict = await internet.verify(questionAbout(host), {queryTimeoutMs});
    verdicts.push(verdict);
    if (!verdict.unfinished) break;
    expect(verdict).toMatchObject({verified: false, agreed: false});
  }
  return verdicts;
}

test('a zone with eight servers without glue is verified by at most two checks', async () => {
  const verdicts = await checksFromCold('shop.crowded.com', 2001);
  expect(verdicts.length).toBeLessThanOrEqual(2);
  expect(verdicts.at(-1)).toMatchObject({reason: 'Verified', agreed: true});
});

test('and is not verified while half of them have an old address', async () => {
  const verdicts = await checksFromCold('shop.halfold.com', 2002);
  expect(verdicts.length).toBeLessThanOrEqual(2);
  expect(verdicts.at(-1)).toMatchObject({reason: 'Propagating', verified: false, agreed: false});
});

test('a deleted record is noticed immediately', async () => {
  expect(await internet.verify(questionAbout('shop.lost.com'), {})).toMatchObject({reason: 'Verified'});
  await internet.change(zone('lost.com', 'other A 192.0.2.1'));
  expect(await internet.verify(questionAbout('shop.lost.com'), {})).toMatchObject({
    reason: 'RecordMissing',
    agreed: true,
  });
});
