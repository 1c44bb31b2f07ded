/** How the figures are measured and shown. */

const ROUNDS = 9;

export interface Figure {
  readonly what: string;
  /** Of the input. */
  readonly bytes?: number;
  /** What is counted besides the time, such as: 33 hops. */
  readonly counted?: string;
  readonly ms: Milliseconds;
}

export interface Milliseconds {
  /** With code that has not run before, as just after a start. */
  readonly first: number;
  readonly median: number;
}

/** `work` may throw, because a refusal costs time, too. */
export function measure(work: () => unknown): Milliseconds {
  const times = Array.from({length: ROUNDS}, () => {
    const start = performance.now();
    try {
      work();
    } catch {
      // A refusal.
    }
    return performance.now() - start;
  });
  const [first = 0] = times;
  return {first, median: times.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0};
}

export function print(figures: readonly Figure[]): void {
  for (const {what, bytes, counted, ms} of figures) {
    const input = bytes === undefined ? '' : `${bytes} bytes`;
    const [first, median] = [ms.first, ms.median].map(value => value.toFixed(value < 10 ? 2 : 0).padStart(7));
    console.log(`  ${what.padEnd(62)} ${input.padStart(12)} ${median} ms (first ${first}) ${counted ?? ''}`);
  }
}
