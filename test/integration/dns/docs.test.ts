/** docs/dns.md quotes the verifier's messages. UPDATE_DOCS=1 rewrites them between the markers. */
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Verdict} from '../../../src/dns/verdict/verdict.ts';
import type {ZoneSpec} from './internet/plan.ts';
import {type Internet, startInternet} from './internet.ts';
import {ALIAS, CNAME, CONFIRMED, PROOF, questionAbout, SHARED, TARGET} from './zones/zone-row.ts';

const DOCS = join(import.meta.dirname, '../../../docs/dns.md');
const [BEGIN, END] = ['<!-- faults: begin -->', '<!-- faults: end -->'];

interface Fault {
  readonly title: string;
  /** What the zone contains, or which servers hold it. */
  readonly found: string;
  readonly zone: Omit<ZoneSpec, 'name'>;
  readonly apex?: true;
  readonly confirmed?: true;
  /** The message of this condition is shown; DNSVerified by default. */
  readonly condition?: 'CAAAllowed';
}

const both = ['a', 'b'] as const;
const faults: readonly Fault[] = [
  {title: 'There is no record yet', found: 'nothing at `shop`', zone: {at: both, records: ''}},
  {
    title: 'An address instead of the CNAME',
    found: "`shop A 192.0.2.7`, perhaps from the provider's proxy",
    zone: {at: both, records: 'shop A 192.0.2.7'},
  },
  {
    title: 'The value lacks its final dot',
    found: '`shop CNAME acct.edge.example.net`, to which the provider adds the zone',
    zone: {at: both, records: `shop CNAME ${TARGET}`},
  },
  {
    title: 'A wildcard',
    found: '`* A 192.0.2.77`, and nothing at `shop`',
    zone: {at: both, records: '* A 192.0.2.77'},
  },
  {
    title: 'The full name in the form',
    found: '`shop.example.com CNAME acct.edge.example.net.`, to which the provider adds the zone',
    zone: {at: both, records: `shop.ZONE CNAME ${TARGET}.`},
  },
  {
    title: 'A CNAME to somewhere else',
    found: '`shop CNAME www`, the name of another host',
    zone: {at: both, records: 'shop CNAME www\nwww A 192.0.2.99'},
  },
  {title: 'An apex without its TXT record', found: 'only the ALIAS', zone: {at: both, records: ALIAS}, apex: true},
  {
    title: 'A forgotten IPv6 address at the apex',
    found: 'the ALIAS and the TXT, and an old AAAA record',
    zone: {at: both, records: `${ALIAS}\n@ AAAA 2001:db8::66\n${PROOF}`},
    apex: true,
  },
  {
    title: 'One name server still has the old record',
    found: 'the correct CNAME at one server, an address at the other',
    zone: {at: both, records: CNAME, instead: {b: 'shop A 192.0.2.7'}},
  },
  {title: 'The name servers do not answer', found: 'no answer', zone: {at: ['silent'], records: CNAME}},
  {
    title: 'The registrar lists the wrong name servers',
    found: 'name servers that do not have the zone',
    zone: {at: ['stranger'], records: CNAME},
  },
  {
    title: 'The domain is misspelled or not registered',
    found: 'nothing at the registry',
    zone: {at: both, records: CNAME, delegation: ''},
  },
  {
    title: 'DNSSEC is broken',
    found: 'a DS record at the registrar for a zone that is not signed',
    zone: {at: both, records: CNAME, bogus: true},
    confirmed: true,
  },
  {
    title: 'A CAA record blocks the certificate authority',
    found: '`@ CAA 0 issue "other.example"`',
    zone: {at: both, records: `${CNAME}\n@ CAA 0 issue "other.example"`},
    condition: 'CAAAllowed',
  },
];
const zoneOf = (index: number) => `fault${index}.com`;

let internet: Internet;
beforeAll(async () => {
  const zones = faults.map(({zone}, n): ZoneSpec => {
    return {name: zoneOf(n), ...zone, records: zone.records.replaceAll('ZONE', zoneOf(n))};
  });
  internet = await startInternet([...SHARED, ...zones]);
});
afterAll(() => internet?.stop());

/** Replaces names with those that a reader knows. */
function readable(text: string, zone: string): string {
  const names: Record<string, string> = {
    [zone]: 'example.com',
    'edge-np.net': 'edge.example.net',
    'a.ns-np.net': 'ns1.provider.net',
    'b.ns-np.net': 'ns2.provider.net',
    'silent.ns-np.net': 'ns1.provider.net',
    'stranger.ns-np.net': 'ns1.provider.net',
    'ca.example': 'letsencrypt.org',
  };
  return Object.entries(names).reduce((result, [from, to]) => result.replaceAll(from, to), text);
}

function section({title, found, condition}: Fault, verdict: Verdict, zone: string): string {
  const {outcome, message} = verdict.caa;
  const shown =
    condition === undefined
      ? `DNSVerified  ${verdict.reason}\n${verdict.message}`
      : `CAAAllowed  ${outcome === 'forbidden' ? 'Forbidden' : outcome}\n${message}`;
  return `### ${title}\n\nFound: ${found}.\n\n\`\`\`text\n${readable(shown, zone)}\n\`\`\`\n`;
}

test('docs/dns.md quotes the messages', async () => {
  const sections = await Promise.all(
    faults.map(async (fault, n) => {
      const host = fault.apex ? zoneOf(n) : `shop.${zoneOf(n)}`;
      const question = {...questionAbout(host), caaIdentities: ['ca.example']};
      return section(fault, await internet.verify(question, fault.confirmed ? CONFIRMED : {}), zoneOf(n));
    }),
  );
  const page = await readFile(DOCS, 'utf8');
  const [head = '', rest = ''] = page.split(BEGIN);
  const tail = rest.split(END)[1] ?? '';
  const want = `${head}${BEGIN}\n\n${sections.join('\n')}\n${END}${tail}`;
  if (process.env.UPDATE_DOCS) await writeFile(DOCS, want);
  else expect(page).toBe(want);
});
