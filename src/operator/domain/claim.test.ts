import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {apiOf, dnsCheck, domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {API_VERSION} from '../../api/names.ts';
import type {Verdict} from '../../dns/dns.ts';
import type {Certificate, DomainClaim} from '../kinds/kinds.ts';
import {claimHost} from './claim.ts';
import {DnsVerified} from './conditions.ts';

const HOST = 'shop.example.com';
const KNOWN_SINCE = 1000;

/** The condition of a Domain whose account is verified while another account holds the host. */
async function claimOf(
  verdict: Partial<Verdict>,
  startedAt = KNOWN_SINCE + 1,
  namespace = 'theirs',
  host = HOST,
): Promise<string> {
  const {operator} = memoryOperator({clock: new ManualClock(KNOWN_SINCE)});
  const context = {...operator, ...apiOf({replace: async (_: unknown, claim: object) => claim})};
  const claim: DomainClaim = {
    ...{apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: objectNameOf(host), uid: 'u'}},
    spec: {account: 'them', namespace, since: '2026-11-24T12:00:00Z'},
  };
  const check = dnsCheck({verified: true, agreed: true, proof: 'cname', ...verdict}, {startedAt});
  const view = domainView({host, namespace: 'ours', holder: 'another', claim, check});
  const proof = {condition: DnsVerified.yes('right'), mayStart: verdict.verified ?? true};
  const {condition} = await claimHost(context, view, proof);
  return `${condition.reason}: ${condition.message}`;
}

test('the host moves once all name servers show the record', async () => {
  expect(await claimOf({})).toMatch(/^Claimed: /);
});

// attack: leftover-record
test('a delegated challenge moves the host, unless the TXT record of its holder is still there', async () => {
  expect(await claimOf({proof: 'challenge', txtValues: ['other']})).toMatch(/^Claimed: /);
  const {operator} = memoryOperator({clock: new ManualClock(0)});
  const token = operator.names.proofToken('them', HOST);
  expect(await claimOf({proof: 'challenge', txtValues: ['other', token]})).toContain(`delete the TXT record`);
});

test('a wildcard moves with its delegated challenge, of which there is one, once all name servers agree', async () => {
  const move = (verdict: Partial<Verdict>) => claimOf(verdict, undefined, undefined, '*.example.com');
  expect(await move({proof: 'challenge'})).toMatch(/^Claimed: /);
  expect(await move({proof: 'challenge', agreed: false})).toMatch(/^HeldByAnotherAccount: /);
  expect(await move({verified: false})).toMatch(/^HeldByAnotherAccount: /);
});

test('a name server that does not answer is named, with what to do, and the record is not asked for again', async () => {
  const doubt = 'not every name server on the way confirms that (ns4.dns.test (20.9.0.1): no answer). Remove it.';
  const message = await claimOf({agreed: false, doubt});
  expect(message).toMatch(/^HeldByAnotherAccount: /);
  expect(message).toContain(doubt);
  expect(message).not.toContain('change its DNS');
});

test('a check that is older than the claim is repeated, and the record is not asked for again', async () => {
  const message = await claimOf({}, KNOWN_SINCE - 1);
  expect(message).toContain('is checking it once more');
  expect(message).not.toContain('change its DNS');
});

test('without the record, the record is what is missing', async () => {
  expect(await claimOf({verified: false})).toContain(`change its DNS to ${HOST} CNAME acct.edge.test`);
});

test.each([
  {issuer: {group: 'nameplate.dev', kind: 'ACMEIssuer', name: 'ca'}, failures: ['2026-11-24T13:00:00Z']},
  {issuer: {kind: 'ClusterIssuer', name: 'ca'}, failures: ['2026-11-24T13:00:00Z', '2026-11-24T13:00:05Z']},
])('a failure that cert-manager reports for $issuer.kind counts unless the order has counted it', async row => {
  const {operator} = memoryOperator({clock: new ManualClock(KNOWN_SINCE)});
  let written: DomainClaim['spec'] | undefined;
  const api = apiOf({
    replace: async (_: unknown, replaced: DomainClaim) => {
      written = replaced.spec;
      return replaced;
    },
  });
  const claim: DomainClaim = {
    ...{apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: HOST, uid: 'u'}},
    spec: {account: 'us', namespace: 'ours', since: '2026-11-24T12:00:00Z', failures: ['2026-11-24T13:00:00Z']},
  };
  const certificate: Certificate = {
    ...{apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: {name: HOST, namespace: 'ours'}},
    spec: {secretName: HOST, issuerRef: row.issuer},
    status: {lastFailureTime: '2026-11-24T13:00:05Z'},
  };
  const view = domainView({host: HOST, namespace: 'ours', holder: 'us', claim, certificate});
  await claimHost({...operator, ...api}, view, {condition: DnsVerified.yes('right'), mayStart: true});
  expect((written ?? claim.spec).failures).toEqual(row.failures);
});
