import {Counter, Gauge, Histogram, type Registry} from 'prom-client';

/** Creates metrics in this registry, each by its name, its help, and the names of its labels. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({name, help, labelNames, registers});
  return {
    gauge,
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({name, help, labelNames, registers}),
    histogram: <L extends string>(buckets: number[], name: string, help: string, ...labelNames: L[]) =>
      new Histogram({name, help, labelNames, buckets, registers}),
    /** A gauge without labels whose value is read when metrics are collected; undefined: it shows nothing. */
    reading: (name: string, help: string, read: () => number | undefined) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          const value = read();
          if (value === undefined) this.remove();
          else this.set(value);
        },
      }),
    /** The same with labels: series with the same values of them are summed. */
    readings: <L extends string>(
      name: string,
      help: string,
      labelNames: L[],
      read: () => Iterable<readonly [labels: Readonly<Record<L, string>>, value: number]>,
    ) =>
      new Gauge<L>({
        name,
        help,
        labelNames,
        registers,
        collect() {
          this.reset();
          for (const [labels, value] of read()) this.inc(labels, value);
        },
      }),
    /** A counter whose totals are read when metrics are collected. */
    totals: <L extends string>(
      name: string,
      help: string,
      labelNames: L[],
      read: () => Iterable<readonly [labels: Readonly<Record<L, string>>, total: number]>,
    ) =>
      new Counter<L>({
        name,
        help,
        labelNames,
        registers,
        collect() {
          this.reset();
          for (const [labels, total] of read()) this.inc(labels, total);
        },
      }),
  };
}
