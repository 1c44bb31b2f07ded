import {Counter, Gauge, Histogram, type Registry} from 'prom-client';

/** One result of `create` for each registry. */
export function perRegistry<T extends object>(create: (registry: Registry) => T): (registry: Registry) => T {
  const known = new WeakMap<Registry, T>();
  return registry => {
    const metrics = known.get(registry) ?? create(registry);
    known.set(registry, metrics);
    return metrics;
  };
}

type Read<L extends string> = readonly [
  name: string,
  help: string,
  labelNames: L[],
  read: () => Iterable<readonly [labels: Readonly<Record<L, string>>, value: number]>,
];

/** Creates metrics in this registry, each by its name, its help, and the names of its labels. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({name, help, labelNames, registers});
  const collected = <L extends string>(...[name, help, labelNames, read]: Read<L>) => ({
    ...{name, help, labelNames, registers},
    collect(this: Gauge<L> | Counter<L>) {
      this.reset();
      for (const [labels, value] of read()) this.inc(labels, value);
    },
  });
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
    readings: <L extends string>(...read: Read<L>) => new Gauge<L>(collected(...read)),
    /** A counter whose totals are read when metrics are collected. */
    totals: <L extends string>(...read: Read<L>) => new Counter<L>(collected(...read)),
  };
}
