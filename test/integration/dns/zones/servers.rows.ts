/** Who answers, and how the zone is delegated. */
import {SERVERS} from '../internet/plan.ts';
import {ALL, CNAME, STRICT, type ZoneRow} from './zone-row.ts';

const forbidden = (address: string): ZoneRow => ({
  case: `a name server at ${address}`,
  zone: {
    at: ['a'],
    records: CNAME,
    delegation: `ZONE. NS ns.ZONE.\nns.ZONE. ${address.includes(':') ? 'AAAA' : 'A'} ${address}`,
  },
  want: {reason: 'DelegationBroken', agreed: false},
  says: ['ns.ZONE', 'not a public address', 'set the correct name servers at your registrar'],
});

export const FORBIDDEN = [
  '127.0.0.1',
  '10.0.0.10',
  '100.64.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '192.168.0.1',
  '224.0.0.1',
  '0.0.0.0',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::1',
  'fd00::10',
  'fe80::1',
] as const;

export const serverRows: readonly ZoneRow[] = [
  {
    case: 'one dead server of four',
    zone: {at: [...STRICT, 'silent'], records: CNAME},
    want: {reason: 'Verified', agreed: false},
    says: ['No answer from silent.ns-np.net (20.9.0.1): no answer'],
  },
  {
    case: 'three dead servers of four',
    zone: {at: ['a', 'silent', 'closed', 'stranger'], records: CNAME},
    want: {reason: 'Verified', agreed: false},
    says: ['silent.ns-np.net', 'closed.ns-np.net', 'stranger.ns-np.net'],
  },
  {
    case: 'one server of two that refuses',
    zone: {at: ['a', 'stranger'], records: CNAME},
    want: {reason: 'Verified', agreed: false},
    says: ['stranger.ns-np.net', 'refuses'],
  },
  ...STRICT.map(
    (server): ZoneRow => ({
      case: `SERVFAIL of ${server} beside servers that are well`,
      zone: {at: ALL, records: CNAME, instead: {[server]: 'BROKEN'}},
      want: {reason: 'Verified', agreed: false},
      says: [`No answer from ${server}.ns-np.net`, 'SERVFAIL'],
    }),
  ),
  {
    case: 'missing, and one server dead',
    zone: {at: ['a', 'silent'], records: 'other A 192.0.2.1'},
    want: {reason: 'RecordMissing', agreed: false},
  },
  {
    case: 'one server that still has the old address',
    zone: {at: ALL, records: CNAME, instead: {b: 'shop A 192.0.2.7'}},
    want: {reason: 'Propagating', agreed: false},
    says: ['b.ns-np.net (20.2.0.1)', 'is still HOST. A 192.0.2.7', 'No action needed'],
  },
  {
    case: 'one server that has no record yet',
    zone: {at: ALL, records: CNAME, instead: {d: ''}},
    want: {reason: 'Propagating', agreed: false},
    says: ['d.ns-np.net (20.4.0.1)', 'is still no record'],
  },
  {
    case: 'one server that has another type only',
    zone: {at: ALL, records: CNAME, instead: {c: 'shop TXT "hello"'}},
    want: {reason: 'Propagating', agreed: false},
    says: ['c.ns-np.net (20.3.0.1)'],
  },
  {
    case: 'one of four servers has the correct record',
    zone: {at: ALL, records: '', instead: {c: CNAME}},
    want: {reason: 'Propagating', agreed: false},
    says: ['The correct record is at c.ns-np.net'],
  },
  {
    case: 'all servers silent',
    zone: {at: ['silent'], records: CNAME},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['silent.ns-np.net (20.9.0.1): no answer', 'ask your DNS provider'],
  },
  {
    case: 'all servers closed',
    zone: {at: ['closed'], records: CNAME},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['closed.ns-np.net (20.10.0.1): connection refused'],
  },
  {
    case: 'all servers fail',
    zone: {at: [...STRICT, 'failing'], records: 'BROKEN'},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['a.ns-np.net', 'failing.ns-np.net', 'SERVFAIL'],
  },
  {
    case: 'a delegation to servers that refuse',
    zone: {at: ALL, records: CNAME, delegation: 'ZONE. NS stranger.ns-np.net.'},
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['ZONE is delegated', 'stranger.ns-np.net (20.6.0.1): refuses', 'registrar'],
  },
  {
    case: 'a delegation to the server of the parent',
    zone: {at: ALL, records: CNAME, delegation: 'ZONE. NS registry.ns-np.net.'},
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['registry.ns-np.net', 'without authority'],
  },
  {
    case: 'a server without authority that has the correct answer',
    zone: {at: ['unsure'], records: CNAME},
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['unsure.ns-np.net', 'answers without authority for ZONE'],
  },
  {
    case: 'a server without authority that has the correct answer, next to one with authority that does not',
    zone: {at: ['a', 'unsure'], records: CNAME, instead: {a: ''}},
    want: {reason: 'RecordMissing', agreed: false},
  },
  {
    case: 'a delegation to names without address',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE. NS nobody.ns-np.net.'},
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['nobody.ns-np.net: has no address'],
  },
  {
    case: 'a delegation to an alias of a name server',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE. NS alias.right.com.'},
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['alias.right.com: has no address'],
  },
  {
    case: 'delegations that need each other',
    zone: {at: ['a'], records: ''},
    host: 'shop.hen.com',
    want: {reason: 'DelegationBroken', agreed: false},
    says: ['ns.egg.com: has no address'],
  },
  ...FORBIDDEN.map(forbidden),
  {
    case: 'a forbidden address next to a good server',
    zone: {
      at: ['a'],
      records: CNAME,
      delegation: 'ZONE. NS a.ns-np.net.\nZONE. NS ns.ZONE.\nns.ZONE. A 127.0.0.1',
    },
    want: {reason: 'Verified', agreed: false},
    says: ['127.0.0.1 is not a public address'],
  },
  {
    case: 'name servers named in another zone',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE. NS ns.right.com.'},
    want: {reason: 'Verified'},
    says: ['ns.right.com (20.1.0.1)'],
  },
  {
    case: 'name servers inside of the zone, by glue',
    zone: {
      at: [],
      records: `@ NS ns1\n${CNAME}`,
      delegation: `ZONE. NS ns1.ZONE.\nns1.ZONE. A ${SERVERS.alone[0]}`,
    },
    want: {reason: 'Verified', agreed: true},
    says: ['ns1.ZONE (20.5.0.1)'],
  },
  {
    case: 'glue that is out of date',
    zone: {
      at: [],
      records: `@ NS ns1\nns1 A ${SERVERS.alone[0]}\n${CNAME}`,
      delegation: `ZONE. NS ns1.ZONE.\nns1.ZONE. A ${SERVERS.closed[0]}`,
    },
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['ns1.ZONE (20.10.0.1)'],
  },
  {
    case: 'a name server that only the child lists, with an old answer',
    zone: {at: ['a', 'd'], records: CNAME, instead: {d: ''}, delegation: 'ZONE. NS a.ns-np.net.'},
    want: {reason: 'Propagating', agreed: false},
    says: ['d.ns-np.net'],
  },
  {
    case: 'a name server that only the parent lists, and that does not have the zone',
    zone: {at: ['a'], records: CNAME, delegation: 'ZONE. NS a.ns-np.net.\nZONE. NS stranger.ns-np.net.'},
    want: {reason: 'Verified', agreed: false},
    says: ['stranger.ns-np.net'],
  },
  {
    case: 'servers with IPv6 addresses only',
    zone: {at: ['onlyv6'], records: CNAME},
    want: {reason: 'Verified', agreed: true},
    says: ['onlyv6.ns-np.net (2600:2::1)'],
  },
  {
    case: 'a server whose IPv6 address is dead',
    zone: {at: ['lame6'], records: CNAME},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a subdomain that is a separate zone',
    zone: {name: 'sub.right.com', parent: 'right.com', at: ['c'], records: CNAME},
    want: {reason: 'Verified', proof: 'cname', agreed: true},
    says: ['c.ns-np.net'],
  },
  {
    case: 'a subdomain that is a separate zone, on dead servers',
    zone: {name: 'gone.right.com', parent: 'right.com', at: ['silent'], records: CNAME},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['No name server of gone.right.com', 'silent.ns-np.net'],
  },
  {
    case: 'a domain that is not registered',
    zone: {at: ['a'], records: CNAME, delegation: ''},
    want: {reason: 'DelegationBroken', agreed: true},
    says: ['HOST does not exist', 'the name servers of com', 'register'],
  },
  {
    case: 'a top-level domain that does not exist',
    zone: {at: ['a'], records: CNAME},
    host: 'shop.example.nosuchtld',
    want: {reason: 'DelegationBroken', agreed: true},
    says: ['the root servers', 'Check the spelling'],
  },
  {
    case: 'one server that holds everything from the root down',
    zone: {at: ALL, records: CNAME},
    config: {rootServers: [SERVERS.alone[0]]},
    question: {caaIdentities: ['ca.example']},
    want: {
      reason: 'Verified',
      agreed: true,
      caa: {outcome: 'allowed', message: 'No CAA record restricts who may issue for HOST.'},
    },
  },
];
