/** Random packets and names from a seed, so that any failure can be reproduced. */

/** 0 to 1. Mulberry32: small, and good enough to choose bytes. */
export type RandomSource = () => number;

export function seededRandom(seed: number): RandomSource {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function below(limit: number, random: RandomSource): number {
  return Math.floor(random() * limit);
}

export function pick<T>(items: readonly T[], random: RandomSource): T {
  const item = items[below(items.length, random)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

type Mutation = (packet: Uint8Array, random: RandomSource, other: Uint8Array) => Uint8Array;

/** What hits a decoder hardest: lengths, counts, and pointers. */
const mutations: readonly Mutation[] = [
  (packet, random) => packet.with(below(packet.length, random), below(256, random)),
  (packet, random) => {
    const at = below(packet.length, random);
    return packet.with(at, (packet[at] ?? 0) ^ (1 << below(8, random)));
  },
  (packet, random) => packet.with(below(packet.length, random), pick([0, 1, 63, 64, 0x7f, 0x80, 0xc0, 0xff], random)),
  // Writes a pointer to anywhere.
  (packet, random) => {
    const at = below(packet.length - 1, random);
    return packet.with(at, 0xc0).with(at + 1, below(256, random));
  },
  // Changes one of the four counts.
  (packet, random) => packet.with(4 + below(8, random), below(256, random)),
  (packet, random) => packet.slice(0, below(packet.length, random)),
  (packet, random) => {
    const [from, to] = [below(packet.length, random), below(packet.length, random)];
    return Uint8Array.from([...packet.slice(0, to), ...packet.slice(from)]).slice(0, 4096);
  },
  // Joins the head of one packet to the tail of another.
  (packet, random, other) => {
    const at = below(packet.length, random);
    return Uint8Array.from([...packet.slice(0, at), ...other.slice(at)]);
  },
];

/** Makes one to four changes. The result has at least one byte. */
export function mutate(packet: Uint8Array, random: RandomSource, other: Uint8Array): Uint8Array {
  let changed = packet;
  for (let left = 1 + below(4, random); left > 0 && changed.length > 12; left--) {
    changed = pick(mutations, random)(changed, random, other);
  }
  return changed;
}

/** Labels with any bytes, but more often with awkward ones. */
export function randomLabels(random: RandomSource): Uint8Array[] {
  const awkward = [...'.\\"();@$ aZ09-_*'].map(character => character.charCodeAt(0));
  const byte = () => (random() < 0.5 ? pick(awkward, random) : below(256, random));
  const label = () => Uint8Array.from({length: 1 + below(random() < 0.1 ? 63 : 6, random)}, byte);
  return Array.from({length: 1 + below(4, random)}, label);
}
