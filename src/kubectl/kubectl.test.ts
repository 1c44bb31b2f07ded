import {WriteStream} from 'node:tty';
import {afterEach, describe, expect, test, vi} from 'vitest';
import {blockerOf} from '../advice/blocker.ts';
import type {Condition} from '../api/conditions.ts';
import type {Domain, Project} from '../operator/kinds/kinds.ts';
import {type CommandContext, verify} from './commands.ts';
import {printRecords, recordsOf} from './records.ts';
import {colored, printTree, printWhy, type Style} from './tree.ts';

const at = '2026-11-01T10:00:00Z';
const condition = (type: string, status: Condition['status'], reason: string, message: string): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: at,
});
const base = {apiVersion: 'nameplate.dev/v1alpha1'};
const project: Project = {
  ...base,
  kind: 'Project',
  metadata: {name: 'shop', namespace: 'team'},
  spec: {service: {name: 'shop', port: 80}},
  status: {url: 'https://www.example.com/', conditions: [condition('Ready', 'True', 'Ready', 'ready')]},
};

function domain(host: string, state: 'Live' | 'Unverified', more: Condition[] = [], of = 'shop'): Domain {
  const accepted = condition('Accepted', 'True', 'Accepted', 'The host belongs to Project shop.');
  return {
    ...base,
    kind: 'Domain',
    metadata: {name: host, namespace: 'team'},
    spec: {host, projectRef: {name: of}},
    status: {
      state,
      conditions: [accepted, ...more, condition('Ready', state === 'Live' ? 'True' : 'False', 'Ready', 'summary')],
    },
  };
}
const missing = condition(
  'DNSVerified',
  'False',
  'RecordMissing',
  'Create the record a.example.com CNAME t.example.net.',
);
const live = domain('www.example.com', 'Live', [
  condition('DNSVerified', 'True', 'Verified', 'verified'),
  condition('CertificateReady', 'Unknown', 'Issuing', 'issuing'),
]);
const plain: Style = (_, text) => text;
const waiting = domain('a.example.com', 'Unverified', [missing]);

describe('the tree', () => {
  test('names the step that waits, and puts what waits first', () => {
    expect(
      printTree({projects: [project], domains: [live, waiting]}, plain),
    ).toBe(`Project team/shop  https://www.example.com/
├─ a.example.com  Unverified
│  DNSVerified: RecordMissing. Create the record a.example.com CNAME t.example.net.
│  └─ ✗ dns: RecordMissing
└─ www.example.com  Live
   ├─ ✓ dns: verified
   └─ · certificate: issuing
`);
  });

  test('puts Projects with something that waits before the others', () => {
    const first = {...project, metadata: {name: 'a', namespace: 'team'}};
    const text = printTree({projects: [first, project], domains: [waiting]}, plain);
    expect(text.indexOf('team/shop')).toBeLessThan(text.indexOf('team/a'));
  });

  test('a step that is unknown matters only if the host is not ready', () => {
    const off = condition('Probed', 'Unknown', 'NotProbed', 'Probes are off.');
    expect(blockerOf(domain('d.example.com', 'Live', [off]))).toBeUndefined();
    expect(blockerOf(domain('d.example.com', 'Unverified', [off]))).toBe(off);
    expect(blockerOf(domain('d.example.com', 'Live', [off, missing]))).toBe(missing);
    const shown = condition('Claimed', 'False', 'Ready', 'the reason of Ready');
    expect(blockerOf(domain('d.example.com', 'Unverified', [missing, shown]))).toBe(shown);
  });

  test('shows a Domain whose Project does not exist, and one that the operator has not seen', () => {
    const alone = domain('b.example.com', 'Unverified', [missing], 'gone');
    const {status: _, ...fresh} = domain('c.example.com', 'Live', [], 'gone');
    const text = printTree({projects: [], domains: [alone, fresh]}, plain);
    expect(text).toContain('Domains without their Project\n├─ b.example.com  Unverified');
    expect(text).toContain('└─ c.example.com  not seen yet');
  });
});

describe('colors', () => {
  const {isTTY, getColorDepth} = process.stdout;
  afterEach(() => {
    vi.unstubAllEnvs();
    Object.assign(process.stdout, {isTTY, getColorDepth});
  });

  test.each([
    {isTTY: true, env: {}, shown: '\x1b[31mBlocked\x1b[39m'},
    {isTTY: true, env: {NO_COLOR: '1'}, shown: 'Blocked'},
    {isTTY: false, env: {}, shown: 'Blocked'},
    {isTTY: false, env: {FORCE_COLOR: '1'}, shown: '\x1b[31mBlocked\x1b[39m'},
  ])('are printed to a terminal (%o), unless the environment says otherwise', ({isTTY, env, shown}) => {
    const clean = {CI: undefined, FORCE_COLOR: undefined, NO_COLOR: undefined, NODE_DISABLE_COLORS: undefined};
    for (const [name, value] of Object.entries({...clean, TERM: 'xterm', ...env})) vi.stubEnv(name, value);
    Object.assign(process.stdout, {isTTY, getColorDepth: WriteStream.prototype.getColorDepth});
    expect(colored('red', 'Blocked')).toBe(shown);
  });
});

describe('why', () => {
  const claim = (namespace: string, releasedAt?: string) => ({
    ...base,
    kind: 'DomainClaim',
    metadata: {name: 'a.example.com'},
    spec: {namespace, account: 'acme', claimedAt: at, uid: 'u', ...(releasedAt && {releasedAt})} as never,
  });

  test.each([
    ['hidden', undefined],
    ['none', 'Nobody holds the host.'],
    [claim('other'), 'The namespace other holds the host, for account acme.'],
    [claim('team'), 'This namespace holds the host, for account acme.'],
    [claim('team', at), `Nobody holds the host: team released it at ${at}.`],
  ] as const)('says who holds the host: %o', (holder, says) => {
    const expected = [
      'a.example.com (team, Project shop) is Unverified.',
      'Waiting at step DNSVerified: RecordMissing. Create the record a.example.com CNAME t.example.net.',
      `  In this state since ${at}.`,
      ...(says === undefined ? [] : [says]),
    ];
    expect(printWhy(waiting, holder, plain)).toBe(`${expected.join('\n')}\n`);
  });

  test('says so if nothing waits', () => {
    expect(printWhy(live, 'hidden', plain)).toContain('Nothing is pending.');
  });
});

describe('verify', () => {
  afterEach(() => vi.useRealTimers());

  test('says that it still waits, and at the deadline what to do', async () => {
    vi.useFakeTimers();
    const deadline = new AbortController();
    const told: string[] = [];
    const context: CommandContext = {
      client: {get: async () => live, patch: async () => live} as never, // an operator that handles nothing
      namespace: 'team',
      style: plain,
      isJson: false,
      signal: deadline.signal,
      print: () => {},
      tell: text => told.push(text),
    };
    const verdict = verify(context, 'www.example.com').catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(11_000);
    deadline.abort();
    expect(await verdict).toMatch(/^the operator has not handled the request within 11 s\. The request remains: run/);
    expect(told).toEqual([
      'Requested a check of www.example.com. Waiting for the operator.\n',
      'Still waiting after 5 s.\n',
      'Still waiting after 10 s.\n',
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the records', () => {
  const required = [
    {type: 'CNAME', name: 'www.example.co.uk', label: 'www', value: 't.edge.example.net', ttl: 3600},
    {type: 'ALIAS', name: 'example.co.uk', label: '@', value: 't.edge.example.net', ttl: 3600},
    {type: 'TXT', name: '_nameplate.example.co.uk', label: '_nameplate', value: 'to"k\\en', ttl: 3600},
  ];
  const records = recordsOf([
    {...waiting, status: {dns: {required}}},
    {...waiting, status: {dns: {required}}},
  ]);

  test('each is printed once', () => {
    expect(printRecords(records, 'table')).toBe(`TYPE   NAME                      IN A FORM   VALUE               TTL
CNAME  www.example.co.uk         www         t.edge.example.net  3600
ALIAS  example.co.uk             @           t.edge.example.net  3600
TXT    _nameplate.example.co.uk  _nameplate  to"k\\en             3600
`);
    expect(JSON.parse(printRecords(records, 'json'))).toEqual(required);
  });

  test('as a zone file', () => {
    expect(printRecords(records, 'zone')).toBe(`www.example.co.uk. 3600 IN CNAME t.edge.example.net.
; example.co.uk. is a feature of the DNS provider, not a record type. Create it there: ALIAS t.edge.example.net.
_nameplate.example.co.uk. 3600 IN TXT "to\\034k\\092en"
`);
  });

  test('of a status that somebody else wrote add no line, no record, and no template', () => {
    const hostile = 'x.example.com. 60 IN A 192.0.2.1\n@ "\u0024{file("/etc/passwd")} %{if true}';
    const forged = ['CNAME', 'ALIAS', 'TXT'].map(type => ({type, name: hostile, label: 'x', value: hostile, ttl: 60}));
    const zone = printRecords(forged, 'zone').trimEnd().split('\n');
    expect(zone).toHaveLength(3);
    for (const line of zone.filter(each => !each.startsWith(';')))
      expect(line).toMatch(/^\S+\. 60 IN (CNAME \S+|TXT "[^"]*")$/);
    const terraform = printRecords(forged, 'terraform');
    expect(terraform.match(/^resource /gm)).toHaveLength(2);
    const settings = terraform.replaceAll(/^#.*$/gm, '');
    expect(settings.replaceAll(/\$\$\{|%%\{/g, '')).not.toMatch(/[$%]\{/);
    expect(settings.match(/^ {2}\w+ +=/gm)).toHaveLength(8);
  });

  describe('of an apex that may have addresses in place of an ALIAS', () => {
    const common = {name: 'example.com', label: '@', ttl: 60};
    const apex = [
      {type: 'ALIAS', value: 't.edge.example.net', ...common},
      {type: 'A', value: '192.0.2.10', ...common},
      {type: 'A', value: '192.0.2.11', ...common},
      {type: 'AAAA', value: '2001:db8::10', ...common},
    ];

    test('as a zone file', () => {
      expect(printRecords(apex, 'zone')).toBe(`example.com. 60 IN A 192.0.2.10
example.com. 60 IN A 192.0.2.11
example.com. 60 IN AAAA 2001:db8::10
`);
    });

    test('for Terraform, one block for each type', () => {
      const terraform = printRecords(apex, 'terraform');
      expect(terraform.match(/^resource "\w+"/gm)).toEqual([
        'resource "dns_a_record_set"',
        'resource "dns_aaaa_record_set"',
      ]);
      expect(terraform).toContain('addresses = ["192.0.2.10", "192.0.2.11"]');
    });

    test('for external-dns, without the alias', () => {
      const printed = printRecords(apex, 'external-dns');
      expect(printed).not.toContain('CNAME');
      expect(printed.match(/recordType: \w+/g)).toEqual(['recordType: A', 'recordType: AAAA']);
    });
  });

  test('of an alternative to the TXT record are for people, and in no file', () => {
    const name = '_nameplate.example.com';
    const both = [
      {type: 'TXT', name, label: '_nameplate', value: 'token', ttl: 60},
      {
        type: 'CNAME',
        name: '_acme-challenge.example.com',
        label: 'x',
        value: 'own.acme.test',
        ttl: 60,
        insteadOf: 'TXT',
      },
    ];
    expect(printRecords(both, 'table').split('\n')[0]).toMatch(/TTL {2}INSTEAD OF$/);
    expect(printRecords(both, 'table')).toMatch(/CNAME .* own\.acme\.test +60 +TXT\n/);
    for (const format of ['zone', 'terraform', 'external-dns'] as const) {
      expect(printRecords(both, format)).toContain('token');
      expect(printRecords(both, format)).not.toContain('_acme-challenge');
    }
  });

  test('for Terraform, in the zone that DNS shows', () => {
    const delegated = [
      {type: 'CNAME', name: 'shop.dev.example.com', label: 'shop', value: 't.edge.example.net', ttl: 60},
      {type: 'TXT', name: '_nameplate.dev.example.com', label: '_nameplate', value: 'token', ttl: 60},
    ];
    const zones = printRecords(delegated, 'terraform').match(/zone +=.*/g);
    expect(zones).toEqual(['zone  = "dev.example.com."', 'zone  = "dev.example.com."']);
  });

  test('for Terraform, in the zone of the registrable domain', () => {
    expect(printRecords(records, 'terraform')).toBe(`resource "dns_cname_record" "nameplate_www_example_co_uk" {
  zone  = "example.co.uk."
  name  = "www"
  cname = "t.edge.example.net."
  ttl   = 3600
}

# example.co.uk is a feature of the DNS provider, not a record type. Create it there: ALIAS t.edge.example.net

resource "dns_txt_record_set" "nameplate__nameplate_example_co_uk" {
  zone  = "example.co.uk."
  name  = "_nameplate"
  txt   = ["to\\"k\\\\en"]
  ttl   = 3600
}
`);
  });

  test('for external-dns', () => {
    expect(printRecords(records, 'external-dns')).toContain(`kind: DNSEndpoint
metadata:
  name: nameplate
spec:
  endpoints:
    - dnsName: www.example.co.uk
      recordType: CNAME
      recordTTL: 3600
      targets:
        - t.edge.example.net
    - dnsName: example.co.uk
      recordType: CNAME`);
  });
});
