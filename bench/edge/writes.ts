/** The writes to route objects, both ours and the edge's. */
import type {Cluster} from '../../test/cluster/cluster.ts';

/** Writes to the route kinds since the API server started, by kind and subresource. */
export async function writes(cluster: Pick<Cluster, 'kubectl'>): Promise<Map<string, number>> {
  const metrics = await cluster.kubectl('get', '--raw', '/metrics');
  const found = new Map<string, number>();
  for (const [, labels = '', value] of metrics.matchAll(/^apiserver_request_total\{(.+)\} (\S+)$/gm)) {
    const label = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const isWrite = ['POST', 'PUT', 'PATCH', 'APPLY'].includes(label('verb')) && label('code').startsWith('2');
    if (!isWrite || !/^(ingresses|middlewares|httproutes|listenersets|gateways)$/.test(label('resource'))) continue;
    const what = [label('resource'), label('subresource')].filter(Boolean).join('/');
    found.set(what, (found.get(what) ?? 0) + Number(value));
  }
  return found;
}

/** Per host, by kind and subresource. */
export function perHost(
  after: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>,
  hosts: number,
): string {
  const each = [...after].map(([what, count]) => [what, (count - (before.get(what) ?? 0)) / hosts] as const);
  return each.map(([what, count]) => `${what} ${count.toFixed(count < 0.1 ? 3 : 1)}`).join(', ');
}
