import {setImmediate} from 'node:timers/promises';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {EVIL_QUESTION as question} from '../../../test/support/proof-question.ts';
import {systemClock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {createDelegations} from '../resolve/delegation.ts';
import {createRecursiveDirectory} from '../resolve/directory.ts';
import {createTargets} from '../resolve/targets.ts';
import type {Message, ResourceRecord} from '../wire/codec.ts';
import type {DnsTransport, Query, Reply} from '../wire/transport.ts';
import type {CaaRecord} from './caa.ts';
import {verifyQuestion} from './verify.ts';

const never = new AbortController().signal;

function message(query: Query, more: Partial<Message>): Reply {
  const base = {
    id: 0,
    truncated: false,
    rcode: 0,
    edns: true,
    answers: [],
    authority: [],
    additional: [],
  };
  return {ok: true, message: {...base, question: {name: query.name, type: 1}, authoritative: true, ...more}};
}

/** Counts the queries, and answers them in ways that no real server would. */
function counting(answer: (query: Query) => Reply): DnsTransport & {readonly asked: Query[]} {
  const asked: Query[] = [];
  return {
    asked,
    async query(query) {
      asked.push(query);
      return answer(query);
    },
  };
}

function authoritativeOver(transport: DnsTransport) {
  const roots = [{name: 'root', endpoints: [{address: '127.0.0.1', port: 53}]}];
  const authoritative = createDelegations({transport, roots, port: 53, clock: systemClock});
  return {authoritative, ...common()};
}

function common() {
  const blocked = new TtlCache<true>(systemClock, 1);
  const registryCaa = new TtlCache<readonly CaaRecord[]>(systemClock, 1);
  return {targets: createTargets(systemClock), blocked, registryCaa, clock: systemClock, timeoutMs: 10_000};
}

const ns = (name: string, target: string): ResourceRecord => ({type: 'NS', name, ttl: 60, target});
const hundred = Array.from({length: 100}, (_, n) => n);

describe('a verdict asks no more than 60 questions of', () => {
  const strangers: [string, (query: Query) => Reply][] = [
    [
      'a hundred name servers with a hundred addresses each',
      query => {
        if (query.type !== 'NS') return message(query, {});
        const names = hundred.map(n => `ns${n}.${query.name}`);
        const glue = (name: string): ResourceRecord[] =>
          hundred.map(n => ({type: 'A', name, ttl: 60, address: `127.1.${n}.1`}));
        const authority = names.map(name => ns(query.name, name));
        return message(query, {authoritative: false, authority, additional: names.flatMap(glue)});
      },
    ],
    [
      'name servers whose names lead to ever more name servers',
      query => {
        const authority = hundred.map(n => ns(query.name, `ns${n}.x${Math.random().toString(36).slice(2)}.test`));
        const glue: ResourceRecord[] = [{type: 'A', name: 'ns.test', ttl: 60, address: '127.0.0.2'}];
        if (query.name === 'test')
          return message(query, {authoritative: false, authority: [ns('test', 'ns.test')], additional: glue});
        return message(query, query.type === 'NS' ? {authoritative: false, authority} : {});
      },
    ],
    [
      'a chain of names that never ends',
      query =>
        message(query, {answers: [{type: 'CNAME', name: query.name, ttl: 60, target: `a.${query.name}`.slice(-200)}]}),
    ],
    ['servers that are silent', () => ({ok: false, failure: 'timeout', detail: 'no answer'})],
  ];

  test.each(strangers)('%s', async (_, answer) => {
    const transport = counting(answer);
    const verdict = await verifyQuestion(question, authoritativeOver(transport), never);
    expect(verdict.verified).toBe(false);
    expect(transport.asked.length).toBeLessThanOrEqual(60);
  });
});

describe.each([
  ['eight name servers, each in a zone of its own', 8, 1],
  ['eight name servers, each in a zone that is two searches away', 8, 2],
  ['thirteen name servers, each in a zone of its own', 13, 1],
] as const)('a zone with %s, without glue', (_, servers, searches) => {
  /** The addresses of the zone's servers are found by one search in the zone of their name, or by two. */
  function internet(stale: number) {
    const glueless = Array.from({length: servers}, (_each, n) => `ns.dns${n}.test`);
    const found = (name: string, target: string, glue?: string): Partial<Message> => ({
      authoritative: false,
      authority: [ns(name, target)],
      additional: glue ? [{type: 'A', name: target, ttl: 60, address: glue}] : [],
    });
    const answers = ({name, type, endpoint}: Query): Partial<Message> => {
      const at = endpoint.address;
      if (type === 'NS') {
        if (name === 'test') return at === '127.0.0.1' ? found(name, 'ns.test', '127.0.0.2') : {};
        if (at !== '127.0.0.2') return {};
        const zone = /^(dns|far)(\d+)\.test$/.exec(name);
        if (name === 'evil.test') return {authoritative: false, authority: glueless.map(target => ns(name, target))};
        if (zone?.[1] === 'dns' && searches === 2) return found(name, `ns.far${zone[2]}.test`);
        return zone ? found(name, `ns.${name}`, '127.0.0.3') : {rcode: 3};
      }
      if (at.startsWith('127.1.')) {
        const isStale = Number(at.split('.')[2]) >= servers - stale;
        if (name !== question.host) return {rcode: 3};
        const address: ResourceRecord = {type: 'A', name, ttl: 60, address: '192.0.2.77'};
        if (isStale) return {answers: type === 'A' ? [address] : []};
        return {answers: [{type: 'CNAME', name, ttl: 60, target: question.target}]};
      }
      const host = /^ns\.(dns|far)(\d+)\.test$/.exec(name);
      const address = host?.[1] === 'dns' ? `127.1.${host[2]}.1` : '127.0.0.3';
      return {answers: host && type === 'A' ? [{type: 'A', name, ttl: 60, address}] : []};
    };
    return counting(query => message(query, answers(query)));
  }

  async function checks(stale: number) {
    const transport = internet(stale);
    const deps = authoritativeOver(transport);
    const verdicts = [];
    for (let sent = 0; verdicts.length < 4; sent = transport.asked.length) {
      const verdict = await verifyQuestion(question, deps, never);
      expect(transport.asked.length - sent).toBeLessThanOrEqual(60);
      verdicts.push(verdict);
      if (!verdict.unfinished) break;
      expect(verdict).toMatchObject({verified: false, agreed: false});
    }
    return verdicts;
  }

  const most = servers === 8 ? 2 : 3;
  test(`is verified and agreed after at most ${most} checks, and not before it is known`, async () => {
    const verdicts = await checks(0);
    expect(verdicts.length).toBeLessThanOrEqual(most);
    expect(verdicts.at(-1)).toMatchObject({reason: 'Verified', agreed: true});
  });

  test('is not verified while four of its servers have an old address', async () => {
    const verdicts = await checks(4);
    expect(verdicts.length).toBeLessThanOrEqual(most);
    expect(verdicts.at(-1)).toMatchObject({reason: 'Propagating', verified: false, agreed: false});
  });
});

/** The CNAME at so many servers with glue, whose addresses are 127.1.N.1. */
function everywhere(servers: number) {
  const names = Array.from({length: servers}, (_, n) => `ns${n}.evil.test`);
  const additional = names.map((name, n): ResourceRecord => ({type: 'A', name, ttl: 60, address: `127.1.${n}.1`}));
  return counting(query => {
    const {name, type} = query;
    if (type !== 'NS') return message(query, {answers: [{type: 'CNAME', name, ttl: 60, target: question.target}]});
    if (name !== 'evil.test') return message(query, {});
    return message(query, {authoritative: false, authority: names.map(target => ns(name, target)), additional});
  });
}

test('a zone with more name servers than Nameplate queries is verified, but not agreed', async () => {
  const verdict = await verifyQuestion(question, authoritativeOver(everywhere(20)), never);
  const doubt = expect.stringContaining('7 more: not queried');
  expect(verdict).toMatchObject({reason: 'Verified', agreed: false, doubt});
  expect(verdict.unfinished).toBeUndefined();
});

test('a check that runs out of time does not call a server silent that it has not waited for', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  onTestFinished(() => void vi.useRealTimers());
  const quick = everywhere(2);
  const slow: DnsTransport = {
    async query(query, signal) {
      if (query.endpoint.address !== '127.1.1.1' || query.type === 'NS') return quick.query(query, signal);
      for (let turn = 0; turn < 10; turn++) await setImmediate(); // by then, the other server has answered
      vi.advanceTimersByTime(10_000);
      expect(signal.aborted).toBe(true);
      return {ok: false, failure: 'timeout', detail: 'no answer'};
    },
  };
  const verdict = await verifyQuestion(question, authoritativeOver(slow), never);
  expect(verdict).toMatchObject({reason: 'Checking', verified: false, agreed: false, unfinished: true});
  expect(verdict.message).toContain('Not queried yet: ns1.evil.test');
});

describe('a validating resolver that fails', () => {
  const recursive = (answer: (query: Query) => Reply) => {
    const transport = counting(answer);
    const fallback = createRecursiveDirectory([{address: '127.0.0.1', port: 53}], transport);
    return {fallback, ...common()};
  };
  const right = (query: Query) =>
    message(query, {answers: [{type: 'CNAME', name: query.name, ttl: 60, target: question.target}]});

  test('but answers when it may not validate has found bogus DNSSEC', async () => {
    const deps = recursive(query => (query.checkingDisabled ? right(query) : message(query, {rcode: 2})));
    expect(await verifyQuestion(question, deps, never)).toMatchObject({
      reason: 'Bogus',
      verified: false,
      agreed: false,
    });
  });

  test('only once has found none', async () => {
    let failures = 0;
    const deps = recursive(query => (failures++ === 0 ? message(query, {rcode: 2}) : right(query)));
    expect(await verifyQuestion(question, deps, never)).toMatchObject({reason: 'Verified'});
  });

  test('and does not answer the second query: finds nothing', async () => {
    let failures = 0;
    const failing = (query: Query): Reply =>
      failures++ === 0 ? message(query, {rcode: 2}) : {ok: false, failure: 'timeout', detail: 'no answer'};
    const deps = recursive(query => (query.checkingDisabled ? right(query) : failing(query)));
    expect(await verifyQuestion(question, deps, never)).toMatchObject({
      reason: 'NameServersUnreachable',
      agreed: false,
    });
  });

  test('either way has found nothing', async () => {
    const deps = recursive(query => message(query, {rcode: 2}));
    expect(await verifyQuestion(question, deps, never)).toMatchObject({
      reason: 'NameServersUnreachable',
      agreed: false,
    });
  });
});

test('a resolver is asked once for the CAA set of a registry, and not for the end of a chain that it has followed', async () => {
  const soa: ResourceRecord = {type: 'SOA', name: 'good.test', ttl: 60, minimum: 60};
  const resolver = counting(query => {
    const answers: ResourceRecord[] = [{type: 'CNAME', name: query.name, ttl: 60, target: question.target}];
    const none = {authority: [soa]};
    return message(query, {authoritative: false, ...(query.name.startsWith('shop') ? {answers, ...none} : none)});
  });
  const deps = {fallback: createRecursiveDirectory([{address: '127.0.0.1', port: 53}], resolver), ...common()};
  for (const host of [question.host, 'shop.bad.test']) {
    const verdict = await verifyQuestion({...question, host}, deps, never);
    expect(verdict).toMatchObject({reason: 'Verified', caa: {outcome: 'allowed'}});
  }
  const asked = resolver.asked.filter(({type}) => type === 'CAA').map(({name}) => name);
  expect(asked).toEqual([question.host, 'evil.test', 'test', 'shop.bad.test', 'bad.test']);
});

test('a blocked path to the authoritative servers is not retried immediately', async () => {
  const closed = counting(() => ({ok: false, failure: 'unreachable', detail: 'no route'}));
  const open = counting(query => {
    return message(query, {answers: [{type: 'CNAME', name: query.name, ttl: 60, target: question.target}]});
  });
  const fallback = createRecursiveDirectory([{address: '127.0.0.1', port: 53}], open);
  const deps = {...authoritativeOver(closed), fallback};
  for (let n = 0; n < 3; n++) {
    // A resolver's answer in their place may be old.
    expect(await verifyQuestion(question, deps, never)).toMatchObject({reason: 'Verified', agreed: false});
  }
  expect(closed.asked).toHaveLength(1);
});

test('a server that holds parent and child but gives no glue is queried for the child', async () => {
  const alone = counting(query => {
    const {name, type} = query;
    if (type === 'NS' && ['test', 'evil.test'].includes(name))
      return message(query, {answers: [ns(name, `ns.${name}`)]});
    if (type === 'A' && name.startsWith('ns.')) {
      return message(query, {answers: [{type, name, ttl: 60, address: '127.0.0.2'}]});
    }
    const answers: ResourceRecord[] = [{type: 'CNAME', name, ttl: 60, target: question.target}];
    return message(query, name === question.host ? {answers} : {});
  });
  const verdict = await verifyQuestion(question, authoritativeOver(alone), never);
  expect(verdict).toMatchObject({reason: 'Verified', agreed: true});
  expect(verdict.observed).toMatchObject([{server: 'ns.evil.test (127.0.0.2)'}]);
});

test('a registry that falls silent is no closed way', async () => {
  let registrySilent = false;
  const mortal = counting(query => {
    if (registrySilent && query.endpoint.address !== '127.0.0.1')
      return {ok: false, failure: 'timeout', detail: 'no answer'};
    const glue: ResourceRecord = {type: 'A', name: 'ns.test', ttl: 60, address: '127.0.0.2'};
    const referral = {authoritative: false, authority: [ns('test', 'ns.test')], additional: [glue]};
    return message(query, query.name === 'test' && query.endpoint.address === '127.0.0.1' ? referral : {rcode: 3});
  });
  const unused = counting(() => ({ok: false, failure: 'timeout', detail: 'no answer'}));
  const fallback = createRecursiveDirectory([{address: '127.0.0.1', port: 53}], unused);
  const deps = {...authoritativeOver(mortal), fallback};
  expect(await verifyQuestion(question, deps, never)).toMatchObject({reason: 'DelegationBroken', agreed: true});
  registrySilent = true;
  expect(await verifyQuestion(question, deps, never)).toMatchObject({reason: 'NameServersUnreachable', agreed: false});
  expect(unused.asked).toEqual([]);
});

test('an abort rejects', async () => {
  const transport = counting(() => ({ok: false, failure: 'timeout', detail: 'no answer'}));
  const stopped = AbortSignal.abort(new Error('stopped'));
  await expect(verifyQuestion(question, authoritativeOver(transport), stopped)).rejects.toThrow('stopped');
});

test('names are compared in canonical form, however they were given', async () => {
  const transport = counting(query =>
    message(query, {answers: [{type: 'CNAME', name: query.name, ttl: 60, target: question.target}]}),
  );
  const shouting = {...question, host: 'SHOP.Evil.test.', target: 'ACCT.edge.good.test.'};
  const verdict = await verifyQuestion(shouting, {...authoritativeOver(transport)}, never);
  expect(verdict).toMatchObject({reason: 'Verified', agreed: true});
});
