/** Names that have only addresses. */
import {ALIAS, ALL, PROOF, TARGET_A, TARGET_AAAA, TOKEN, type ZoneRow} from './zone-row.ts';

const apex = (row: Omit<ZoneRow, 'host'>): ZoneRow => ({...row, host: 'ZONE'});

export const apexRows: readonly ZoneRow[] = [
  apex({
    case: 'an apex, right',
    zone: {at: ALL, records: `${ALIAS}\n${PROOF}`},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true, addressesOnly: true, txtValues: [TOKEN]},
  }),
  apex({
    case: 'an apex with all addresses of the target',
    zone: {at: ALL, records: `${ALIAS}\n@ AAAA ${TARGET_AAAA}\n${PROOF}`},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true},
  }),
  apex({
    // attack: leftover-record
    case: 'an apex without TXT',
    zone: {at: ALL, records: ALIAS},
    want: {reason: 'ProofMissing', agreed: true, addressesOnly: true},
    says: ['Create _nameplate.HOST. TXT "np-proof-1"', 'name "_nameplate"', 'but not that it is yours'],
  }),
  apex({
    // attack: leftover-record
    case: "an apex with another account's TXT",
    zone: {at: ALL, records: `${ALIAS}\n_nameplate TXT "other"`},
    want: {reason: 'ProofMissing', agreed: true, txtValues: ['other']},
    says: ['only "other"'],
  }),
  apex({
    // attack: hostile-dns
    case: 'an apex with a TXT that would break a terminal',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate TXT "\\027[31m\\010\\"x"`},
    want: {reason: 'ProofMissing', agreed: true, txtValues: ['\\027[31m\\010\\"x']},
    says: ['\\027[31m\\010'],
  }),
  apex({
    case: 'an apex with the token in another case',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate TXT "NP-PROOF-1"`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  apex({
    case: 'an apex with the token inside of a longer text',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate TXT "x${TOKEN}"\n_nameplate TXT "${TOKEN}x"`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  apex({
    case: 'an apex with two TXT records, ours in two strings',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate TXT "other"\n_nameplate TXT "np-" "proof-1"`},
    want: {reason: 'Verified', agreed: true, txtValues: [TOKEN, 'other']},
  }),
  apex({
    // attack: disputed-host
    case: 'an apex with TXT at one server only',
    zone: {at: ['a', 'b'], records: `${ALIAS}\n${PROOF}`, instead: {b: ALIAS}},
    want: {reason: 'Propagating', agreed: false},
    says: ['_nameplate.HOST', 'not yet at b.ns-np.net'],
  }),
  apex({
    // attack: disputed-host
    case: 'an apex with TXT by wildcard',
    zone: {at: ALL, records: `${ALIAS}\n* TXT "${TOKEN}"`},
    want: {reason: 'ProofMissing'},
    says: ['wildcard'],
  }),
  apex({
    // attack: disputed-host
    case: 'an apex with TXT over a CNAME',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate CNAME proof\nproof TXT "${TOKEN}"`},
    want: {reason: 'ProofMissing'},
    says: [
      '_nameplate.HOST has _nameplate.HOST. CNAME proof.HOST. at',
      'in its place. Delete it.',
      'Create _nameplate.HOST. TXT',
    ],
  }),
  apex({
    case: 'an apex whose proof has a CNAME to another zone',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate CNAME x.dead.com.`},
    want: {reason: 'ProofMissing'},
    says: ['CNAME x.dead.com.', 'Delete it.'],
  }),
  apex({
    case: 'an apex whose proof has the CNAME of a wildcard',
    zone: {at: ALL, records: `${ALIAS}\n* CNAME ns.right.com.`},
    want: {reason: 'ProofMissing'},
    says: ['CNAME ns.right.com.', 'comes from the wildcard *.HOST', 'Create _nameplate.HOST. TXT'],
  }),
  apex({
    case: 'an apex with the name of the TXT record typed twice',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate.ZONE TXT "${TOKEN}"`},
    want: {reason: 'ProofMissing', agreed: true},
    says: ['there is one for _nameplate.HOST.HOST', 'enter only "_nameplate" as the name'],
  }),
  apex({
    case: 'an apex whose TXT is in a zone that nobody answers for',
    zone: {at: ALL, records: `${ALIAS}\n_nameplate NS silent.ns-np.net.`},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['no name server answered the query for _nameplate.HOST'],
  }),
  apex({
    case: 'more TXT records than a datagram holds',
    zone: {
      at: ALL,
      records: [ALIAS, PROOF, ...Array.from({length: 40}, (_, n) => `_nameplate TXT "${n}${'x'.repeat(90)}"`)].join(
        '\n',
      ),
    },
    want: {reason: 'Verified', proof: 'address-txt', agreed: true},
  }),
  apex({
    case: 'an apex where the address is enough',
    zone: {at: ALL, records: ALIAS},
    question: {apexProof: 'address'},
    want: {reason: 'Verified', proof: 'address', agreed: true},
  }),
  apex({
    case: 'an apex at another address, where the address is enough',
    zone: {at: ALL, records: '@ A 192.0.2.99'},
    question: {apexProof: 'address'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['HOST. A 192.0.2.99', 'ALIAS'],
  }),
  apex({
    case: 'an apex at another address',
    zone: {at: ALL, records: `@ A 192.0.2.99\n${PROOF}`},
    want: {reason: 'RecordMismatch', agreed: true},
    says: [
      'HOST. A 192.0.2.99, but acct.edge-np.net resolves to different addresses',
      'Delete the returned records and create an ALIAS record',
    ],
  }),
  apex({
    case: 'an apex with a foreign A next to a correct one',
    zone: {at: ALL, records: `${ALIAS}\n@ A 192.0.2.99\n${PROOF}`},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the A record 192.0.2.99 of HOST'],
  }),
  apex({
    case: 'a foreign AAAA next to a correct A',
    zone: {at: ALL, records: `${ALIAS}\n@ AAAA 2001:db8::66\n${PROOF}`},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the AAAA record 2001:db8::66 of HOST', 'so some visitors do not reach this platform'],
  }),
  apex({
    case: 'an apex without records',
    zone: {at: ALL, records: ''},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['ALIAS record', '_nameplate.HOST. TXT "np-proof-1"'],
  }),
  apex({
    case: 'an apex without records, on a platform with fixed addresses',
    zone: {at: ALL, records: ''},
    question: {apexAddresses: [TARGET_A, TARGET_AAAA]},
    want: {reason: 'RecordMissing', agreed: true},
    says: [`(or, if your provider has none, HOST. A ${TARGET_A} and HOST. AAAA ${TARGET_AAAA})`],
  }),
  apex({
    case: 'a zone cut at a name that is no apex by the Public Suffix List',
    zone: {name: 'cut.right.com', parent: 'right.com', at: ALL, records: `${ALIAS}\n${PROOF}`},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true, addressesOnly: true},
  }),
  {
    case: 'a flattened name',
    zone: {at: ALL, records: `shop A ${TARGET_A}\n_nameplate.shop TXT "${TOKEN}"`},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true, addressesOnly: true},
  },
  {
    case: 'a flattened name without TXT',
    zone: {at: ALL, records: `shop A ${TARGET_A}`},
    want: {reason: 'ProofMissing', agreed: true, addressesOnly: true},
    says: ['Create _nameplate.HOST. TXT', 'or replace the addresses with HOST. CNAME'],
  },
  {
    case: 'a name that one server flattens and another does not',
    zone: {
      at: ['a', 'b'],
      records: `shop CNAME acct.edge-np.net.\n_nameplate.shop TXT "${TOKEN}"`,
      instead: {b: `shop A ${TARGET_A}\n_nameplate.shop TXT "${TOKEN}"`},
    },
    want: {reason: 'Verified', proof: 'address-txt'},
  },
  {
    // A name with a CNAME can have names below it, like any other.
    case: 'a CNAME to an apex that is flattened',
    zone: {at: ALL, records: `shop CNAME @\n${ALIAS}\n_nameplate.shop TXT "${TOKEN}"`},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true},
  },
];
