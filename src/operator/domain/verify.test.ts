import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {dnsCheck, domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import type {DnsScheduler, Verdict} from '../../dns/dns.ts';
import {KnownSince} from '../caches/known-since.ts';
import {CaaAllowed, DnsVerified, type DomainCondition} from './conditions.ts';
import {verifyDns} from './verify.ts';
import type {DomainView} from './view.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const DRIFT_AFTER_SECONDS = 30;
const config = operatorConfig(`dns: {driftAfterSeconds: ${DRIFT_AFTER_SECONDS}}`);
const accepted = {type: 'Accepted', status: 'True', reason: 'Accepted', message: ''} as const;

/** A served host whose servers have agreed for this many seconds that it does not point here. */
function driftingFor(seconds: number, last: DomainCondition) {
  const {operator} = memoryOperator({config, clock: new ManualClock(NOW)});
  const since = NOW - seconds * 1000;
  const check = dnsCheck({agreed: true}, {agreedSince: since, agreedSinceEpochMs: since});
  const view = domainView({...reported(last), holder: 'us', published: {kind: 'serve'}, check, nowMs: NOW});
  return verifyDns(operator, view, accepted).condition;
}

test('a live host keeps its state until its servers have agreed for driftAfterSeconds', () => {
  const verified = DnsVerified.yes('as it was');
  expect(driftingFor(DRIFT_AFTER_SECONDS - 1, verified)).toMatchObject(verified);
  const since = '2026-11-24T11:59:30Z';
  expect(driftingFor(DRIFT_AFTER_SECONDS, verified)).toEqual(DnsVerified.drifted(since, 'There is no record.'));
});

test('to a new process, a host that drifted has drifted since the same time', () => {
  const drifted = DnsVerified.drifted('2026-11-20T08:00:00Z', 'There is no record.');
  expect(driftingFor(1, drifted)).toMatchObject(drifted);
  expect(driftingFor(DRIFT_AFTER_SECONDS, drifted)).toEqual(drifted);
});

const cname: Partial<Verdict> = {verified: true, agreed: true, caa: {outcome: 'allowed', message: ''}};
const forbidden: Partial<Verdict> = {...cname, caa: {outcome: 'forbidden', message: ''}};
const served = {published: {kind: 'serve'}} as const;
function reported(...conditions: readonly DomainCondition[]) {
  const status = {conditions: conditions.map(each => ({...each, lastTransitionTime: ''}))};
  return {domain: {...domainView().domain, status}};
}
const dns = DnsVerified.yes('');
const caa = CaaAllowed.yes('');

interface Found extends Partial<DomainView> {
  readonly verdict?: Partial<Verdict>;
}

test.each<{when: string; found: Found; want: string}>([
  {when: 'it was not checked yet', found: {}, want: 'pending'},
  {when: 'its record is missing', found: {verdict: {...cname, verified: false}}, want: 'pending'},
  {when: 'CAA forbids a certificate', found: {verdict: forbidden}, want: 'pending'},
  {when: 'it is verified and not live', found: {verdict: cname}, want: 'steady'},
  {when: 'it is verified and held, but not live', found: {verdict: cname, holder: 'us'}, want: 'steady'},
  {when: 'it is verified and live', found: {verdict: cname, holder: 'us', ...served}, want: 'steady'},
  {when: 'its record is lost', found: {verdict: {...cname, verified: false}, holder: 'us', ...served}, want: 'pending'},
  {when: 'a new process finds it live', found: {holder: 'us', ...served, ...reported(dns, caa)}, want: 'steady'},
  {when: 'a new process finds it unverified', found: {holder: 'us', ...served, ...reported(caa)}, want: 'pending'},
  {when: 'another holds it, whose claim a check may move', found: {verdict: cname, holder: 'another'}, want: 'pending'},
])('a host is $want when $when', ({found: {verdict, ...found}, want}) => {
  const check = verdict && dnsCheck(verdict, {startedAt: NOW});
  expect(watchedAs({...found, check})).toMatchObject({urgency: want});
});

type Watched = Parameters<DnsScheduler['watch']>[1];

function watchedAs(found: Partial<DomainView>): Watched | undefined {
  let watched: Watched | undefined;
  const {operator} = memoryOperator({clock: new ManualClock(NOW)});
  const watch: DnsScheduler['watch'] = (_, given) => {
    watched = given;
  };
  const view = domainView({...found, nowMs: NOW});
  verifyDns(
    {...operator, knownSince: new KnownSince(new ManualClock(0)), scheduler: {...operator.scheduler, watch}},
    view,
    accepted,
  );
  return watched;
}

const CREATED = '2026-11-24T11:00:00Z';

test.each<{host: string; found: Partial<DomainView>; polled: boolean}>([
  {host: 'that nobody holds', found: {}, polled: true},
  {host: 'that another account holds', found: {holder: 'another'}, polled: true},
  {host: 'that it holds', found: {holder: 'us'}, polled: false},
  {host: 'that is served', found: served, polled: false},
])('the time that a host has waited counts for one $host: $polled', ({found, polled}) => {
  const {domain} = domainView();
  const created = {...domain, metadata: {...domain.metadata, creationTimestamp: CREATED}};
  const waits = watchedAs({...found, domain: created})?.waitsSinceMs;
  expect(waits).toBe(polled ? Date.parse(CREATED) : undefined);
});
