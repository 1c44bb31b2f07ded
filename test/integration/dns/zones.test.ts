import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type DnsConfig, defaultDnsConfig} from '../../../src/dns/config.ts';
import type {ProofQuestion, Verdict} from '../../../src/dns/verdict/verdict.ts';
import {Semaphore} from '../../../src/dns/wire/semaphore.ts';
import {type Internet, startInternet} from './internet.ts';
import {apexRows} from './zones/apex.rows.ts';
import {caaRows} from './zones/caa.rows.ts';
import {challengeRows} from './zones/challenge.rows.ts';
import {recordRows} from './zones/records.rows.ts';
import {resolverRows} from './zones/resolver.rows.ts';
import {serverRows} from './zones/servers.rows.ts';
import {wildcardRows} from './zones/wildcard.rows.ts';
import {wireRows} from './zones/wire.rows.ts';
import {fill, hostOfRow, questionOfRow, SHARED, type ZoneRow, zoneOfRow} from './zones/zone-row.ts';

const groups: Record<string, readonly ZoneRow[]> = {
  'what stands in the zone': recordRows,
  'who answers': serverRows,
  'names that show addresses': apexRows,
  'delegated challenges': challengeRows,
  wildcards: wildcardRows,
  CAA: caaRows,
  'with a resolver': resolverRows,
  'on the wire': wireRows,
};
const rows = Object.values(groups).flat();

let internet: Internet;
/** As many concurrent checks as in the operator, so that they share the wait for dead servers. */
const inFlight = new Semaphore(defaultDnsConfig.checks.inFlight);
const never = new AbortController().signal;
let verdicts: readonly Promise<Verdict>[] = [];
beforeAll(async () => {
  internet = await startInternet([...SHARED, ...rows.map(zoneOfRow)]);
  verdicts = rows.map((row, index) => {
    const question = questionOfRow(row, zoneOfRow(row, index).name);
    return inFlight.run(() => finished(question, row.config ?? {}), never);
  });
});
afterAll(() => internet?.stop());

/** Queries may be repeated under load, so that one check cannot send all. Like the scheduler, continues such a check. */
async function finished(question: ProofQuestion, config: Partial<DnsConfig>): Promise<Verdict> {
  const verdict = await internet.verify(question, config);
  return verdict.unfinished ? internet.verify(question, config) : verdict;
}

describe.each(Object.entries(groups))('the verdict: %s', (_, group) => {
  test.concurrent.each(group.map(row => ({...row, row})))('$case', async ({row}) => {
    const index = rows.indexOf(row);
    const zone = zoneOfRow(row, index).name;
    const host = hostOfRow(row, zone);
    const verdict = await verdicts[index];
    if (!verdict) throw new Error('no verdict');
    expect(verdict, verdict.message).toMatchObject(fill(row.want, zone, host));
    expect(verdict.verified).toBe(verdict.reason === 'Verified');
    for (const text of row.says ?? [])
      expect(verdict.message).toContain(text.replaceAll('HOST', host).replaceAll('ZONE', zone));
    for (const text of row.saysNot ?? []) expect(verdict.message).not.toContain(text);
    expect(verdict.message).toMatch(/^[\x20-\x7e]{1,2000}$/);
  });
});
