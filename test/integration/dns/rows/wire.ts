/** What happens on the way: each zone is at one server, and its answers pass a proxy that spoils them. */
import {FAULTS, type FaultName} from '../internet/plan.ts';
import {CNAME, type Row, TARGET} from './row.ts';

const VERIFIED = {reason: 'Verified', agreed: true} as const;
const UNREACHABLE = {reason: 'NameServersUnreachable', agreed: false} as const;

/** What the verdict about a right record is, and what a message that is not content must name. */
const expected: Record<FaultName, Pick<Row, 'want' | 'says'>> = {
  'drop-first': {want: VERIFIED},
  'drop-all': {want: UNREACHABLE, says: ['no answer']},
  delay: {want: VERIFIED},
  truncate: {want: VERIFIED},
  'truncate-no-tcp': {want: UNREACHABLE, says: ['connection refused']},
  'truncate-tcp-silent': {want: UNREACHABLE, says: ['no answer']},
  'truncate-tcp-cut': {want: UNREACHABLE, says: ['connection closed']},
  'truncate-tcp-drip': {want: VERIFIED},
  'wrong-id': {want: UNREACHABLE, says: ['no answer']},
  'wrong-question': {want: UNREACHABLE, says: ['no answer']},
  garbage: {want: VERIFIED},
  'garbage-only': {want: UNREACHABLE, says: ['malformed']},
  'cut-short': {want: UNREACHABLE, says: ['malformed']},
  duplicate: {want: VERIFIED},
  'forge-source': {want: UNREACHABLE, says: ['no answer']},
  'flip-bits': {want: {verified: false, agreed: false}},
  'split-brain': {want: {reason: 'ConflictingRecord', agreed: true}, says: ['beside a CNAME record', '192.0.2.7']},
  'no-edns': {want: VERIFIED},
  'query-back': {want: VERIFIED},
};

export const wireRows: readonly Row[] = [
  ...FAULTS.map(
    (fault): Row => ({
      case: `${fault} on the wire`,
      zone: {at: [fault], records: CNAME, instead: {c: 'shop A 192.0.2.7'}},
      ...expected[fault],
      ...(expected[fault].want.verified === undefined &&
        expected[fault].want.reason !== 'Verified' && {
          says: [`${fault}.ns-np.net`, ...(expected[fault].says ?? [])],
        }),
    }),
  ),
  ...FAULTS.filter(fault => expected[fault].want.reason === 'NameServersUnreachable').map(
    (fault): Row => ({
      case: `${fault} on the wire to one server of two`,
      zone: {at: ['a', fault], records: CNAME},
      want: {reason: 'Verified', agreed: false},
      says: [`No answer from ${fault}.ns-np.net`],
    }),
  ),
  {
    case: 'a CNAME to another target, with an address beside it',
    zone: {at: ['split-brain'], records: 'shop CNAME ns.right.com.', instead: {c: 'shop A 192.0.2.7'}},
    want: {reason: 'ConflictingRecord'},
    says: ['Delete the A record 192.0.2.7 of HOST', `change the CNAME record to HOST. CNAME ${TARGET}.`],
  },
];
