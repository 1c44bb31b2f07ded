/** Names that have only addresses, and a delegated challenge in place of the TXT record. */
import {ALIAS, ALL, PROOF, TARGET_A, TOKEN, type ZoneRow} from './zone-row.ts';

const OWN = 'own.acme-np.net';
const DELEGATED = `_acme-challenge CNAME ${OWN}.`;

const row = (given: Omit<ZoneRow, 'question'>): ZoneRow => ({
  host: 'ZONE',
  ...given,
  question: {challenge: {name: '_acme-challenge.HOST', target: OWN}},
});

export const challengeRows: readonly ZoneRow[] = [
  row({
    case: 'a delegated challenge at an apex',
    zone: {at: ALL, records: `${ALIAS}\n${DELEGATED}`},
    want: {reason: 'Verified', proof: 'challenge', agreed: true, addressesOnly: true, txtValues: []},
    says: [`_acme-challenge.HOST is delegated to ${OWN}`],
  }),
  row({
    case: 'a delegated challenge in mixed letter case',
    zone: {at: ALL, records: `${ALIAS}\n_ACME-Challenge CNAME Own.Acme-NP.net.`},
    want: {reason: 'Verified', proof: 'challenge', agreed: true},
  }),
  row({
    case: 'a delegated challenge of a name that is flattened',
    zone: {at: ALL, records: `shop A ${TARGET_A}\n_acme-challenge.shop CNAME ${OWN}.`},
    host: 'shop.ZONE',
    want: {reason: 'Verified', proof: 'challenge', agreed: true},
  }),
  row({
    case: 'a delegated challenge and the TXT record',
    zone: {at: ALL, records: `${ALIAS}\n${PROOF}\n${DELEGATED}`},
    want: {reason: 'Verified', proof: 'address-txt', agreed: true, txtValues: [TOKEN]},
  }),
  row({
    case: "a delegated challenge and another account's TXT record",
    zone: {at: ALL, records: `${ALIAS}\n_nameplate TXT "other"\n${DELEGATED}`},
    want: {reason: 'Verified', proof: 'challenge', agreed: true, txtValues: ['other']},
  }),
  row({
    case: 'neither the TXT record nor a delegated challenge',
    zone: {at: ALL, records: ALIAS},
    want: {reason: 'ProofMissing', agreed: true},
    says: [
      'Create _nameplate.HOST. TXT',
      `Or delegate the ACME challenge instead: create _acme-challenge.HOST. CNAME ${OWN}.`,
    ],
  }),
  row({
    // attack: leftover-record
    case: "a challenge that is delegated to another account's name",
    zone: {at: ALL, records: `${ALIAS}\n_acme-challenge CNAME other.acme-np.net.`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  row({
    // attack: disputed-host
    case: 'a challenge that a wildcard delegates',
    zone: {at: ALL, records: `${ALIAS}\n* CNAME ${OWN}.`},
    want: {reason: 'ProofMissing'},
    says: ['The CNAME of _acme-challenge.HOST comes from a wildcard record'],
  }),
  row({
    // attack: disputed-host
    case: 'a challenge that a wildcard below the name delegates',
    zone: {at: ALL, records: `shop A ${TARGET_A}\n*.shop CNAME ${OWN}.`},
    host: 'shop.ZONE',
    want: {reason: 'ProofMissing'},
    says: ['wildcard'],
  }),
  row({
    // attack: disputed-host
    case: 'a challenge that is delegated by way of another name',
    zone: {at: ALL, records: `${ALIAS}\n_acme-challenge CNAME there\nthere CNAME ${OWN}.`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  row({
    case: 'a challenge that is delegated by way of a chain without an end',
    zone: {at: ALL, records: `${ALIAS}\n_acme-challenge CNAME x.there.com.`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  row({
    // attack: disputed-host
    case: 'a delegated challenge at one server only',
    zone: {at: ['a', 'b'], records: `${ALIAS}\n${DELEGATED}`, instead: {b: ALIAS}},
    want: {reason: 'Propagating', agreed: false},
    says: ['The CNAME record of _acme-challenge.HOST', 'not yet at b.ns-np.net'],
  }),
  row({
    case: 'a delegated challenge that was typed twice',
    zone: {at: ALL, records: `${ALIAS}\n_acme-challenge.ZONE CNAME ${OWN}.`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  row({
    case: 'a challenge in a zone that nobody answers for',
    zone: {at: ALL, records: `${ALIAS}\n_acme-challenge NS silent.ns-np.net.`},
    want: {reason: 'ProofMissing', agreed: false},
  }),
  row({
    case: 'a delegated challenge at an apex with other addresses',
    zone: {at: ALL, records: `@ A 192.0.2.99\n${DELEGATED}`},
    want: {reason: 'RecordMismatch', agreed: true},
  }),
  row({
    case: 'CAA records that allow only HTTP, and a delegated challenge',
    zone: {at: ALL, records: `${ALIAS}\n${DELEGATED}\n@ CAA 0 issue "ca.example; validationmethods=http-01"`},
    want: {reason: 'Verified', proof: 'challenge'},
  }),
];
