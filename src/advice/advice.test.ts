import {describe, expect, test} from 'vitest';
import type {Condition} from '../api/conditions.ts';
import type {Domain, RequiredRecord} from '../operator/kinds/kinds.ts';
import {adviseHost} from './host.ts';
import {PROVIDERS, providerOf} from './providers.ts';
import {actorOf} from './reasons.ts';

const TARGET = 'acct.edge.example.net';
const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-11-01T10:00:00Z',
});
const required = (type: string, label: string, value: string, insteadOf?: string): RequiredRecord => ({
  type,
  name: label === '@' ? 'example.com' : `${label}.example.com`,
  label,
  value,
  ttl: 3600,
  ...(insteadOf !== undefined && {insteadOf}),
});

type Dns = NonNullable<NonNullable<Domain['status']>['dns']>;

function domain(host: string, dns: Dns, conditions: Condition[]): Domain {
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Domain',
    metadata: {name: host, namespace: 'team'},
    spec: {host, projectRef: {name: 'shop'}},
    status: {state: 'Unverified', dns, conditions},
  };
}
const missingAt = (...servers: string[]) =>
  condition('DNSVerified', 'False', 'RecordMissing', `There is no record for it at ${servers.join(', ')}. Create it.`);
const apex = [
  required('ALIAS', '@', TARGET),
  required('A', '@', '192.0.2.1', 'ALIAS'),
  required('AAAA', '@', '2001:db8::1', 'ALIAS'),
  required('TXT', '_nameplate', 'np-proof'),
];

describe('the records', () => {
  test('stand beside what was found at the same name', () => {
    const observed = [
      {type: 'A', name: 'shop.example.com', value: '192.0.2.7', server: 'ns1.provider.net (20.1.0.1)'},
      {type: 'TXT', name: 'shop.example.com', value: 'v=spf1', server: 'ns1.provider.net (20.1.0.1)'},
      {type: 'A', name: 'other.example.com', value: '192.0.2.8', server: 'ns1.provider.net (20.1.0.1)'},
    ];
    const dns = {required: [required('CNAME', 'shop', TARGET)], observed};
    const {records} = adviseHost(domain('shop.example.com', dns, [missingAt()]));
    expect(records).toMatchObject([{label: 'shop', isFound: false, observed: [observed[0]]}]);
  });

  test('of one family of addresses stand beside that family', () => {
    const observed = [
      {type: 'A', name: 'example.com', value: '192.0.2.7', server: 'ns01.domaincontrol.com (20.1.0.1)'},
    ];
    const {records} = adviseHost(domain('example.com', {required: apex, observed}, [missingAt()]));
    expect(records.map(record => [record.type, record.observed.length])).toEqual([
      ['A', 1],
      ['AAAA', 0],
      ['TXT', 0],
    ]);
  });

  test('are found one by one, whatever the case and the final dot', () => {
    const observed = [{type: 'TXT', name: '_nameplate.example.com.', value: '"np-proof"', server: 'ns1.provider.net'}];
    const {records} = adviseHost(domain('example.com', {required: apex, observed}, [missingAt()]));
    expect(records.map(({required: {type}, isFound}) => [type, isFound])).toEqual([
      ['ALIAS', false],
      ['TXT', true],
    ]);
  });

  test('are all found once DNS is verified, with nothing left to change', () => {
    const observed = [{type: 'A', name: 'shop.example.com', value: '192.0.2.7', server: 'ns1.provider.net'}];
    const verified = condition('DNSVerified', 'True', 'Verified');
    const advice = adviseHost(
      domain('shop.example.com', {required: [required('CNAME', 'shop', TARGET)], observed}, [verified]),
    );
    expect(advice).toMatchObject({isVerified: true, records: [{isFound: true, observed: []}]});
  });

  test.each([
    ['an unknown provider', 'ns1.nobody.example (20.1.0.1)', 'ALIAS', ['A', 'AAAA']],
    ['a provider with ALIAS records', 'dns1.registrar-servers.com (20.1.0.1)', 'ALIAS Record', ['A', 'AAAA']],
    ['a provider without', 'ns01.domaincontrol.com (20.1.0.1)', 'A', ['ALIAS']],
  ])('at an apex at %s, one set is preferred, and the other remains', (_, server, first, instead) => {
    const advice = adviseHost(domain('example.com', {required: apex}, [missingAt(server)]));
    expect(advice.records[0]?.type).toBe(first);
    expect(advice.alternatives.map(({records}) => records.map(({required: {type}}) => type))).toEqual([instead]);
    expect(advice.records.at(-1)?.type).toBe('TXT');
  });

  test('a delegated challenge is an alternative to the TXT record', () => {
    const challenge = required('CNAME', '_acme-challenge', 'own.acme.test', 'TXT');
    const advice = adviseHost(domain('example.com', {required: [...apex, challenge]}, [missingAt()]));
    expect(advice.records.map(({type}) => type)).toEqual(['ALIAS', 'TXT']);
    expect(advice.alternatives.map(({to, records}) => [to, records.length])).toEqual([
      ['ALIAS', 2],
      ['TXT', 1],
    ]);
  });

  test("have the name as the provider's form wants it", () => {
    const advice = adviseHost(domain('example.com', {required: apex}, [missingAt('ns-1.awsdns-00.com (20.1.0.1)')]));
    expect(advice.provider?.name).toBe('Amazon Route 53');
    expect(advice.records.map(({label}) => label)).toEqual(['', '', '_nameplate']);
  });
});

describe('the provider', () => {
  test.each([
    ['Cloudflare', ['amy.ns.cloudflare.com', 'bob.ns.cloudflare.com.']],
    ['Amazon Route 53', ['ns-2048.awsdns-64.co.uk', 'NS-5.AWSDNS-00.com']],
    ['Azure DNS', ['ns1-01.azure-dns.com', 'ns2-01.azure-dns.net']],
    ['Google Cloud DNS', ['ns-cloud-a1.googledomains.com']],
    [undefined, ['ns1.evil-name.com.example']],
    [undefined, ['amy.ns.cloudflare.com', 'ns1.nobody.example']],
    [undefined, []],
  ])('%s has %j', (name, servers) => {
    expect(providerOf(servers)?.name).toBe(name);
  });

  test('has a row of its own for each name, and none is shadowed by an earlier one', () => {
    expect(PROVIDERS.length).toBeGreaterThanOrEqual(20);
    for (const provider of PROVIDERS) {
      for (const part of provider.servers) {
        const server = `ns1${part.startsWith('.') ? '' : '.'}${part}${/[.-]$/.test(part) ? '1.com' : ''}`;
        expect([server, providerOf([server])?.name]).toEqual([server, provider.name]);
      }
    }
  });
});

describe('who must act', () => {
  test.each([
    ['RecordMissing', 'owner'],
    ['WildcardUnsupported', 'either'],
    ['Overdue', 'either'],
    ['RenewalFailing', 'either'],
    ['Expired', 'either'],
    ['Refused', 'platform'],
    ['OrderBudget', 'ca'],
    ['Propagating', 'nobody'],
    ['OfALaterVersion', 'either'],
    ['constructor', 'either'],
  ])('on %s is %s', (reason, actor) => {
    expect(actorOf(reason)).toBe(actor);
  });
});

test('a check that was requested is in progress until the operator has handled it', () => {
  const asked = domain('shop.example.com', {}, [missingAt()]);
  expect(adviseHost(asked, '2026-11-01T10:00:00Z').isChecking).toBe(true);
  const handled = {...asked, status: {...asked.status, lastHandledVerifyRequest: '2026-11-01T10:00:00Z'}};
  expect(adviseHost(handled, '2026-11-01T10:00:00Z').isChecking).toBe(false);
  expect(adviseHost(handled).isChecking).toBe(false);
});
