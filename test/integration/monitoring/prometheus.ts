/** Prometheus as a process of the test. */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {cacheRoot} from '../../cluster/cache.ts';
import {type Child, failOnExit, startChild, which} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {until} from '../../cluster/wait.ts';
import {unpackedPackages} from '../../support/debian-packages.ts';

export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface RangeSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [number, number])[];
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface Prometheus {
  /** Runs an instant query for the current time. */
  query(expression: string): Promise<readonly Series[]>;
  /** Values of the last `seconds`, one every two seconds, as pairs of seconds since the start and value. */
  queryRange(expression: string, seconds: number): Promise<readonly RangeSeries[]>;
  /** The values that a label has in the series of a metric. */
  labelValues(label: string, metric: string): Promise<readonly string[]>;
  /** Pending and firing alerts. */
  alerts(): Promise<readonly Alert[]>;
  stop(): Promise<void>;
}

/** https://prometheus.io/docs/prometheus/latest/querying/api/ */
interface Answer<Data> {
  readonly status: string;
  readonly error?: string;
  readonly data: Data;
}

interface Result<Values> {
  readonly result: readonly (Values & {readonly metric: Record<string, string>})[];
}

const STEP_SECONDS = 2;

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

/** Prometheus from this system's packages, unpacked into the cache; without apt, the one on PATH. */
export async function ensurePrometheus(log: (line: string) => void = console.error): Promise<PrometheusPrograms> {
  const [apt, dpkg] = [which('apt-get'), which('dpkg')];
  if (apt === undefined || dpkg === undefined) {
    const [prometheus, promtool] = [which('prometheus'), which('promtool')];
    if (prometheus && promtool) return {prometheus, promtool};
    throw new Error('the tests need prometheus and promtool on PATH, and there is no apt-get to fetch them');
  }
  const packages = async () => ['prometheus'];
  const what = 'Prometheus, for the tests of metrics';
  const folder = await unpackedPackages({cache: cacheRoot(), name: 'prometheus', packages, what, apt, dpkg, log});
  return {prometheus: join(folder, 'usr/bin/prometheus'), promtool: join(folder, 'usr/bin/promtool')};
}

/** `config`: the content of its configuration file. */
export async function startPrometheus(folder: string, config: object): Promise<Prometheus> {
  const {prometheus} = await ensurePrometheus();
  const [port] = await freePorts(1);
  const [file, log] = [join(folder, 'prometheus.json'), join(folder, 'prometheus.log')];
  await writeFile(file, JSON.stringify(config)); // JSON is YAML
  const argv = [
    prometheus,
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'prometheus')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child: Child = startChild('prometheus', argv, {log});
  const address = `http://127.0.0.1:${port}`;
  const ready = until('Prometheus is ready', async () => (await fetch(`${address}/-/ready`)).ok);
  await Promise.race([ready, failOnExit(child, log)]);
  return {
    query: async expression => {
      const parameters = {query: expression};
      const {result} = await request<Result<{value: [number, string]}>>(`${address}/api/v1/query`, parameters);
      return result.map(({metric, value: [, text]}) => ({labels: metric, value: Number(text)}));
    },
    queryRange: async (expression, seconds) => {
      const end = Date.now() / 1000;
      const start = end - seconds;
      const range = {query: expression, start: `${start}`, end: `${end}`, step: `${STEP_SECONDS}`};
      const {result} = await request<Result<{values: [number, string][]}>>(`${address}/api/v1/query_range`, range);
      return result.map(({metric, values}) => ({
        labels: metric,
        points: values.map(([second, text]) => [second - start, Number(text)] as const),
      }));
    },
    labelValues: (label, metric) => request(`${address}/api/v1/label/${label}/values`, {'match[]': metric}),
    alerts: async () => (await request<{alerts: Alert[]}>(`${address}/api/v1/alerts`)).alerts,
    stop: child.kill,
  };
}

async function request<Data>(url: string, parameters: Readonly<Record<string, string>> = {}): Promise<Data> {
  const query = new URLSearchParams(parameters);
  const {status, error, data} = (await (await fetch(`${url}?${query}`)).json()) as Answer<Data>;
  if (status !== 'success') throw new Error(`${url}?${query}: ${error}`);
  return data;
}
