/** The zones of the measurements besides the fault zones of the tests. */
import type {ZoneSpec} from '../../test/integration/dns/internet/plan.ts';
import {ALL, CNAME, STRICT, TARGET, TOKEN} from '../../test/integration/dns/zones/zone-row.ts';

/** How many seconds a resolver caches the absence of a record. */
export const NEGATIVE_TTL = 300;
const MANY_ZONES = 10;

/** One of four name servers is dead. Both our record and the one that cert-manager looks for exist. */
export function deadZone(round: number): ZoneSpec {
  const records = `${CNAME}\n_acme-challenge.shop TXT "${TOKEN}"`;
  return {name: `dead${round}.com`, at: [...STRICT, 'silent'], records};
}

/** The zone without the record, or with it. */
export function lateZone(index: number, fixed: boolean): ZoneSpec {
  return {name: `late${index}.com`, at: ALL, records: fixed ? CNAME : '', negativeTtl: NEGATIVE_TTL};
}

export const manyZones: readonly ZoneSpec[] = Array.from({length: MANY_ZONES}, (_, n) => ({
  name: `many${n}.com`,
  at: ALL,
  records: `* CNAME ${TARGET}.`,
}));

export function manyHosts(count: number): string[] {
  return Array.from({length: count}, (_, n) => `h${n}.many${n % MANY_ZONES}.com`);
}
