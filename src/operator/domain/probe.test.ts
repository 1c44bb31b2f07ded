import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import type {Condition} from '../../api/conditions.ts';
import type {ProbeQuestion, ProbeReason, ProbeVerdict} from '../../probe/judge.ts';
import type {Prober} from '../../probe/prober.ts';
import type {CheckResult} from '../../schedule/scheduler.ts';
import {Routed} from './conditions.ts';
import {probe} from './probe.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const FAIL_AFTER_SECONDS = 30;
const config = operatorConfig(`probes: {failAfterSeconds: ${FAIL_AFTER_SECONDS}}`);
const seconds = (count: number) => NOW + count * 1000;
const condition = (type: string, status: Condition['status'], reason: string): Condition => {
  return {type, status, reason, message: 'as it was', lastTransitionTime: ''};
};
const LIVE = [condition('Ready', 'True', 'Live'), condition('Probed', 'True', 'Answering')];

interface World {
  readonly isOn?: boolean;
  readonly check?: CheckResult<ProbeVerdict>;
  /** In the status. Default: a host that is live and was probed. */
  readonly conditions?: readonly Condition[];
  readonly isRouted?: boolean;
}

const failing = (reason: ProbeReason, sinceMs?: number): CheckResult<ProbeVerdict> => ({
  ...{startedAt: 0, checkedAt: 0},
  verdict: {reason, verified: false, agreed: sinceMs !== undefined, message: 'as the probe saw it.'},
  ...(sinceMs !== undefined && {agreedSince: sinceMs}),
});
const answering: CheckResult<ProbeVerdict> = {
  ...{startedAt: 0, checkedAt: 0},
  verdict: {reason: 'Answering', verified: true, agreed: true, message: ''},
};

function result({isOn = true, check, conditions = LIVE, isRouted = true}: World) {
  const watched: string[] = [];
  const {operator} = memoryOperator({config, clock: new ManualClock(NOW)});
  const prober: Prober = {
    ...{...operator.prober, isOn, get: () => check},
    watch: (_, {urgency}) => void watched.push(urgency),
    unwatch: () => void watched.push('unwatched'),
  };
  const {domain} = domainView();
  const status = {conditions: [...conditions]};
  const view = domainView({domain: {...domain, status}, published: {kind: 'serve'}, nowMs: NOW});
  const routed = {condition: Routed.serving('shop', ''), ...(isRouted && {publishes: {}})};
  const {condition: found, wakeAtMs} = probe({...operator, prober}, view, routed);
  return {status: found.status, reason: found.reason, message: found.message, wakeAtMs, watched};
}

test.each<ProbeReason>(['WrongCertificate', 'WrongRoute', 'WrongRedirect', 'NoAnswer'])(
  'a live host keeps its state until %s has lasted for failAfterSeconds, and is reported then',
  reason => {
    const early = result({check: failing(reason, seconds(1 - FAIL_AFTER_SECONDS))});
    expect(early).toMatchObject({status: 'True', reason: 'Answering', wakeAtMs: seconds(1)});
    const late = result({check: failing(reason, seconds(-FAIL_AFTER_SECONDS))});
    expect(late).toMatchObject({status: 'False', reason, message: expect.stringContaining('as the probe saw it.')});
  },
);

test('a host that was live before the upgrade stays so until its probes have failed', () => {
  const conditions = [condition('Ready', 'True', 'Live')];
  expect(result({conditions})).toMatchObject({status: 'Unknown', reason: 'Checking', watched: ['pending']});
  const failed = (ms: number) => result({conditions, check: failing('NoAnswer', ms)});
  expect(failed(NOW)).toMatchObject({status: 'Unknown', reason: 'Checking', wakeAtMs: seconds(FAIL_AFTER_SECONDS)});
  expect(failed(seconds(-FAIL_AFTER_SECONDS))).toMatchObject({status: 'False', reason: 'NoAnswer'});
});

test('a new host waits for its first good answer', () => {
  const conditions = [condition('Ready', 'False', 'Pending')];
  const pending = {status: 'False', reason: 'Pending', watched: ['pending']};
  expect(result({conditions})).toMatchObject(pending);
  expect(result({conditions, check: failing('WrongCertificate', NOW)})).toMatchObject(pending);
  expect(result({conditions, check: answering})).toMatchObject({status: 'True', reason: 'Answering'});
});

test('while probes are off, or no address is known, no host is judged and none is watched', () => {
  const off = {status: 'Unknown', reason: 'NotProbed', watched: ['unwatched']};
  for (const conditions of [[], LIVE]) expect(result({isOn: false, conditions})).toMatchObject(off);
});

test('while the edge cannot be reached, a host that was judged keeps its condition, and a new one becomes Unknown', () => {
  const check = failing('EdgeUnreachable');
  expect(result({check})).toMatchObject({status: 'True', reason: 'Answering', message: 'as it was'});
  const wrong = [condition('Ready', 'False', 'WrongRoute'), condition('Probed', 'False', 'WrongRoute')];
  expect(result({check, conditions: wrong})).toMatchObject({status: 'False', reason: 'WrongRoute'});
  const young = [condition('Ready', 'False', 'Pending'), condition('Probed', 'False', 'Pending')];
  expect(result({check, conditions: young})).toMatchObject({status: 'Unknown', reason: 'EdgeUnreachable'});
});

test('while the route is not what the Domain wants, nothing is probed, and the last result stays', () => {
  expect(result({isRouted: false})).toMatchObject({reason: 'Answering', message: 'as it was', watched: ['unwatched']});
  expect(result({isRouted: false, conditions: []})).toMatchObject({status: 'Unknown', reason: 'Waiting'});
});

test('a host in good order is probed at the steady pace', () => {
  expect(result({}).watched).toEqual(['steady']);
  expect(result({check: answering}).watched).toEqual(['steady']);
});

// attack: wildcard-over-host
test.each([
  {
    what: 'a host, by a certificate of its own',
    host: 'shop.example.com',
    want: {host: 'shop.example.com', isNamed: true},
  },
  {
    what: 'a wildcard, at a name that no other route can have',
    host: '*.example.com',
    want: {host: 'wc--any.example.com'},
  },
  {what: 'a default host, by any certificate', host: 'shop.apps.test', isDefault: true, want: {host: 'shop.apps.test'}},
])('$what', ({host, isDefault = false, want}) => {
  const questions: ProbeQuestion[] = [];
  const {operator} = memoryOperator({config, clock: new ManualClock(NOW)});
  const prober: Prober = {...operator.prober, isOn: true, watch: (_, {question}) => void questions.push(question)};
  const view = domainView({host, isDefault, published: {kind: 'serve'}, nowMs: NOW});
  probe({...operator, prober}, view, {condition: Routed.serving('shop', ''), publishes: {}});
  expect(questions).toEqual([{allowsSelfSigned: true, ...want}]);
});
