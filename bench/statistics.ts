/** What all benchmarks report about their samples. */

/** `q` in [0, 1]. NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

/** Of an even number of values, the greater of the two in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The ratios of the first to the second within each round: "median (lowest to highest)". Empty without values. */
export function ratios(ones: readonly number[], others: readonly number[]): string {
  if (ones.length === 0 || others.length === 0) return '';
  const all = ones.map((value, round) => value / (others[round] ?? Number.NaN));
  const [middle, low, high] = [median(all), Math.min(...all), Math.max(...all)].map(ratio => ratio.toFixed(2));
  return `${middle} (${low} to ${high})`;
}
