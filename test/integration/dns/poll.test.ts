/** What a poll sees of the changes that a tenant makes, and what it must not wake a check for. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {DnsConfig} from '../../../src/dns/config.ts';
import type {PollResult} from '../../../src/dns/verdict/poll.ts';
import type {DnsReason, ProofQuestion, Verdict} from '../../../src/dns/verdict/verdict.ts';
import {until} from '../../cluster/wait.ts';
import type {ZoneSpec} from './internet/plan.ts';
import {type Internet, startInternet} from './internet.ts';
import {ALIAS, ALL, CNAME, CONFIRMED, PROOF, questionAbout, RECURSIVE, SHARED, TARGET} from './zones/zone-row.ts';

interface Row {
  readonly change: string;
  readonly before: string;
  readonly reason: DnsReason;
  readonly after: string;
  /** `shop` by default; empty for the apex. */
  readonly label?: string;
  readonly question?: Partial<ProofQuestion>;
  readonly config?: Partial<DnsConfig>;
  /** Before the first check and before the change, the resolver is queried. */
  readonly cached?: true;
}

const DELEGATED = {name: '_acme-challenge.p5.com', target: 'challenge.edge-np.net'};
const rows: readonly Row[] = [
  {change: 'the record is created', before: '', reason: 'RecordMissing', after: CNAME},
  {change: 'the record is corrected', before: 'shop CNAME www', reason: 'RecordMismatch', after: CNAME},
  {change: 'an address gives way to the record', before: 'shop A 192.0.2.7', reason: 'ConflictingRecord', after: CNAME},
  {
    change: 'a forgotten IPv6 address is deleted',
    before: `${ALIAS}\n${PROOF}\n@ AAAA 2001:db8::66`,
    reason: 'ConflictingRecord',
    after: `${ALIAS}\n${PROOF}`,
    label: '',
  },
  {change: 'the TXT record is created', before: ALIAS, reason: 'ProofMissing', after: `${ALIAS}\n${PROOF}`, label: ''},
  {
    change: 'the challenge is delegated',
    before: ALIAS,
    reason: 'ProofMissing',
    after: `${ALIAS}\n_acme-challenge CNAME ${DELEGATED.target}.`,
    label: '',
    question: {challenge: DELEGATED},
  },
  {
    change: 'the end of a chain is corrected',
    before: 'shop CNAME www\nwww A 192.0.2.7',
    reason: 'RecordMismatch',
    after: `shop CNAME www\nwww CNAME ${TARGET}.`,
  },
  {
    change: 'the record is created that the resolver does not know yet',
    before: '',
    reason: 'RecordMissing',
    after: CNAME,
    cached: true,
  },
];
const zone = (n: number, records: string): ZoneSpec => ({name: `p${n}.com`, at: ALL, records, negativeTtl: 300});
const LAGGING: ZoneSpec = {name: 'lagging.com', at: ALL, records: CNAME, instead: {c: ''}};

let internet: Internet;
beforeAll(async () => {
  const named = ['confirmed.com', 'resolved.com'].map(name => ({name, at: ALL, records: ''}));
  internet = await startInternet([...SHARED, ...named, LAGGING, ...rows.map(({before}, n) => zone(n, before))]);
});
afterAll(() => internet?.stop());

/** On a busy machine, an answer may be late. */
function poll(verdict: Verdict, config: Partial<DnsConfig>): Promise<PollResult> {
  return until('the servers answer', async () => {
    const result = await internet.poll(verdict, config);
    return result === 'silent' ? undefined : result;
  });
}

describe.each(rows.map((row, n) => ({...row, n})))('when $change, a poll', row => {
  const {n, before, after, reason, label = 'shop', config = {}} = row;
  const question = questionAbout([label, `p${n}.com`].filter(Boolean).join('.'), row.question);

  test('finds a change, and not before', async () => {
    if (row.cached) expect(await internet.resolve(question.host, 'CNAME')).toEqual([]);
    const missing = await internet.verify(question, config);
    expect(missing).toMatchObject({reason, verified: false});
    await internet.change(zone(n, `${before}\nother TXT "of no concern"`));
    expect(await poll(missing, config)).toBe('same');
    await internet.change(zone(n, after));
    expect(await poll(missing, config)).toBe('changed');
    expect(await internet.verify(question, config)).toMatchObject({reason: 'Verified'});
  });
});

test('while one name server lags behind, a poll waits for that one', async () => {
  const question = questionAbout('shop.lagging.com');
  const lagging = await internet.verify(question, {});
  expect(lagging).toMatchObject({reason: 'Propagating'});
  expect(await poll(lagging, {})).toBe('same');
  const {instead: _, ...caughtUp} = LAGGING;
  await internet.change(caughtUp);
  expect(await poll(lagging, {})).toBe('changed');
});

test('while a resolver that must confirm has an old answer, a poll waits for the resolver', async () => {
  const question = questionAbout('shop.confirmed.com');
  expect(await internet.resolve(question.host, 'A')).toEqual([]);
  await internet.change({name: 'confirmed.com', at: ALL, records: CNAME});
  const held = await internet.verify(question, CONFIRMED);
  expect(held).toMatchObject({reason: 'Propagating', signs: {records: [{recursive: true}]}});
  expect(await poll(held, CONFIRMED)).toBe('same');
});

test('a resolver is not polled about a record that may not exist yet', async () => {
  const verdict = await internet.verify(questionAbout('shop.resolved.com'), RECURSIVE);
  expect(verdict).toMatchObject({reason: 'RecordMissing'});
  expect(verdict.signs).toBeUndefined();
});

test('neither a fault that may pass nor a proof is polled', async () => {
  for (const host of ['shop.dead.com', 'shop.right.com']) {
    expect((await internet.verify(questionAbout(host), {})).signs).toBeUndefined();
  }
});
