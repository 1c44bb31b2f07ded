/** Wildcards: only the delegated challenge of the name below which they are proves them. */
import type {CaaVerdict} from '../../../../src/dns/verdict/verdict.ts';
import {ALL, CNAME, PROOF, TARGET, TARGET_A, type ZoneRow} from './zone-row.ts';

const OWN = 'own.acme-np.net';
const TRAFFIC = `* CNAME ${TARGET}.`;
const DELEGATED = `_acme-challenge CNAME ${OWN}.`;
const CA = {caaIdentities: ['ca.example']};

const row = ({question, ...given}: ZoneRow): ZoneRow => ({
  host: '*.ZONE',
  ...given,
  question: {challenge: {name: '_acme-challenge.ZONE', target: OWN}, ...question},
});

export const wildcardRows: readonly ZoneRow[] = [
  row({
    case: 'a wildcard with its delegated challenge',
    zone: {at: ALL, records: `${TRAFFIC}\n${DELEGATED}`},
    want: {reason: 'Verified', proof: 'challenge', agreed: true, addressesOnly: false, zone: 'ZONE'},
    says: [`_acme-challenge.ZONE is delegated to ${OWN}`],
  }),
  row({
    case: 'a wildcard that its provider flattens',
    zone: {at: ALL, records: `* A ${TARGET_A}\n${DELEGATED}`},
    want: {reason: 'Verified', proof: 'challenge', agreed: true},
  }),
  row({
    case: 'a wildcard below a name of the zone',
    zone: {at: ALL, records: `*.shop CNAME ${TARGET}.\n_acme-challenge.shop CNAME ${OWN}.`},
    host: '*.shop.ZONE',
    question: {challenge: {name: '_acme-challenge.shop.ZONE', target: OWN}},
    want: {reason: 'Verified', proof: 'challenge', agreed: true},
  }),
  row({
    // attack: wildcard-over-host
    case: 'a wildcard that points to the account, and nothing else',
    zone: {at: ALL, records: TRAFFIC},
    want: {reason: 'ProofMissing', agreed: true},
    says: ['only the delegated ACME challenge proves a wildcard', `Create _acme-challenge.ZONE. CNAME ${OWN}.`],
  }),
  row({
    // attack: wildcard-over-host
    case: 'a wildcard with the TXT record of another proof',
    zone: {at: ALL, records: `${TRAFFIC}\n${PROOF}\n_nameplate.* TXT "np-proof-1"`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  row({
    // attack: wildcard-over-host
    case: 'a wildcard that would also be its own delegated challenge',
    zone: {at: ALL, records: `* CNAME ${OWN}.`},
    want: {verified: false},
  }),
  row({
    // attack: wildcard-over-host
    case: 'a delegated challenge that another wildcard makes',
    zone: {at: ALL, records: `* CNAME ${OWN}.\n*.shop CNAME ${TARGET}.`},
    host: '*.shop.ZONE',
    question: {challenge: {name: '_acme-challenge.shop.ZONE', target: OWN}},
    want: {verified: false},
  }),
  row({
    // attack: wildcard-over-host
    case: 'a delegated challenge of a host below the wildcard',
    zone: {at: ALL, records: `${TRAFFIC}\n_acme-challenge.shop CNAME ${OWN}.`},
    want: {reason: 'ProofMissing', agreed: true},
  }),
  row({
    // attack: leftover-record
    case: "a wildcard whose challenge is delegated to another account's name",
    zone: {at: ALL, records: `${TRAFFIC}\n_acme-challenge CNAME other.acme-np.net.`},
    want: {reason: 'ProofMissing', agreed: true},
    says: ['has the CNAME other.acme-np.net.'],
  }),
  row({
    // attack: leftover-record
    case: 'a delegated challenge whose wildcard points elsewhere',
    zone: {at: ALL, records: `* CNAME other.edge-np.net.\n${DELEGATED}`},
    want: {reason: 'RecordMismatch', agreed: true},
    says: [`Change it to *.ZONE. CNAME ${TARGET}.`],
  }),
  row({
    case: 'a delegated challenge, and no wildcard',
    zone: {at: ALL, records: `${CNAME}\n${DELEGATED}`},
    want: {reason: 'RecordMissing', agreed: true},
    says: [`Create *.ZONE. CNAME ${TARGET}.`, 'name "*"'],
  }),
  row({
    case: 'the delegated challenge of a wildcard at one server only',
    zone: {at: ['a', 'b'], records: `${TRAFFIC}\n${DELEGATED}`, instead: {b: TRAFFIC}},
    want: {reason: 'Propagating', agreed: false},
  }),
  row({
    case: 'CAA that forbids wildcards, and allows hosts',
    zone: {at: ALL, records: `${TRAFFIC}\n${DELEGATED}\n@ CAA 0 issue "ca.example"\n@ CAA 0 issuewild ";"`},
    question: CA,
    want: {reason: 'Verified', caa: {outcome: 'forbidden'} as CaaVerdict},
  }),
  row({
    case: 'CAA that allows wildcards, and forbids hosts',
    zone: {at: ALL, records: `${TRAFFIC}\n${DELEGATED}\n@ CAA 0 issue ";"\n@ CAA 0 issuewild "ca.example"`},
    question: CA,
    want: {reason: 'Verified', caa: {outcome: 'allowed'} as CaaVerdict},
  }),
];
