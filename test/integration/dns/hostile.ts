/** The most expensive messages to read: seeds for the fuzzer, cases for the bench, and attacks for the unit tests. */

const HEADER = 12;
const MAX_MESSAGE = 0xffff;
/** A compression pointer holds 14 bits. */
const MAX_TARGET = 0x3fff;
const TYPE = {A: 1, CNAME: 5, TXT: 16, CAA: 257} as const;

export interface HostileQuestion {
  readonly id: number;
  readonly name: string;
  readonly type: number;
}

function u16(value: number): number[] {
  return [value >> 8, value & 0xff];
}

function labels(name: string): number[] {
  return [...name.split('.').flatMap(label => [label.length, ...Buffer.from(label)]), 0];
}

/** A response in wire form, with these records, also in wire form, in the answer section. */
export function responseOf({id, name, type}: HostileQuestion, records: readonly (readonly number[])[]): Uint8Array {
  const header = [...u16(id), 0x84, 0, ...u16(1), ...u16(records.length), 0, 0, 0, 0];
  return Uint8Array.from([...header, ...labels(name), ...u16(type), ...u16(1), ...records.flat()]);
}

/** A record with a pointer to the question's name. */
export function recordOf(
  type: number,
  data: readonly number[],
  owner: readonly number[] = u16(0xc000 | HEADER),
): number[] {
  return [...owner, ...u16(type), ...u16(1), 0, 0, 1, 44, ...u16(data.length), ...data];
}

/** An honest answer of the maximum length. */
export function honestLargest(question: HostileQuestion): Uint8Array {
  const room = MAX_MESSAGE - HEADER - labels(question.name).length - 4;
  const count = Math.floor(room / recordOf(TYPE.A, [0, 0, 0, 0]).length);
  return responseOf(
    question,
    Array.from({length: count}, (_, n) => recordOf(TYPE.A, [192, 0, n >> 8, n & 0xff])),
  );
}

/**
 * A staircase of pointers, each to the previous one, in a record of an unused type; then `count` records whose names
 * begin at its top. With all 8,170 steps and as many records as fit, the message once took five seconds to read.
 */
export function staircase(question: HostileQuestion, count = 3511, steps = 8170): Uint8Array {
  const start = HEADER + labels(question.name).length + 4 + 2 + 10;
  const jumps = Math.min(steps, Math.floor((MAX_TARGET - start) / 2));
  const stairs = Array.from({length: jumps}, (_, n) => u16(0xc000 | (n === 0 ? HEADER : start + 2 * (n - 1)))).flat();
  const top = u16(0xc000 | (start + 2 * (jumps - 1)));
  const room = MAX_MESSAGE - start - stairs.length;
  const records = Array.from({length: Math.min(count, Math.floor(room / 14))}, () => recordOf(TYPE.CNAME, top, top));
  return responseOf(question, [recordOf(99, stairs), ...records.map(record => [...record])]);
}

/** One TXT record with as many empty strings as fit. */
export function emptyStrings(question: HostileQuestion): Uint8Array {
  const room = MAX_MESSAGE - HEADER - labels(question.name).length - 4 - 12;
  return responseOf(question, [recordOf(TYPE.TXT, new Array<number>(room).fill(0))]);
}

/**
 * A CAA record whose value has one long run of spaces, followed by something else. A trimming pattern once took three
 * seconds.
 */
export function spaces(question: HostileQuestion): Uint8Array {
  const room = MAX_MESSAGE - HEADER - labels(question.name).length - 4 - 12;
  const tag = [0, 5, ...Buffer.from('issue')];
  const value = [...Buffer.from(`a;a${' '.repeat(room - tag.length - 4)}!`)];
  return responseOf(question, [recordOf(TYPE.CAA, [...tag, ...value])]);
}

/** As many CNAME records as are read, each from one name of 255 bytes to the next, in the slowest order to follow. */
export function longChain(question: HostileQuestion, count = 200): Uint8Array {
  const suffix = u16(0xc000 | HEADER);
  const padding = Array.from({length: 100}, () => [1, 0]).flat();
  // The padding occurs once, in the first record, and the names point to it.
  const at = HEADER + labels(question.name).length + 4 + 2 + 10;
  const padded = u16(0xc000 | at);
  const name = (n: number) => (n === 0 ? suffix : [2, n >> 8, n & 0xff, ...padded]);
  const hops = Array.from({length: count - 1}, (_, n) => recordOf(TYPE.CNAME, name(n + 1), name(n)));
  return responseOf(question, [recordOf(99, [...padding, ...suffix]), ...hops.reverse()]);
}
