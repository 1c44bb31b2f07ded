/** The operator's writes, as the API server counts them. */
import type {Cluster} from '../cluster/cluster.ts';

/**
 * Group, resource, and verbs of writes that only the operator makes in this cluster. Its Lease is left out, and so are
 * its deletions of Ingresses, which look the same as those of cert-manager's solvers.
 */
const OPERATORS = new Map<string, readonly string[]>([
  ['nameplate.dev/domains/status', ['APPLY']],
  ['nameplate.dev/projects/status', ['APPLY']],
  ['nameplate.dev/domainclaims', ['POST', 'PUT', 'DELETE']],
  ['cert-manager.io/certificates', ['APPLY', 'DELETE']],
  ['cert-manager.io/certificates/status', ['APPLY']],
  ['cert-manager.io/certificaterequests/status', ['APPLY']],
  ['networking.k8s.io/ingresses', ['APPLY']],
  ['/services', ['APPLY']],
  ['traefik.io/middlewares', ['APPLY', 'DELETE']],
  ['/secrets', ['PATCH']],
  ['events.k8s.io/events', ['POST']],
]);

/** Writes since the API server started, by resource and verb: "domainclaims POST". */
export async function apiWrites({kubectl}: Pick<Cluster, 'kubectl'>): Promise<Map<string, number>> {
  const writes = new Map<string, number>();
  for (const line of (await kubectl('get', '--raw', '/metrics')).split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue;
    const label = (name: string) => new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? '';
    const resource = [label('resource'), label('subresource')].filter(Boolean).join('/');
    const verb = label('verb');
    if (!OPERATORS.get(`${label('group')}/${resource}`)?.includes(verb)) continue;
    const name = `${resource} ${verb}`;
    writes.set(name, (writes.get(name) ?? 0) + Number(line.slice(line.lastIndexOf(' '))));
  }
  return writes;
}

export function writesBetween(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) {
  const made = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
  return new Map(made.filter(([, count]) => count > 0));
}
