/**
 * Simulates tenants who create their record some time after the host: the mean wait from then until Nameplate has
 * verified it, and the DNS queries until then, with and without polls. The scheduler and the verifier are the
 * operator's; name servers, which answer immediately, and time are simulated.
 *
 *     node bench/dns/waits.ts [HOSTS]      default 60
 */
import {EventEmitter} from 'node:events';
import {defaultDnsConfig} from '../../src/dns/config.ts';
import {createDelegations} from '../../src/dns/resolve/delegation.ts';
import {createTargets} from '../../src/dns/resolve/targets.ts';
import type {CaaRecord} from '../../src/dns/verdict/caa.ts';
import {poll} from '../../src/dns/verdict/poll.ts';
import type {ProofQuestion, Verdict} from '../../src/dns/verdict/verdict.ts';
import {verifyQuestion} from '../../src/dns/verdict/verify.ts';
import type {Message, ResourceRecord} from '../../src/dns/wire/codec.ts';
import type {DnsTransport, Query} from '../../src/dns/wire/transport.ts';
import {createScheduler} from '../../src/schedule/scheduler.ts';
import {TtlCache} from '../../src/time/ttl-cache.ts';
import {questionAbout} from '../../test/integration/dns/zones/zone-row.ts';
import {ManualClock} from '../../test/support/manual-clock.ts';

const HOSTS = Number(process.argv[2] ?? 60);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = 100 * DAY;
const TIMEOUT_MS = 60_000;

/** When the tenant creates the record, in milliseconds after the host; `random` is from 0 to 1. */
interface Habit {
  readonly name: string;
  readonly after: (random: number) => number;
  /** How long the simulation lasts, if the record never comes. */
  readonly untilMs?: number;
}

const between = (from: number, to: number) => (random: number) => from + (to - from) * random;
const habits: readonly Habit[] = [
  {name: 'within two minutes', after: between(0, 2 * MINUTE)},
  {
    name: 'within an hour, ten minutes on average',
    after: random => Math.min(HOUR, -10 * MINUTE * Math.log(1 - random)),
  },
  {name: 'within an hour', after: between(0, HOUR)},
  {name: 'within a day', after: between(0, DAY)},
  {name: 'within a minute to a day, most soon', after: random => MINUTE * (DAY / MINUTE) ** random},
  {name: 'on the second to seventh day', after: between(DAY, 7 * DAY)},
  {name: 'never, in the first day', after: () => Number.POSITIVE_INFINITY, untilMs: DAY},
  {name: 'never, in a week', after: () => Number.POSITIVE_INFINITY, untilMs: 7 * DAY},
];

interface Outcome {
  /** Milliseconds from the record to the proof; NaN without records. */
  readonly wait: number;
  readonly queries: number;
}

/** One zone for each host, with two name servers that have two addresses each. */
class Internet {
  readonly clock = new ManualClock(START);
  readonly createdAt = new Map<string, number>();
  queries = 0;
  readonly transport: DnsTransport = {
    query: async query => {
      this.queries++;
      return {ok: true, message: {...this.#answer(query), question: {name: query.name, type: 1}}};
    },
  };

  #answer({endpoint, name, type}: Query): Message {
    const base = {id: 0, truncated: false, rcode: 0, edns: true, additional: [], answers: [], authority: []};
    const ns = (zone: string, target: string): ResourceRecord => ({type: 'NS', name: zone, ttl: 172_800, target});
    const a = (owner: string, address: string): ResourceRecord => ({type: 'A', name: owner, ttl: 300, address});
    if (endpoint.address === '192.0.2.1' || endpoint.address === '192.0.2.2') {
      // The root, and the registry.
      const zone = name === 'com' ? 'com' : name.split('.').slice(-2).join('.');
      const servers = zone === 'com' ? ['registry.com'] : [`a.${zone}`, `b.${zone}`];
      const authority = servers.map(target => ns(zone, target));
      const additional = servers.flatMap((owner, n) =>
        zone === 'com' ? [a(owner, '192.0.2.2')] : [a(owner, `192.0.2.${10 + n}`), a(owner, `192.0.2.${20 + n}`)],
      );
      return {...base, authoritative: false, authority, additional};
    }
    const zone = name.split('.').slice(-2).join('.');
    const soa: ResourceRecord = {type: 'SOA', name: zone, ttl: 300, minimum: 300};
    const isThere = this.clock.monotonic() >= (this.createdAt.get(name) ?? Number.POSITIVE_INFINITY);
    const {target} = questionAbout(name);
    if (isThere) return {...base, authoritative: true, answers: [{type: 'CNAME', name, ttl: 300, target}]};
    if (type === 'NS' && name === zone)
      return {...base, authoritative: true, answers: ['a', 'b'].map(each => ns(zone, `${each}.${zone}`))};
    return {...base, rcode: name === zone ? 0 : 3, authoritative: true, authority: [soa]};
  }
}

async function simulate({after, untilMs}: Habit, polled: boolean): Promise<Outcome> {
  const internet = new Internet();
  const {clock, transport, createdAt} = internet;
  const roots = [{name: 'root', endpoints: [{address: '192.0.2.1', port: 53}]}];
  const deps = {
    authoritative: createDelegations({transport, roots, port: 53, clock}),
    targets: createTargets(clock),
    blocked: new TtlCache<true>(clock, 1),
    registryCaa: new TtlCache<readonly CaaRecord[]>(clock, 1000),
    clock,
    timeoutMs: TIMEOUT_MS,
  };
  const scheduler = createScheduler<ProofQuestion, Verdict>({
    verify: (question, signal) => verifyQuestion(question, deps, signal),
    poll: async ({signs}, everything, signal) =>
      signs ? poll(signs, everything, () => transport, TIMEOUT_MS, signal) : 'changed',
    shown: ({minTtlSeconds: _, signs: __, ...shown}) => shown,
    checks: defaultDnsConfig.checks,
    driftAfterSeconds: defaultDnsConfig.driftAfterSeconds,
    clock,
    random: Math.random,
    onError: (_, error) => {
      throw error;
    },
  });
  const waits: number[] = [];
  scheduler.subscribe(host => {
    if (!scheduler.get(host)?.verdict.verified) return;
    waits.push(clock.monotonic() - Math.max(START, createdAt.get(host) ?? 0));
    scheduler.unwatch(host);
  });
  const stop = new AbortController();
  EventEmitter.setMaxListeners(0, stop.signal);
  const done = scheduler.start(stop.signal);
  for (let n = 0; n < HOSTS; n++) {
    const host = `shop.zone${n}.com`;
    createdAt.set(host, START + after((n + 0.5) / HOSTS));
    const question = {...questionAbout(host), caaIdentities: ['ca.example']};
    const waitsSinceMs = polled ? {waitsSinceMs: clock.now()} : {};
    scheduler.watch(host, {account: `${n % 8}`, uid: host, question, urgency: 'pending', ...waitsSinceMs});
  }
  if (untilMs !== undefined) await clock.advance(untilMs);
  else while (waits.length < HOSTS) await clock.advance(MINUTE);
  stop.abort();
  await done;
  return {wait: waits.reduce((sum, wait) => sum + wait, 0) / waits.length, queries: internet.queries / HOSTS};
}

const seconds = (ms: number) => (Number.isNaN(ms) ? '' : `${(ms / SECOND).toFixed(0)} s`);
console.log(
  '| the record is created | mean wait without polls | with | queries per host without polls | with | ratio |',
);
console.log('|---|---|---|---|---|---|');
for (const habit of habits) {
  const [without, polled] = [await simulate(habit, false), await simulate(habit, true)];
  const ratio = (polled.queries / without.queries).toFixed(2);
  const cells = [
    seconds(without.wait),
    seconds(polled.wait),
    without.queries.toFixed(0),
    polled.queries.toFixed(0),
    ratio,
  ];
  console.log(`| ${habit.name} | ${cells.join(' | ')} |`);
}
