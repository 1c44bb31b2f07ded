/** Whether the CA may issue (RFC 8659, RFC 8657). The record itself is right unless a row says otherwise. */
import type {CaaVerdict} from '../../../../src/dns/verdict/verdict.ts';
import {ALL, CNAME, NO_EGRESS, RECURSIVE, type ZoneRow} from './zone-row.ts';

const CA = 'ca.example';
const ACCOUNT = 'https://ca.example/acct/1';

function caa(what: string, records: string, want: Partial<CaaVerdict>, more: Partial<ZoneRow> = {}): ZoneRow {
  return {
    case: what,
    zone: {at: ALL, records: `${CNAME}\n${records}`},
    question: {caaIdentities: [CA], caaAccountUri: ACCOUNT},
    want: {reason: 'Verified', caa: want as CaaVerdict},
    ...more,
  };
}

const FORBIDDEN = {outcome: 'forbidden'} as const;
const ALLOWED = {outcome: 'allowed'} as const;
const FAILED = {outcome: 'lookup-failed'} as const;

export const caaRows: readonly ZoneRow[] = [
  caa('no CAA record', '', ALLOWED),
  caa('a CAA record at the parent that forbids', '@ CAA 0 issue "other.example"', {
    outcome: 'forbidden',
    message:
      'The CAA record ZONE. CAA 0 issue "other.example" does not allow ca.example, so no certificate can be issued for HOST. Add ZONE. CAA 0 issue "ca.example".',
  }),
  caa('a CAA record for the CA', `@ CAA 0 issue "${CA}"`, ALLOWED),
  caa('a tag in capitals', `@ CAA 0 ISSUE "${CA}"`, ALLOWED),
  caa('a CAA record for the CA in capitals', '@ CAA 0 issue "CA.Example"', FORBIDDEN),
  caa('a CAA record with a separator at its end', `@ CAA 0 issue "${CA}; validationmethods=http-01;"`, FORBIDDEN),
  caa('a critical CAA record for brands', `@ CAA 128 issuevmc "x"\n@ CAA 0 issue "${CA}"`, FORBIDDEN),
  caa('a critical CAA record for mail', `@ CAA 128 issuemail "x"\n@ CAA 0 issue "${CA}"`, ALLOWED),
  caa(
    'a CAA record with the lowest flag for a tag that CAs do not know',
    `@ CAA 1 future "x"\n@ CAA 0 issue "${CA}"`,
    FORBIDDEN,
  ),
  caa('CAA records for several CAs', `@ CAA 0 issue "other.example"\n@ CAA 0 issue "${CA}"`, ALLOWED),
  caa('a CAA record that lets nobody issue', '@ CAA 0 issue ";"', FORBIDDEN),
  caa('a malformed CAA record', '@ CAA 0 issue "ca.example; %%"', FORBIDDEN),
  caa('a CAA record for wildcards only', '@ CAA 0 issuewild "other.example"', ALLOWED),
  caa('a CAA record that only says where to report', '@ CAA 0 iodef "mailto:a@example.com"', ALLOWED),
  caa('a critical CAA record of an unknown kind', `@ CAA 128 future "x"\n@ CAA 0 issue "${CA}"`, FORBIDDEN),
  caa('a CAA record of an unknown kind that is not critical', `@ CAA 0 future "x"\n@ CAA 0 issue "${CA}"`, ALLOWED),
  caa('a CAA record for our ACME account', `@ CAA 0 issue "${CA}; accounturi=${ACCOUNT}"`, ALLOWED),
  caa('a CAA record for another ACME account', `@ CAA 0 issue "${CA}; accounturi=${ACCOUNT}9"`, FORBIDDEN),
  caa(
    'a CAA record with two accounts',
    `@ CAA 0 issue "${CA}; accounturi=${ACCOUNT}; accounturi=${ACCOUNT}"`,
    FORBIDDEN,
  ),
  caa('a CAA record for http-01', `@ CAA 0 issue "${CA}; validationmethods=dns-01,http-01"`, ALLOWED),
  caa('a CAA record for dns-01 only', `@ CAA 0 issue "${CA}; validationmethods=dns-01"`, FORBIDDEN),
  caa('the nearest CAA record counts', '@ CAA 0 issue "other.example"', ALLOWED, {
    zone: {
      at: ALL,
      records: `sub CAA 0 issue "${CA}"\nshop.sub CNAME acct.edge-np.net.\n@ CAA 0 issue "other.example"`,
    },
    host: 'shop.sub.ZONE',
  }),
  caa('a CAA record at the name that a CNAME points to', '', FORBIDDEN, {
    zone: {at: ALL, records: 'shop CNAME other.forbidding.com.'},
    want: {reason: 'RecordMismatch', caa: {outcome: 'forbidden'} as CaaVerdict},
  }),
  caa('a CAA record at the name that a CNAME points to, as a resolver returns it', '', FORBIDDEN, {
    zone: {at: ALL, records: 'shop CNAME other.forbidding.com.'},
    config: RECURSIVE,
    want: {reason: 'RecordMismatch', caa: {outcome: 'forbidden'} as CaaVerdict},
  }),
  caa('CAA records that nobody answers for', '', FAILED, {
    zone: {at: ['silent'], records: CNAME},
    want: {reason: 'NameServersUnreachable', caa: FAILED as CaaVerdict},
  }),
  caa('SERVFAIL at a level above the host', '', FAILED, {
    zone: {
      at: ['failing', 'silent'],
      records: '',
      delegation: 'ZONE. NS failing.ns-np.net.\nshop.ZONE. NS a.ns-np.net.',
    },
    want: {reason: 'NameServersUnreachable', caa: FAILED as CaaVerdict},
  }),
  caa('a CAA record at the parent, as a resolver tells it', '@ CAA 0 issue "other.example"', FORBIDDEN, {
    config: NO_EGRESS,
  }),
];
