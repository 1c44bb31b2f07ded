/** How much work the operator, cert-manager, and the API server do. */
import {RELEASE} from '../../support/install.ts';
import {listAll} from '../../support/kube.ts';
import {POD, type Pod} from '../../support/workload.ts';
import {admin, cluster} from '../world.ts';

export interface Work {
  /** Requests of all replicas of the operator. */
  readonly operator: number;
  /** Everyone's writes to routes, certificates, and Nameplate's own kinds, by verb and resource. */
  readonly writes: ReadonlyMap<string, number>;
  /** CPU time of all replicas of the operator. */
  readonly cpuSeconds: number;
  /** Restarts of the operator's containers, by pod. */
  readonly restarts: string;
}

interface RunningPod extends Pod {
  status?: Pod['status'] & {podIP?: string; containerStatuses?: {restartCount: number}[]};
}

const PORT = 8080;
const GROUPS = ['networking.k8s.io', 'cert-manager.io', 'acme.cert-manager.io', 'nameplate.dev'];
const WRITES = ['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE'];

/** Counted since each program started. */
export async function measureWork(): Promise<Work> {
  const labelSelector = `app.kubernetes.io/name=${RELEASE.name},app.kubernetes.io/component!=messages`;
  const pods: RunningPod[] = await listAll(admin, POD, {namespace: RELEASE.namespace, labelSelector});
  const metrics = await Promise.all(pods.map(metricsOf));
  const operator = metrics.map(text => sum(valuesOf(text, 'rest_client_requests_total')));
  const cpuSeconds = sum(metrics.flatMap(text => valuesOf(text, 'process_cpu_seconds_total')));
  const restarts = pods.map(({metadata, status}) => `${metadata.uid} ${status?.containerStatuses?.[0]?.restartCount}`);
  const samples = parse(await cluster.kubectl('get', '--raw', '/metrics'), 'apiserver_request_total');
  const written = samples.filter(
    ({labels}) =>
      GROUPS.includes(labels.group ?? '') && WRITES.includes(labels.verb ?? '') && labels.code?.startsWith('2'),
  );
  const writes = new Map<string, number>();
  for (const {labels, value} of written) {
    const what = [labels.verb, labels.resource, labels.subresource].filter(Boolean).join(' ');
    writes.set(what, (writes.get(what) ?? 0) + value);
  }
  return {operator: sum(operator), writes, cpuSeconds, restarts: restarts.sort().join(', ')};
}

/** The writes between two measurements, the most frequent first. */
export function frequentWrites(first: Work, last: Work): [what: string, count: number][] {
  const all = [...last.writes].map(([what, count]): [string, number] => [what, count - (first.writes.get(what) ?? 0)]);
  return all.filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
}

async function metricsOf({status}: RunningPod): Promise<string> {
  const response = await fetch(`http://${status?.podIP}:${PORT}/metrics`);
  return await response.text();
}

function valuesOf(text: string, metric: string): number[] {
  return parse(text, metric).map(({value}) => value);
}

interface Sample {
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly value: number;
}

/** The samples of one metric in Prometheus's text format. */
function parse(text: string, metric: string): Sample[] {
  return text.split('\n').flatMap(line => {
    const isMeant = line.startsWith(`${metric}{`) || line.startsWith(`${metric} `);
    const found = isMeant ? /^\w+(?:\{(.*)\})? (\S+)$/.exec(line) : undefined;
    if (!found) return [];
    const labels = [...(found[1] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value]) => [name, value]);
    return [{labels: Object.fromEntries(labels), value: Number(found[2])}];
  });
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
