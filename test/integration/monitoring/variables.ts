/** Fills in a dashboard's variables as Grafana does. */
import {until, type WaitOptions} from '../../cluster/wait.ts';
import type {Prometheus} from './prometheus.ts';

const RATE_INTERVAL = '30s';

/** The part of a dashboard that defines its variables. */
export interface Templating {
  readonly templating: {
    readonly list: readonly {readonly name: string; readonly query: string | {readonly query: string}}[];
  };
}

/** Runs the query of the variable `job`, once Prometheus has an answer. Grafana offers these jobs for selection. */
export async function jobsOf(
  {templating}: Templating,
  {labelValues}: Prometheus,
  options?: WaitOptions,
): Promise<readonly string[]> {
  const {query = ''} = templating.list.find(({name}) => name === 'job') ?? {};
  const text = typeof query === 'string' ? query : query.query;
  const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(text) ?? [];
  if (metric === undefined || label === undefined) throw new Error(`the query of the variable job is ${text}`);
  const found = async () => {
    const values = await labelValues(label, metric);
    return values.length > 0 ? values : undefined;
  };
  return await until(`${text} has a value`, found, options);
}

export function filled(query: string, job: string): string {
  return query.replaceAll('$__rate_interval', RATE_INTERVAL).replaceAll('$job', job);
}
