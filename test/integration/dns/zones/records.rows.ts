/** The content of the zone. */
import {SERVERS} from '../internet/plan.ts';
import {ALL, CNAME, RECURSIVE, STRICT, TARGET, TOKEN, type ZoneRow} from './zone-row.ts';

const chain = (length: number) =>
  Array.from(
    {length},
    (_, n) => `${n === 0 ? 'shop' : `c${n}`} CNAME ${n === length - 1 ? `${TARGET}.` : `c${n + 1}`}`,
  );

export const recordRows: readonly ZoneRow[] = [
  {
    case: 'right',
    zone: {at: ALL, records: CNAME},
    want: {reason: 'Verified', proof: 'cname', agreed: true, addressesOnly: false, minTtlSeconds: 300},
    says: ['HOST points to acct.edge-np.net', ...ALL.map(name => `${name}.ns-np.net (${SERVERS[name][0]})`)],
  },
  {
    case: 'the target in capitals',
    zone: {at: ALL, records: 'SHOP CNAME ACCT.Edge-NP.NET.'},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a label of 63 bytes',
    zone: {at: ALL, records: `${'x'.repeat(63)} CNAME ${TARGET}.`},
    host: `${'x'.repeat(63)}.ZONE`,
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'an internationalized name',
    zone: {at: ALL, records: `xn--bcher-kva CNAME ${TARGET}.`},
    host: 'xn--bcher-kva.ZONE',
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a name below a public suffix of two labels',
    zone: {name: 'zsuffix.co.uk', at: ALL, records: CNAME},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a wildcard',
    zone: {at: ALL, records: `* CNAME ${TARGET}.`},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a wildcard that a record of another type hides',
    zone: {at: ALL, records: `* CNAME ${TARGET}.\nshop TXT "hello"`},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['Create HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'a DNAME that makes the name',
    zone: {at: ALL, records: 'sub DNAME edge-np.net.'},
    host: 'acct.sub.ZONE',
    want: {reason: 'Verified', proof: 'cname', agreed: true},
  },
  {
    case: 'a DNAME that points elsewhere',
    zone: {at: ALL, records: 'sub DNAME right.com.'},
    host: 'ns.sub.ZONE',
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME ns.right.com.'],
  },
  {
    case: 'a chain within the zone',
    zone: {at: ALL, records: `shop CNAME www\nwww CNAME ${TARGET}.`},
    want: {reason: 'Verified', proof: 'cname', agreed: true},
  },
  {
    case: 'a chain over labels with underscores',
    zone: {at: ALL, records: `shop CNAME _x\n_x CNAME ${TARGET}.`},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a chain of six names',
    zone: {at: ALL, records: chain(6).join('\n')},
    want: {reason: 'Verified', agreed: true},
  },
  {
    case: 'a chain of twelve names',
    zone: {at: ALL, records: chain(12).join('\n')},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['too long to follow', 'Change it to HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'a chain over zones',
    zone: {at: ALL, records: 'shop CNAME shop.right.com.'},
    want: {reason: 'Verified', proof: 'cname', agreed: true},
  },
  {
    case: 'a chain in a circle',
    zone: {at: ALL, records: 'shop CNAME x.there.com.'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME loop', 'Change it to HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'a name that points to itself',
    zone: {at: ['a', 'd'], records: 'shop CNAME shop'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME loop'],
  },
  {
    case: 'a chain to nowhere',
    zone: {at: ALL, records: 'shop CNAME nowhere'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME nowhere.ZONE.', 'but that name has no address'],
  },
  {
    case: 'a chain to a zone that nobody answers for',
    zone: {at: ALL, records: 'shop CNAME x.dead.com.'},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['x.dead.com', 'do not answer', 'If you do not want to wait, change it to HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'a chain whose servers disagree',
    zone: {at: ['a', 'b'], records: `shop CNAME www\nwww CNAME ${TARGET}.`, instead: {b: 'shop CNAME www'}},
    want: {reason: 'Propagating', agreed: false},
    says: ['www.ZONE', 'disagree'],
  },
  {
    case: 'no such name',
    zone: {at: ALL, records: 'other A 192.0.2.1', negativeTtl: 120},
    want: {reason: 'RecordMissing', agreed: true, minTtlSeconds: 120, observed: []},
    says: ['no record for HOST', 'HOST. CNAME acct.edge-np.net.', 'name "shop"', 'value "acct.edge-np.net"'],
  },
  {
    case: 'no record of use',
    zone: {at: ALL, records: 'shop TXT "hello"'},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'a name that only has names below it',
    zone: {at: ALL, records: 'x.shop A 192.0.2.1'},
    want: {reason: 'RecordMissing', agreed: true},
  },
  {
    case: 'the name typed twice into the form',
    zone: {at: ALL, records: `shop.ZONE CNAME ${TARGET}.`},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['there is one for shop.ZONE.ZONE', 'enter only "shop" as the name'],
  },
  {
    case: 'a record typed twice that points elsewhere, which explains nothing',
    zone: {at: ALL, records: 'shop.ZONE CNAME ns.right.com.'},
    want: {reason: 'RecordMissing', agreed: true},
    saysNot: ['there is one'],
  },
  {
    case: 'the name typed twice, below a wildcard',
    zone: {at: ALL, records: `* A 192.0.2.77\nshop.ZONE CNAME ${TARGET}.`},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['wildcard *.ZONE', 'there is one for shop.ZONE.ZONE'],
  },
  {
    case: 'an address by a wildcard',
    zone: {at: ALL, records: '* A 192.0.2.77'},
    want: {reason: 'RecordMissing', agreed: true},
    saysNot: ['Delete'],
    says: ['HOST. A 192.0.2.77', 'comes from the wildcard *.ZONE', 'Create HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'an IPv6 address by a wildcard',
    zone: {at: ALL, records: '* AAAA 2001:db8::77'},
    want: {reason: 'RecordMissing', agreed: true},
    says: ['wildcard *.ZONE', 'Create HOST.'],
  },
  {
    case: 'a CNAME to somewhere else by a wildcard',
    zone: {at: ALL, records: '* CNAME ns.right.com.'},
    want: {reason: 'RecordMissing', agreed: true},
    saysNot: ['Change it'],
    says: ['wildcard *.ZONE', 'Create HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'an address by a wildcard two levels up',
    zone: {at: ALL, records: '* A 192.0.2.77'},
    host: 'a.b.ZONE',
    want: {reason: 'RecordMissing', agreed: true},
    says: ['wildcard *.ZONE', 'name "a.b"'],
  },
  {
    case: 'an address of its own next to a wildcard with another one',
    zone: {at: ALL, records: '* A 192.0.2.77\nshop A 192.0.2.7'},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the A record 192.0.2.7 of HOST'],
  },
  {
    case: 'a wildcard to the target and an address of its own',
    zone: {at: ALL, records: `* CNAME ${TARGET}.\nshop A 192.0.2.7`},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the A record 192.0.2.7 of HOST'],
  },
  {
    case: 'a host in a delegated zone, by its label in that zone',
    zone: {name: 'team.right.com', parent: 'right.com', at: ALL, records: ''},
    want: {reason: 'RecordMissing', agreed: true, zone: 'ZONE'},
    says: ['Create HOST. CNAME acct.edge-np.net.', 'name "shop"'],
  },
  {
    case: 'the apex of a delegated zone',
    zone: {name: 'dev.right.com', parent: 'right.com', at: ALL, records: ''},
    host: 'ZONE',
    want: {reason: 'RecordMissing', agreed: true, zone: 'ZONE'},
    says: ['Create an ALIAS record', 'name "_nameplate"'],
  },
  {
    case: 'the apex of a delegated zone at another address',
    zone: {name: 'old.right.com', parent: 'right.com', at: ALL, records: '@ A 192.0.2.99'},
    host: 'ZONE',
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['create an ALIAS record', 'name "_nameplate"'],
  },
  // attack: leftover-record
  {
    case: 'the target of another account',
    zone: {at: ALL, records: 'shop CNAME other.edge-np.net.'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['HOST. CNAME other.edge-np.net.', 'Change it to HOST. CNAME acct.edge-np.net.'],
  },
  ...[undefined, RECURSIVE].map(
    (config): ZoneRow => ({
      // attack: leftover-record
      case: `another account's target on the way to the target's addresses, ${config?.mode ?? 'auto'}`,
      zone: {at: ALL, records: `shop CNAME www\nwww CNAME balanced.edge-np.net.\n_nameplate.shop TXT "${TOKEN}"`},
      ...(config && {config}),
      want: {reason: 'RecordMismatch', agreed: true},
      says: [
        'HOST. CNAME www.ZONE., which leads to balanced.edge-np.net',
        'Change it to HOST. CNAME acct.edge-np.net.',
      ],
    }),
  ),
  ...[undefined, RECURSIVE].map(
    (config): ZoneRow => ({
      case: `a chain to a target that leads on to a balancer, ${config?.mode ?? 'auto'}`,
      zone: {at: ALL, records: 'shop CNAME www\nwww CNAME balanced.edge-np.net.'},
      question: {target: 'balanced.edge-np.net'},
      ...(config && {config}),
      want: {reason: 'Verified', proof: 'cname', agreed: true},
    }),
  ),
  {
    case: 'the target as a prefix: a value without its final dot',
    zone: {at: ALL, records: `shop CNAME ${TARGET}`},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME acct.edge-np.net.ZONE.', 'end the value with a dot'],
  },
  {
    case: 'the target as a suffix',
    zone: {at: ALL, records: `shop CNAME x.${TARGET}.`},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME x.acct.edge-np.net.'],
  },
  {
    case: 'the target with a dot inside of a label',
    zone: {at: ALL, records: 'shop CNAME acct\\.edge-np.net.'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['CNAME acct\\.edge-np.net.'],
  },
  {
    case: 'a look-alike of the target',
    zone: {at: ALL, records: 'shop CNAME xn--cct-7cd.edge-np.net.'},
    want: {reason: 'RecordMismatch', agreed: true},
    says: ['xn--cct-7cd.edge-np.net.'],
  },
  {
    case: 'an address instead of the CNAME',
    zone: {at: ALL, records: 'shop A 192.0.2.7'},
    want: {reason: 'ConflictingRecord', agreed: true, addressesOnly: false},
    says: ['HOST. A 192.0.2.7', 'Delete the A record 192.0.2.7 of HOST', 'a.ns-np.net (20.1.0.1)', 'DNS only'],
  },
  {
    case: 'an IPv6 address instead of the CNAME',
    zone: {at: ALL, records: 'shop AAAA 2001:db8::7'},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['Delete the AAAA record 2001:db8::7', 'create HOST. CNAME acct.edge-np.net.'],
  },
  {
    case: 'addresses of a proxy in front',
    zone: {at: ALL, records: Array.from({length: 12}, (_, n) => `shop A 192.0.2.${n + 100}`).join('\n')},
    want: {reason: 'ConflictingRecord', agreed: true},
    says: ['and 8 more', 'proxies or flattens'],
  },
  {
    case: 'a CNAME next to other data, which no server loads',
    zone: {at: STRICT, records: `${CNAME}\nshop A 192.0.2.7`},
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['SERVFAIL'],
  },
  {
    case: 'a CNAME at the apex, at a server that takes it',
    zone: {at: ['d'], records: `@ CNAME ${TARGET}.`},
    host: 'ZONE',
    want: {reason: 'Verified', proof: 'cname'},
  },
  {
    case: 'a CNAME at the apex, at servers that do not',
    zone: {at: STRICT, records: `@ CNAME ${TARGET}.`},
    host: 'ZONE',
    want: {reason: 'NameServersUnreachable', agreed: false},
    says: ['SERVFAIL'],
  },
];
