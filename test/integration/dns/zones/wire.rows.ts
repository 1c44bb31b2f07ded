/** Faults on the way: each zone is on one server, behind a proxy that spoils its answers. */
import {FAULTS, type FaultName} from '../internet/plan.ts';
import {ALIAS, CNAME, PROOF, TARGET, TARGET_AAAA, type ZoneRow} from './zone-row.ts';

const VERIFIED = {reason: 'Verified', agreed: true} as const;
const UNREACHABLE = {reason: 'NameServersUnreachable', agreed: false} as const;

/** The verdict about a correct record and, if it is not positive, what its message must name. */
const expected: Record<FaultName, Pick<ZoneRow, 'want' | 'says'>> = {
  'drop-first': {want: VERIFIED},
  'drop-all': {want: UNREACHABLE, says: ['drop-all.ns-np.net', 'no answer']},
  delay: {want: VERIFIED},
  truncate: {want: VERIFIED},
  'truncate-no-tcp': {want: UNREACHABLE, says: ['truncate-no-tcp.ns-np.net', 'connection refused']},
  'truncate-tcp-silent': {want: UNREACHABLE, says: ['truncate-tcp-silent.ns-np.net', 'no answer']},
  'truncate-tcp-cut': {want: UNREACHABLE, says: ['truncate-tcp-cut.ns-np.net', 'connection closed']},
  'truncate-tcp-drip': {want: VERIFIED},
  'wrong-id': {want: UNREACHABLE, says: ['wrong-id.ns-np.net', 'no answer']},
  'wrong-question': {want: UNREACHABLE, says: ['wrong-question.ns-np.net', 'no answer']},
  garbage: {want: VERIFIED},
  'garbage-only': {want: UNREACHABLE, says: ['garbage-only.ns-np.net', 'malformed']},
  'cut-short': {want: UNREACHABLE, says: ['cut-short.ns-np.net', 'malformed']},
  duplicate: {want: VERIFIED},
  'forge-source': {want: UNREACHABLE, says: ['forge-source.ns-np.net', 'no answer']},
  'flip-bits': {want: {verified: false, agreed: false}},
  'split-brain': {want: {reason: 'ConflictingRecord', agreed: true}, says: ['next to a CNAME record', '2001:db8::7']},
  'no-edns': {want: VERIFIED},
  'query-back': {want: VERIFIED},
  'bare-formerr': {want: VERIFIED},
  'bare-notimp': {want: VERIFIED},
  'bare-servfail': {want: VERIFIED},
  'always-notimp': {want: UNREACHABLE, says: ['always-notimp.ns-np.net', 'does not support such queries (NOTIMP)']},
  // A CNAME stands for all types.
  'no-a': {want: VERIFIED},
  'aaaa-refused': {want: VERIFIED},
  'aaaa-notimp': {want: VERIFIED},
  'aaaa-servfail': {want: VERIFIED},
  'aaaa-silent': {want: VERIFIED},
};

export const wireRows: readonly ZoneRow[] = [
  ...FAULTS.map(
    (fault): ZoneRow => ({
      case: `${fault} on the wire`,
      zone: {at: [fault], records: CNAME, instead: {c: 'shop AAAA 2001:db8::7'}},
      ...expected[fault],
    }),
  ),
  ...FAULTS.filter(fault => expected[fault].want.reason === 'NameServersUnreachable').map(
    (fault): ZoneRow => ({
      case: `${fault} on the wire to one server of two`,
      zone: {at: ['a', fault], records: CNAME},
      want: {reason: 'Verified', agreed: false},
      says: [`No answer from ${fault}.ns-np.net`],
    }),
  ),
  ...(['aaaa-refused', 'aaaa-notimp'] as const).map(
    (fault): ZoneRow => ({
      case: `an apex on a server that has only IPv4 addresses: ${fault}`,
      zone: {at: [fault], records: `${ALIAS}\n${PROOF}`},
      host: 'ZONE',
      want: {...VERIFIED, proof: 'address-txt'},
    }),
  ),
  {
    case: 'an apex on a server that fails at IPv6 addresses',
    zone: {at: ['aaaa-servfail'], records: `${ALIAS}\n${PROOF}`},
    host: 'ZONE',
    want: {reason: 'Verified', agreed: false},
    says: ['aaaa-servfail.ns-np.net', 'server failure (SERVFAIL) for AAAA records'],
  },
  {
    case: 'an apex on a server that leaves queries for IPv6 addresses unanswered, so that one of them may be wrong',
    zone: {at: ['aaaa-silent'], records: `${ALIAS}\n${PROOF}`},
    host: 'ZONE',
    want: UNREACHABLE,
    says: ['aaaa-silent.ns-np.net'],
  },
  {
    case: 'an apex with only an IPv6 address, on a server that refuses queries for the others',
    zone: {at: ['no-a'], records: `@ AAAA ${TARGET_AAAA}\n${PROOF}`},
    host: 'ZONE',
    want: {...VERIFIED, proof: 'address-txt'},
  },
  {
    case: 'no record on a server that has only IPv4 addresses',
    zone: {at: ['aaaa-refused'], records: ''},
    want: {reason: 'RecordMissing', agreed: true},
  },
  {
    case: 'a CNAME to another target, with an address next to it',
    zone: {at: ['split-brain'], records: 'shop CNAME ns.right.com.', instead: {c: 'shop AAAA 2001:db8::7'}},
    want: {reason: 'ConflictingRecord'},
    says: ['Delete the AAAA record 2001:db8::7 of HOST', `change the CNAME record to HOST. CNAME ${TARGET}.`],
  },
];
