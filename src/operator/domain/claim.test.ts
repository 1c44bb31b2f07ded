import {expect, test} from 'vitest';
import type {DnsCheck, Verdict} from '../../dns/dns.ts';
import {claimHost} from './claim.ts';
import {DnsVerified} from './conditions.ts';
import type {DomainContext} from './context.ts';
import type {DomainView} from './view.ts';

const HOST = 'shop.example.com';
const KNOWN_SINCE = 1000;

/** The condition of a Domain whose account is verified while another account holds the host. */
async function claimOf(verdict: Partial<Verdict>, startedAt = KNOWN_SINCE + 1, namespace = 'theirs'): Promise<string> {
  const context = {
    stores: {domains: new Map()},
    names: {proofToken: () => 'np-theirs'},
    knownSince: {of: () => KNOWN_SINCE},
    client: {replace: (_: unknown, claim: object) => Promise.resolve(claim)},
  } as unknown as DomainContext;
  const base: Partial<Verdict> = {verified: true, agreed: true, proof: 'cname', txtValues: [], observed: []};
  const view = {
    host: HOST,
    namespace: 'ours',
    account: {id: 'us'},
    holder: 'another',
    claim: {metadata: {name: HOST, uid: 'u'}, spec: {account: 'them', namespace, since: '2026-11-24T12:00:00Z'}},
    question: {host: HOST, target: 'us.edge.test', txtName: `_nameplate.${HOST}`, txtValue: 'np-us', apexProof: 'txt'},
    check: {startedAt, verdict: {...base, ...verdict}} as DnsCheck,
    domain: {},
    nowMs: 0,
  } as unknown as DomainView;
  const proof = {condition: DnsVerified.yes('right'), mayStart: verdict.verified ?? true};
  const {condition} = await claimHost(context, view, proof);
  return `${condition.reason}: ${condition.message}`;
}

test('the host moves once all name servers show the record', async () => {
  expect(await claimOf({})).toMatch(/^Claimed: /);
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
  expect(await claimOf({verified: false})).toContain(`change its DNS to ${HOST} CNAME us.edge.test`);
});
