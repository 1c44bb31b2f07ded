import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type Internet, startInternet} from './internet.ts';
import {apexRows} from './rows/apex.ts';
import {caaRows} from './rows/caa.ts';
import {recordRows} from './rows/records.ts';
import {resolverRows} from './rows/resolver.ts';
import {hostOfRow, questionAbout, type Row, SHARED, zoneOfRow} from './rows/row.ts';
import {serverRows} from './rows/servers.ts';
import {wireRows} from './rows/wire.ts';

const groups: Record<string, readonly Row[]> = {
  'what stands in the zone': recordRows,
  'who answers': serverRows,
  'names that show addresses': apexRows,
  CAA: caaRows,
  'with a resolver': resolverRows,
  'on the wire': wireRows,
};
const rows = Object.values(groups).flat();

let internet: Internet;
beforeAll(async () => {
  internet = await startInternet([...SHARED, ...rows.map(zoneOfRow)]);
});
afterAll(() => internet?.stop());

/** Puts the names of a row into what it expects. */
function fill<T>(value: T, zone: string, host: string): T {
  return JSON.parse(JSON.stringify(value).replaceAll('ZONE', zone).replaceAll('HOST', host)) as T;
}

describe.each(Object.entries(groups))('the verdict: %s', (_, group) => {
  test.concurrent.each(group.map(row => ({...row, row})))('$case', async ({row}) => {
    const zone = zoneOfRow(row, rows.indexOf(row)).name;
    const host = hostOfRow(row, zone);
    const verdict = await internet.verify(questionAbout(host, row.question), row.config ?? {});
    expect(verdict, verdict.message).toMatchObject(fill(row.want, zone, host));
    expect(verdict.verified).toBe(verdict.reason === 'Verified');
    for (const text of row.says ?? [])
      expect(verdict.message).toContain(text.replace('HOST', host).replace('ZONE', zone));
    expect(verdict.message).toMatch(/^[\x20-\x7e]{1,2000}$/);
  });
});
