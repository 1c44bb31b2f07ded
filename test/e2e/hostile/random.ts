/** Random draws that a seed reproduces. */
import {createHash} from 'node:crypto';

export class Random {
  readonly #seed: string;
  #drawn = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** From 0 up to, but not including, `end`. */
  below(end: number): number {
    const digest = createHash('sha256')
      .update(`${this.#seed}/${this.#drawn++}`)
      .digest();
    return digest.readUIntBE(0, 6) % end;
  }

  chance(probability: number): boolean {
    return this.below(1_000_000) < probability * 1_000_000;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to choose from');
    return item;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.flatMap(() => left.splice(this.below(left.length), 1));
  }

  /** Picks in proportion to the weights, which are whole numbers. */
  weighted<T>(choices: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, item] of choices) {
      if (left < weight) return item;
      left -= weight;
    }
    throw new Error('nothing to choose from');
  }
}
