/**
 * Random mutations of packets from real servers and from attackers. The tests count what they cost. SOAK=1 runs a
 * hundred times as many, 10 million for the decoder. FUZZ_SEED repeats a run.
 */
import {randomInt} from 'node:crypto';
import dnsPacket from 'dns-packet';
import {beforeAll, describe, expect, test} from 'vitest';
import {
  canonicalName,
  isWithin,
  labelsOf,
  nameFromLabels,
  parentOf,
  selfAndAncestors,
} from '../../../src/dns/names/wire-names.ts';
import {createDelegations} from '../../../src/dns/resolve/delegation.ts';
import {createTargets} from '../../../src/dns/resolve/targets.ts';
import type {CaaRecord} from '../../../src/dns/verdict/caa.ts';
import {verifyQuestion} from '../../../src/dns/verdict/verify.ts';
import {
  decodeMessage,
  type Message,
  type QueryType,
  type ResourceRecord,
  typeCode,
} from '../../../src/dns/wire/codec.ts';
import type {Query, Reply} from '../../../src/dns/wire/transport.ts';
import {DecodeError, type DecodeMeter} from '../../../src/dns/wire/wire-reader.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {TtlCache} from '../../../src/time/ttl-cache.ts';
import {emptyStrings, honestLargest, longChain, spaces, staircase} from './hostile.ts';
import {ROOTS, SERVERS} from './internet/plan.ts';
import {startInternet} from './internet.ts';
import {type Meter, metered} from './meter.ts';
import {below, mutate, pick, type RandomSource, randomLabels, seededRandom} from './mutate.ts';
import {ALL, questionAbout, SHARED} from './zones/zone-row.ts';

const ROUNDS = process.env.SOAK ? 100 : 1;
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const HOURS = 3_600_000;
/** How many bytes the decoder may read per message, repetitions included: twice the longest message. */
const MAX_BYTES_READ = 2 * 0xffff;
/** How often a verdict may read each record that it gets, and each message besides its records. */
const READS_PER_RECORD = 40;
const READS_PER_MESSAGE = 200;

interface Sample {
  readonly name: string;
  readonly type: QueryType;
  readonly packet: Uint8Array;
}

/** No packet here has a CNAME to the target or the token, so any verified result would come from garbage. */
let samples: readonly Sample[] = [];

const ATTACKS = [staircase, honestLargest, emptyStrings, spaces, longChain];
const FUZZED = {id: 4711, name: 'shop.fuzz.com', type: 1};
const attackers = [
  ...ATTACKS.map(attack => attack(FUZZED)),
  staircase(FUZZED, 600),
  staircase(FUZZED, 199),
  staircase(FUZZED, 199, 15),
  staircase(FUZZED, 1, 17),
].map((packet): Pick<Sample, 'packet'> => ({packet}));

/** An attacker's answer to a question. */
function attack({name, type}: Query, random: RandomSource): Uint8Array {
  const question = {id: 0, name, type: typeCode(type)};
  return random() < 0.5 ? staircase(question, 199, 15) : pick(ATTACKS, random)(question);
}

beforeAll(async () => {
  console.log(`fuzz: FUZZ_SEED=${SEED} repeats this run`);
  const records = [
    'shop CNAME www\nwww CNAME other.edge-np.net.',
    '@ A 192.0.2.10\n@ AAAA 2001:db8::10\n@ CAA 128 issue "ca.example; x=y"',
    '_nameplate TXT "one" "two"\n_nameplate.shop TXT "\\000\\255"\nsub DNAME other.com.',
  ].join('\n');
  const internet = await startInternet([...SHARED, {name: 'fuzz.com', at: ALL, records}]);
  const ask = async (address: string, name: string, type: QueryType): Promise<Sample> => {
    return {name, type, packet: Buffer.from(await internet.packet(address, name, type), 'base64')};
  };
  try {
    const [root = '', registry] = [ROOTS[0], SERVERS.registry[0]];
    const names = [
      'fuzz.com',
      'shop.fuzz.com',
      '_nameplate.fuzz.com',
      '_nameplate.shop.fuzz.com',
      'www.fuzz.com',
      'x.sub.fuzz.com',
    ];
    const targets = ['edge-np.net', 'other.edge-np.net', 'acct.edge-np.net'];
    const types: readonly QueryType[] = ['A', 'AAAA', 'NS', 'CAA', 'TXT', 'SOA'];
    const atServers = ALL.flatMap(server =>
      [...names, ...targets].flatMap(name => types.map(type => ask(SERVERS[server][0], name, type))),
    );
    const above = ['com', 'net', 'fuzz.com', 'edge-np.net', 'ns-np.net'].flatMap(name => [
      ask(root, name, 'NS'),
      ask(registry, name, 'NS'),
    ]);
    const hosts = ALL.flatMap(server =>
      (['A', 'AAAA'] as const).map(type => ask(registry, `${server}.ns-np.net`, type)),
    );
    samples = await Promise.all([...atServers, ...above, ...hosts]);
  } finally {
    await internet.stop();
  }
});

/** Converts our record to dns-packet's form, for the types that both support. */
function inTheirWords(record: ResourceRecord): unknown {
  const {name, ttl, type} = record;
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return {name, ttl, type, data: record.address};
    case 'CNAME':
    case 'NS':
    case 'DNAME':
      return {name, ttl, type, data: record.target};
    case 'SOA':
      return {name, ttl, type, data: record.minimum};
    case 'TXT':
      return {name, ttl, type, data: record.text};
    case 'CAA':
      return {name, ttl, type, data: [record.critical, record.tag, record.value]};
  }
}

function theirs(answer: dnsPacket.Answer): unknown {
  const {name, type} = answer;
  const base = {name: name.toLowerCase(), ttl: 'ttl' in answer ? answer.ttl : undefined, type};
  switch (answer.type) {
    case 'A':
      return {...base, data: answer.data};
    case 'AAAA':
      return {...base, data: answer.data};
    case 'CNAME':
    case 'NS':
    case 'DNAME':
      return {...base, data: answer.data.toLowerCase()};
    case 'SOA':
      return {...base, data: answer.data.minimum};
    case 'TXT':
      return {...base, data: Buffer.concat([answer.data].flat().map(part => Buffer.from(part))).toString('latin1')};
    case 'CAA':
      return {...base, data: [answer.data.issuerCritical ?? false, answer.data.tag.toLowerCase(), answer.data.value]};
    default:
      return undefined;
  }
}

function expectAgreement(packet: Uint8Array): void {
  const ours = decodeMessage(packet);
  const other = dnsPacket.decode(Buffer.from(packet));
  const sections = [
    [ours.answers, other.answers],
    [ours.authority, other.authorities],
    [ours.additional, other.additionals],
  ] as const;
  for (const [mine, their] of sections) {
    expect(mine.map(inTheirWords)).toEqual((their ?? []).map(theirs).filter(each => each !== undefined));
  }
  expect({...ours.question, id: ours.id}).toMatchObject({name: other.questions?.[0]?.name.toLowerCase(), id: other.id});
}

function randomAnswer(random: RandomSource): dnsPacket.Answer {
  const letters = () => Array.from({length: 1 + below(20, random)}, () => pick([...'abcXYZ019-_'], random)).join('');
  const name = () => Array.from({length: 1 + below(5, random)}, letters).join('.');
  const ttl = below(2 ** 31, random);
  const quad = () => Array.from({length: 4}, () => below(256, random)).join('.');
  return pick<() => dnsPacket.Answer>(
    [
      () => ({name: name(), ttl, type: 'A', data: quad()}),
      () => ({name: name(), ttl, type: 'CNAME', data: name()}),
      () => ({name: name(), ttl, type: 'NS', data: name()}),
      () => ({name: name(), ttl, type: 'DNAME', data: name()}),
      () => ({name: name(), ttl, type: 'TXT', data: [letters(), letters()]}),
      () => ({name: name(), ttl, type: 'CAA', data: {flags: 128, tag: 'issue', value: name()}}),
      () => ({name: name(), ttl, type: 'MX', data: {preference: 1, exchange: name()}}),
    ],
    random,
  )();
}

describe('the decoder', () => {
  test('reads what real servers send as dns-packet does', () => {
    expect(samples.length).toBeGreaterThan(100);
    for (const {packet} of samples) expectAgreement(packet);
  });

  test('reads what dns-packet writes as dns-packet does', () => {
    const random = seededRandom(SEED);
    for (let n = 0; n < 5000; n++) {
      const section = () => Array.from({length: below(4, random)}, () => randomAnswer(random));
      const questions = [{name: `q${n}.Example.com`, type: 'A' as const}];
      const [answers, authorities, additionals] = [section(), section(), section()];
      expectAgreement(dnsPacket.encode({type: 'response', id: n, questions, answers, authorities, additionals}));
    }
  });

  // attack: hostile-dns
  test('answers or refuses with bounded work, whatever the bytes', {timeout: HOURS}, () => {
    const random = seededRandom(SEED);
    const count = {decoded: 0, refused: 0};
    for (let n = 0; n < 100_000 * ROUNDS; n++) {
      const {packet: base} = n % 200 === 0 ? pick(attackers, random) : pick(samples, random);
      const packet = mutate(base, random, pick(samples, random).packet);
      const meter = {bytesRead: 0};
      const message = decoded(packet, meter);
      expectBounded(packet, message, meter);
      count[message === undefined ? 'refused' : 'decoded']++;
      if (message !== undefined && n % 100 === 0) expectCanonical(message);
    }
    // Both must happen; otherwise the mutations are too coarse or too fine to find anything.
    expect(count.decoded).toBeGreaterThan(10_000);
    expect(count.refused).toBeGreaterThan(10_000);
  });
});

/** Undefined: refused. Any other error fails the test. */
function decoded(packet: Uint8Array, meter: DecodeMeter = {bytesRead: 0}): Message | undefined {
  try {
    return decodeMessage(packet, meter);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw new Error(`FUZZ_SEED=${SEED}, packet ${hex(packet)}`, {cause: error});
  }
}

/** Uses no `expect` per packet: ten million of them take longer than the decoder. */
function expectBounded(packet: Uint8Array, message: Message | undefined, {bytesRead}: DecodeMeter): void {
  const records = message === undefined ? 0 : recordsIn(message).length;
  // The decoder stops at the read that exceeds the bound, which is no longer than the packet.
  if (bytesRead <= MAX_BYTES_READ + (message === undefined ? packet.length : 0) && records <= 200) return;
  throw new Error(`FUZZ_SEED=${SEED}, ${bytesRead} bytes and ${records} records read of ${hex(packet)}`);
}

function recordsIn({answers, authority, additional}: Message): ResourceRecord[] {
  return [...answers, ...authority, ...additional];
}

function hex(packet: Uint8Array): string {
  return Buffer.from(packet).toString('hex');
}

function expectCanonical(message: Message): void {
  const records = recordsIn(message);
  const names = records.flatMap(record => ('target' in record ? [record.name, record.target] : [record.name]));
  for (const name of [...(message.question ? [message.question.name] : []), ...names])
    expect(canonicalName(name)).toBe(name);
}

describe('the verdict', () => {
  test('is never Verified from garbage, and its work is linear in the size of its input', {
    timeout: HOURS,
  }, async () => {
    const random = seededRandom(SEED);
    const reasons = new Map<string, number>();
    for (let n = 0; n < 2000 * ROUNDS; n++) {
      const host = pick(['shop.fuzz.com', 'fuzz.com'], random);
      const question = {...questionAbout(host), caaIdentities: ['ca.example']};
      const meter = {messages: 0, records: 0, reads: 0};
      const verdict = await verifyQuestion(question, garbledDns(random, meter), new AbortController().signal);
      const most = READS_PER_RECORD * meter.records + READS_PER_MESSAGE * meter.messages;
      if (meter.reads > most) throw new Error(`FUZZ_SEED=${SEED}, verdict ${n}: ${meter.reads} reads, at most ${most}`);
      if (verdict.verified) throw new Error(`FUZZ_SEED=${SEED}, verdict ${n}: ${verdict.message}`);
      expect(verdict.message).toMatch(/^[\x20-\x7e]{1,4000}$/);
      expect(JSON.stringify(verdict.observed).length).toBeLessThanOrEqual(8192);
      reasons.set(verdict.reason, (reasons.get(verdict.reason) ?? 0) + 1);
    }
    // The verdict gets past the first answer and reaches many conclusions.
    expect([...reasons.keys()]).toEqual(expect.arrayContaining(['RecordMismatch', 'NameServersUnreachable']));
    expect(reasons.size).toBeGreaterThanOrEqual(4);
  });
});

/** One answer in six is garbled or an attacker's. Only answers that pass the transport's checks reach the verdict. */
function garbledDns(random: RandomSource, meter: Meter & {messages: number}) {
  const transport = {
    query: async (query: Query): Promise<Reply> => {
      const fitting = samples.filter(sample => sample.name === query.name && sample.type === query.type);
      const {packet} = pick(fitting.length > 0 ? fitting : samples, random);
      const chance = random();
      const given = chance < 1 / 60 ? attack(query, random) : packet;
      const message = decoded(chance < 5 / 6 ? given : mutate(packet, random, pick(samples, random).packet));
      if (message === undefined) return {ok: false, failure: 'malformed', detail: 'malformed'};
      if (message.question && message.question.name !== query.name)
        return {ok: false, failure: 'timeout', detail: 'no answer'};
      meter.messages++;
      return {ok: true, message: metered(message, meter)};
    },
  };
  const clock = systemClock;
  const roots = [{name: 'root', endpoints: [{address: '198.41.0.4', port: 53}]}];
  const authoritative = createDelegations({transport, roots, port: 53, clock});
  return {
    targets: createTargets(clock),
    authoritative,
    blocked: new TtlCache<true>(clock, 1),
    registryCaa: new TtlCache<readonly CaaRecord[]>(clock, 1),
    clock,
    timeoutMs: 10_000,
  };
}

describe('names', () => {
  const random = seededRandom(SEED);
  const lower = (byte: number) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
  const fold = (labels: readonly Uint8Array[]) => labels.map(label => [...label].map(lower));
  const upper = (labels: readonly Uint8Array[]) =>
    labels.map(label => label.map(byte => (byte >= 0x61 && byte <= 0x7a && random() < 0.5 ? byte - 0x20 : byte)));

  test('are equal as text if and only if they are equal on the wire, whatever their case', () => {
    for (let n = 0; n < 20_000; n++) {
      const [one, two] = [randomLabels(random), randomLabels(random)];
      const same = JSON.stringify(fold(one)) === JSON.stringify(fold(two));
      expect(nameFromLabels(one) === nameFromLabels(two)).toBe(same);
      expect(nameFromLabels(upper(one))).toBe(nameFromLabels(one));
      expect(labelsOf(nameFromLabels(one)).map(label => [...label])).toEqual(fold(one));
    }
  });

  test('keep their labels: a dot inside of one never makes two, and one more label never is the same name', () => {
    for (let n = 0; n < 20_000; n++) {
      const labels = randomLabels(random);
      const name = nameFromLabels(labels);
      expect(selfAndAncestors(name)).toHaveLength(labels.length);
      expect(parentOf(name)).toBe(nameFromLabels(labels.slice(1)));
      expect(isWithin(name, parentOf(name))).toBe(true);
      const longer = nameFromLabels([Uint8Array.of(120), ...labels]);
      expect(longer === name || isWithin(name, longer)).toBe(false);
      expect(canonicalName(`${name}.`)).toBe(name);
    }
  });
});
