/** With a recursive resolver, instead of the authoritative servers or to confirm their answers. */
import {SERVERS} from '../internet/plan.ts';
import {ALIAS, ALL, CNAME, CONFIRMED, NO_EGRESS, PROOF, RECURSIVE, type ZoneRow} from './zone-row.ts';

const OLD = ['shop.ZONE. 300 IN A 192.0.2.7'];

export const resolverRows: readonly ZoneRow[] = [
  {
    case: 'a correct record, from a resolver',
    zone: {at: ALL, records: CNAME},
    config: RECURSIVE,
    want: {reason: 'Verified', proof: 'cname'},
    says: ['9.9.9.9'],
  },
  {
    case: 'a right apex, by a resolver',
    zone: {at: ALL, records: `${ALIAS}\n${PROOF}`},
    host: 'ZONE',
    config: RECURSIVE,
    want: {reason: 'Verified', proof: 'address-txt'},
  },
  {
    case: 'an old record, by a resolver',
    zone: {at: ALL, records: CNAME, resolverSays: OLD},
    config: RECURSIVE,
    want: {reason: 'ConflictingRecord'},
    says: ['192.0.2.7'],
  },
  {
    case: 'no record, by a resolver',
    zone: {at: ALL, records: ''},
    config: RECURSIVE,
    want: {reason: 'RecordMissing', agreed: true},
  },
  {
    case: 'dead servers, by a resolver',
    zone: {at: ['closed'], records: CNAME},
    config: RECURSIVE,
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['9.9.9.9'],
  },
  {
    case: 'broken DNSSEC, by a resolver',
    zone: {at: ALL, records: CNAME, bogus: true},
    config: RECURSIVE,
    want: {reason: 'Bogus', agreed: false},
    says: ['DNSSEC validation of HOST fails at 9.9.9.9', 'DS record at your registrar'],
  },
  {
    case: 'broken DNSSEC, as a resolver sees what the zone has',
    zone: {at: ALL, records: CNAME, bogus: true},
    config: CONFIRMED,
    want: {reason: 'Bogus', verified: false, agreed: false},
    says: ['DS record at your registrar'],
  },
  {
    case: "broken DNSSEC, as the system's resolver sees what the zone has",
    zone: {at: ALL, records: CNAME, bogus: true},
    want: {reason: 'Bogus', verified: false, agreed: false},
    says: ['DNSSEC validation of HOST fails at 9.9.9.9', 'DS record at your registrar'],
  },
  {
    case: "a correct record that the system's resolver does not have yet",
    zone: {at: ALL, records: CNAME, resolverSays: OLD},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a correct record that a resolver does not have yet',
    zone: {at: ALL, records: CNAME, resolverSays: OLD},
    config: CONFIRMED,
    want: {reason: 'Propagating', agreed: false},
    says: ['the resolver 9.9.9.9 still has the old answer 192.0.2.7'],
  },
  {
    case: 'a correct record that a resolver also has',
    zone: {at: ALL, records: CNAME},
    config: CONFIRMED,
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a correct record, and a dead resolver',
    zone: {at: ALL, records: CNAME},
    config: {recursives: [SERVERS.silent[0]]},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a correct record, with the path to all authoritative servers blocked',
    zone: {at: ALL, records: CNAME},
    config: NO_EGRESS,
    want: {reason: 'Verified', agreed: false},
  },
  {
    case: 'no record, with the way to all authoritative servers closed',
    zone: {at: ALL, records: ''},
    config: NO_EGRESS,
    want: {reason: 'RecordMissing', agreed: false},
  },
  {
    case: 'a zone whose own servers are dead while a resolver still has it cached',
    zone: {at: ['closed'], records: CNAME, resolverSays: ['shop.ZONE. 300 IN CNAME acct.edge-np.net.']},
    config: CONFIRMED,
    want: {reason: 'NameServersUnreachable', agreed: false},
  },
  {
    case: 'anything, with all ways closed',
    zone: {at: ALL, records: CNAME},
    config: {mode: 'authoritative', rootServers: [SERVERS.closed[0]]},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['egress to port 53', 'dns.mode'],
  },
  {
    case: 'anything, with all ways closed in auto mode',
    zone: {at: ALL, records: CNAME},
    config: {rootServers: [SERVERS.closed[0]], recursives: [SERVERS.closed[0]]},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['No resolver of the platform answered', '20.10.0.1'],
  },
];
