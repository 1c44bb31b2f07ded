/** How a verdict follows changes of the zone. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {ZoneSpec} from './internet/plan.ts';
import {type Internet, startInternet} from './internet.ts';
import {ALL, CNAME, CONFIRMED, questionAbout, SHARED} from './zones/zone-row.ts';

const zone = (name: string, records: string): ZoneSpec => ({name, at: ALL, records, negativeTtl: 300});

let internet: Internet;
beforeAll(async () => {
  internet = await startInternet([...SHARED, zone('fixed.com', ''), zone('cached.com', ''), zone('lost.com', CNAME)]);
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

test('a deleted record is noticed immediately', async () => {
  expect(await internet.verify(questionAbout('shop.lost.com'), {})).toMatchObject({reason: 'Verified'});
  await internet.change(zone('lost.com', 'other A 192.0.2.1'));
  expect(await internet.verify(questionAbout('shop.lost.com'), {})).toMatchObject({
    reason: 'RecordMissing',
    agreed: true,
  });
});
