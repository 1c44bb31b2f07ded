import {expect, test} from 'vitest';
import {timestamp} from '../../api/conditions.ts';
import type {ACMEIssuer, Certificate} from '../kinds/kinds.ts';
import {renewalsRatio} from './metrics.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2027-03-01T00:00:00Z');

function certificate(renewedAfterDays: number, name = 'letsencrypt'): Certificate {
  const status = {notBefore: timestamp(NOW), renewalTime: timestamp(NOW + renewedAfterDays * DAY_MS)};
  return {spec: {issuerRef: {name, kind: 'ACMEIssuer', group: 'nameplate.dev'}}, status} as Certificate;
}

function issuer(exemptRenewals: boolean): ACMEIssuer {
  const limits = {orders: 300, windowSeconds: 10_800, exemptRenewals};
  return {metadata: {name: 'letsencrypt'}, spec: {server: 'https://ca.test/dir', limits}} as ACMEIssuer;
}

const many = (days: number, count: number) => Array.from({length: count}, () => certificate(days));

// The table in docs/certificates.md: as many hosts as 300 orders in three hours sustain.
test.each([
  {days: 60, hosts: 144_000},
  {days: 42 + 2 / 3, hosts: 102_400},
  {days: 30, hosts: 72_000},
  {days: 80 / 24, hosts: 8_000},
])('$hosts certificates that are renewed after $days days need all orders', ({days, hosts}) => {
  expect(renewalsRatio(many(days, hosts), issuer(false))).toBeCloseTo(1, 3);
});

test('renewals that the CA does not count, those of other issuers, and certificates that do not exist yet need none', () => {
  expect(renewalsRatio(many(30, 100), issuer(true))).toBe(0);
  const without = {...certificate(30), status: {}} as Certificate;
  expect(renewalsRatio([certificate(30, 'other'), without], issuer(false))).toBe(0);
});
