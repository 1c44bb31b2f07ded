import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {apiOf, dnsCheck, domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {domain as domainOf} from '../../../test/support/objects.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import type {DomainStatus} from '../../api/generated/domain.ts';
import type {Verdict} from '../../dns/dns.ts';
import type {ObjectKey} from '../../runtime/kube/object.ts';
import {PausedError} from '../kinds/steps.ts';
import {Accepted, CaaAllowed, CertificateReady, Claimed, DnsVerified, Probed, Routed} from './conditions.ts';
import {type Decided, Reporter} from './report.ts';
import type {DomainView} from './view.ts';

/** The state that a reconcile finds. */
interface Found {
  /** The value that rotating answers show at one check. */
  readonly value: string;
  readonly proof?: Decided['proof']['condition'];
  /** Everything that follows the proof is in place. */
  readonly isServed?: boolean;
  readonly key?: string;
  /** More of the view. */
  readonly view?: Partial<DomainView>;
  /** Why a write of the certificate step failed. */
  readonly failure?: unknown;
}

const missing = (value: string) => DnsVerified.no('RecordMissing', `The servers answer ${value}.`);

function newReport() {
  const reporter = new Reporter();
  const clock = new ManualClock(Date.parse('2026-11-21T12:00:00Z'));
  const metadata = {name: 'a.test', namespace: 'a', generation: 1};
  const domains = new Map<string, {metadata: typeof metadata; status?: DomainStatus}>();
  let writes = 0;
  const patch = async (_: unknown, {namespace = '', name}: ObjectKey, {status}: {status: DomainStatus}) => {
    writes += 1;
    const key = `${namespace}/${name}`;
    const before = domains.get(key)?.status;
    const dns = {required: [], ...before?.dns, ...status.dns};
    const domain = {metadata: {...metadata, name, namespace}, status: {...before, ...status, dns}};
    domains.set(key, domain);
    return domain;
  };
  const {operator, events} = memoryOperator({clock, config: operatorConfig('dns: {propagationSeconds: 3600}')});
  const context = {...operator, ...apiOf({patch})};
  const report = async (found: Found) => {
    const {value, proof = missing(value), isServed = false, key = 'a/a.test', view: more, failure} = found;
    const served: Partial<Decided> = {
      claim: {condition: Claimed.yes('2026-11-21T12:00:00Z')},
      certificate: {condition: CertificateReady.issued('2027-01-30T00:00:00Z'), usable: true},
      routed: {condition: Routed.serving('shop', '')},
      probed: {condition: Probed.yes(true)},
    };
    const decided: Decided = {
      accepted: Accepted.yes('shop'),
      proof: {condition: proof},
      claim: {condition: Claimed.waiting()},
      caa: CaaAllowed.yes('No CAA record forbids it.'),
      certificate: {condition: CertificateReady.waiting('DNS'), usable: false, failure},
      routed: {condition: Routed.waiting('the certificate')},
      probed: {condition: Probed.pending()},
      ...(isServed && served),
    };
    const [namespace = '', host = ''] = key.split('/');
    const observed = [{type: 'TXT', name: 'a.test', value, server: 'ns1.test'}];
    const view = domainView({
      ...{host, namespace, nowMs: clock.now(), check: dnsCheck({observed})},
      domain: {
        ...domainOf(namespace, host, 'shop'),
        metadata: {...metadata, name: host, namespace},
        ...domains.get(key),
      },
      ...more,
    });
    const wakeAtMs = await reporter.report(context, view, decided);
    return {wakeAtMs, writes, handled: domains.get(key)?.status?.lastHandledVerifyRequest};
  };
  return {clock, report, events};
}

// attack: hostile-dns
test('answers that rotate are written every 30 seconds at most, and the last one is not forgotten', async () => {
  const {clock, report} = newReport();
  const first = clock.now();
  expect(await report({value: '0'})).toMatchObject({writes: 1});
  for (let second = 1; second < 30; second++) {
    await clock.advance(1000);
    const {writes, wakeAtMs} = await report({value: `${second}`});
    expect({writes, wakes: wakeAtMs.includes(first + 30_000)}).toEqual({writes: 1, wakes: true});
  }
  await clock.advance(1000);
  expect(await report({value: '30'})).toMatchObject({writes: 2});
});

test('after a step of the clock back, evidence is written as often as before', async () => {
  const {clock, report} = newReport();
  await report({value: '0'});
  clock.step(-3_600_000);
  expect(await report({value: '1'})).toMatchObject({
    writes: 1,
    wakeAtMs: expect.arrayContaining([clock.now() + 30_000]),
  });
  await clock.advance(30_000);
  expect(await report({value: '1'})).toMatchObject({writes: 2});
});

test('another outcome is written at once', async () => {
  const {report} = newReport();
  await report({value: '0'});
  const proof = DnsVerified.no('ConflictingRecord', 'Remove the record.');
  expect(await report({value: '1', proof})).toMatchObject({writes: 2});
});

interface Request {
  readonly what: string;
  readonly request?: string;
  readonly verdict: Partial<Verdict>;
  readonly proof?: Decided['proof']['condition'];
  readonly failure?: Error;
  readonly isHandled: boolean;
}

test.each<Request>([
  {what: 'DNS was checked for it', verdict: {verified: true}, isHandled: true},
  {what: 'the last check was for an earlier one', request: 'earlier', verdict: {verified: true}, isHandled: false},
  {what: 'all servers say no', verdict: {agreed: true}, isHandled: true},
  {what: 'no server answers, and the condition says so', verdict: {}, proof: missing(''), isHandled: true},
  {
    what: 'no server answers, and the condition stays',
    verdict: {reason: 'NameServersUnreachable'},
    isHandled: false,
  },
  {what: 'the servers disagree, and the condition stays', verdict: {reason: 'Propagating'}, isHandled: true},
  {what: 'a pause holds back its attempt', verdict: {verified: true}, failure: new PausedError(), isHandled: false},
  {what: 'its attempt is refused', verdict: {verified: true}, failure: new Error('refused'), isHandled: false},
])('a verify request is handled if $what: $isHandled', async row => {
  const {request = 'now', verdict, proof = DnsVerified.yes('It has the record.'), failure, isHandled} = row;
  const view = {verifyRequest: 'now', check: dnsCheck(verdict, {request})};
  const {handled} = await newReport().report({
    value: '',
    proof,
    failure,
    view,
    isServed: proof.status === 'True' && !failure,
  });
  expect(handled).toBe(isHandled ? 'now' : undefined);
});

/** Keys of Domains of one namespace. */
const crowdOf = (length: number) => Array.from({length}, (_, index) => `a/host-${index}.test`);
const proved = {value: '', proof: DnsVerified.yes('It has the record.')};

test('a host that becomes live without anybody having to act sends no Event', async () => {
  const {clock, report, events} = newReport();
  await report(proved);
  await clock.advance(5000);
  expect(await report(proved)).toMatchObject({writes: 1});
  await report({...proved, isServed: true});
  expect(events).toEqual([]);
});

test('each Warning is followed by an Event once the host is live', async () => {
  const {clock, report, events} = newReport();
  await report({value: '0'});
  await report(proved);
  await clock.advance(5000);
  await report(proved);
  await report({...proved, isServed: true});
  expect(events).toEqual(['Warning RecordMissing', 'Normal Live']);
});

test('of many hosts that wait in one namespace, each waits 200 ms longer to name the next step', async () => {
  const {clock, report, events} = newReport();
  const start = clock.now();
  const crowd = crowdOf(200);
  for (const [index, key] of crowd.entries()) {
    const untilMs = start + Math.max(5000, index * 200);
    expect(await report({...proved, key})).toMatchObject({writes: 0, wakeAtMs: expect.arrayContaining([untilMs])});
  }
  await report({...proved, key: 'b/alone.test'});
  await clock.advance(5000);
  expect(await report({...proved, key: 'b/alone.test'})).toMatchObject({writes: 1});
  expect(await report({...proved, key: 'a/host-25.test'})).toMatchObject({writes: 2});
  for (const key of crowd.slice(26)) expect(await report({...proved, key})).toMatchObject({writes: 2});
  expect(await report({...proved, key: 'a/host-199.test', isServed: true})).toMatchObject({writes: 3});
  expect(events).toEqual([]);
});

test('however many wait, a host whose trouble has ended says so after five seconds', async () => {
  const {clock, report} = newReport();
  await report({value: '0', key: 'a/repaired.test'});
  const crowd = crowdOf(200);
  for (const key of crowd) await report({...proved, key});
  await report({...proved, key: 'a/repaired.test'});
  await clock.advance(5000);
  expect(await report({...proved, key: 'a/repaired.test'})).toMatchObject({writes: 2});
});

test('once a crowd is served, the next host waits as briefly as if it were alone', async () => {
  const {clock, report} = newReport();
  const crowd = crowdOf(200);
  for (const key of crowd) await report({...proved, key});
  for (const key of crowd) await report({...proved, key, isServed: true});
  await report({...proved, key: 'a/later.test'});
  await clock.advance(5000);
  expect(await report({...proved, key: 'a/later.test'})).toMatchObject({writes: 201});
});

test('however many wait, no status is held back for more than two minutes', async () => {
  const {clock, report} = newReport();
  const crowd = crowdOf(1000);
  for (const key of crowd) await report({...proved, key});
  await clock.advance(119_000);
  expect(await report({...proved, key: 'a/host-999.test'})).toMatchObject({writes: 0});
  await clock.advance(1_000);
  expect(await report({...proved, key: 'a/host-999.test'})).toMatchObject({writes: 1});
});

test('a status of progress that was taken back waits anew', async () => {
  const {clock, report} = newReport();
  await report({value: '0'});
  await report(proved);
  await report({value: '0'});
  await clock.advance(6000);
  expect(await report(proved)).toMatchObject({writes: 1});
});
