/** Faults on the way: each zone is on one server, behind a proxy that spoils its answers. */
import {FAULTS, type FaultName} from '../internet/plan.ts';
import {CNAME, TARGET, type ZoneRow} from './zone-row.ts';

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
  {
    case: 'a CNAME to another target, with an address next to it',
    zone: {at: ['split-brain'], records: 'shop CNAME ns.right.com.', instead: {c: 'shop AAAA 2001:db8::7'}},
    want: {reason: 'ConflictingRecord'},
    says: ['Delete the AAAA record 2001:db8::7 of HOST', `change the CNAME record to HOST. CNAME ${TARGET}.`],
  },
];
