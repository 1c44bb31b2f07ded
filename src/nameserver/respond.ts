/** From the bytes of a query to those of its answer. Pure. */
import {HEADER_BYTES, type Question, RCODE, type ReceivedQuery, readQuery, TYPE_OPT} from './query.ts';
import {lookUp, soaOf, TYPE, type Zone, type ZoneAnswer, type ZoneRecord} from './zone.ts';

export type QueryOutcome = 'answer' | 'nodata' | 'nxdomain' | 'refused' | 'malformed' | 'truncated';

export interface SentAnswer {
  readonly bytes: Uint8Array;
  readonly outcome: QueryOutcome;
}

/** The longest datagram that is not fragmented on any sane path (DNS flag day 2020). */
const UDP_PAYLOAD = 1232;
const MIN_PAYLOAD = 512;
/** A datagram's source may be forged: so an answer is at most this many times as long as its question. */
const AMPLIFICATION = 2;
const CLASS_IN = 1;
/**
 * In seconds. A challenge is open for a few seconds, and the next one of the name has another value. The same goes for
 * the answer that there is none (RFC 2308), which lasts as long as the SOA record and its minimum say.
 */
const CHALLENGE_TTL = 1;
const NAME_SERVER_TTL = 3600;
/** Serial, refresh, retry, expire. Nobody transfers the zone, so these are what checkers of zones recommend. */
const SOA_NUMBERS = [1, 14_400, 3600, 604_800];

/** Undefined: no answer. `isBrief`: an answer without records, which makes the resolver ask again over TCP. */
export function respond(
  bytes: Uint8Array,
  zone: Zone,
  {transport, isBrief = false}: {readonly transport: 'udp' | 'tcp'; readonly isBrief?: boolean},
): SentAnswer | undefined {
  const query = readQuery(bytes);
  if (!query) return undefined;
  const {question, fault} = query;
  if (fault !== undefined || !question) {
    return {bytes: encode(query, fault ?? RCODE.FORMERR, 0, []), outcome: 'malformed'};
  }
  const answer = lookUp(question, zone);
  const {rcode, answers, isNegative} = answer;
  const flags = rcode === RCODE.REFUSED ? 0 : AUTHORITATIVE;
  const records = answers.map(record => encodeRecord(record, question.name, question));
  const authority = isNegative ? [encodeRecord(soaOf(zone), zone.domain, question)] : [];
  const whole = isBrief ? undefined : encode(query, rcode, flags, records, authority);
  if (whole && whole.length <= limitOf(query, transport)) return {bytes: whole, outcome: outcomeOf(answer)};
  return {bytes: encode(query, rcode, flags | TRUNCATED, []), outcome: 'truncated'};
}

function limitOf({edns, length}: ReceivedQuery, transport: 'udp' | 'tcp'): number {
  if (transport === 'tcp') return 0xffff;
  const payload = Math.min(Math.max(edns?.payload ?? MIN_PAYLOAD, MIN_PAYLOAD), UDP_PAYLOAD);
  return Math.min(payload, AMPLIFICATION * length);
}

function outcomeOf({rcode, answers}: ZoneAnswer): QueryOutcome {
  if (rcode === RCODE.REFUSED) return 'refused';
  if (rcode === RCODE.NXDOMAIN) return 'nxdomain';
  return answers.length > 0 ? 'answer' : 'nodata';
}

const RESPONSE = 0x8000;
const AUTHORITATIVE = 0x0400;
const TRUNCATED = 0x0200;

type Bytes = readonly number[];

function encode(
  {id, flags, question, edns}: ReceivedQuery,
  rcode: number,
  more: number,
  answers: readonly Bytes[],
  authority: readonly Bytes[] = [],
): Uint8Array {
  const counts = [question ? 1 : 0, answers.length, authority.length, edns ? 1 : 0];
  const head = [id, RESPONSE | flags | more | (rcode & 0xf), ...counts].flatMap(u16);
  // The upper bits of the code, version 0, and the bit DO, which is repeated (RFC 3225).
  const opt = edns && [0, ...u16(TYPE_OPT), ...u16(UDP_PAYLOAD), rcode >> 4, 0, edns.isDnssecOk ? 0x80 : 0, 0, 0, 0];
  return Uint8Array.from([...head, ...(question?.bytes ?? []), ...answers.flat(), ...authority.flat(), ...(opt ?? [])]);
}

function encodeRecord(record: ZoneRecord, owner: string, question: Question): Bytes {
  const {ttl, data} = dataOf(record, question);
  return [
    ...compressed(owner, question),
    ...[record.type, CLASS_IN].flatMap(u16),
    ...u32(ttl),
    ...u16(data.length),
    ...data,
  ];
}

function dataOf(record: ZoneRecord, question: Question): {readonly ttl: number; readonly data: Bytes} {
  switch (record.type) {
    case TYPE.SOA: {
      const names = [record.mname, record.rname].flatMap(name => compressed(name, question));
      return {ttl: CHALLENGE_TTL, data: [...names, ...[...SOA_NUMBERS, CHALLENGE_TTL].flatMap(u32)]};
    }
    case TYPE.NS:
      return {ttl: NAME_SERVER_TTL, data: compressed(record.target, question)};
    case TYPE.TXT:
      return {ttl: CHALLENGE_TTL, data: [record.text.length, ...Buffer.from(record.text, 'latin1')]};
  }
}

/** Repeats no part of the name with which the question ends (RFC 1035 section 4.1.4). Such a part has no escapes. */
function compressed(name: string, {name: asked, bytes}: Question): Bytes {
  const encoded: number[] = [];
  const end = HEADER_BYTES + bytes.length - 4; // without type and class
  for (let rest = name; rest !== ''; rest = rest.slice(rest.indexOf('.') + 1 || rest.length)) {
    if (`.${asked}`.endsWith(`.${rest}`)) return [...encoded, ...u16(0xc000 | (end - rest.length - 2))];
    const label = rest.split('.', 1)[0] ?? '';
    encoded.push(label.length, ...Buffer.from(label, 'latin1'));
  }
  return [...encoded, 0];
}

function u16(value: number): [number, number] {
  return [(value >> 8) & 0xff, value & 0xff];
}

function u32(value: number): number[] {
  return [...u16(value >>> 16), ...u16(value & 0xffff)];
}
