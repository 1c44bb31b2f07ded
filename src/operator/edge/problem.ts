/** A problem of the edge concerns the operator as a whole: it is reported once, and routed hosts keep their state. */
import type {Registry} from 'prom-client';
import {metricsIn} from '../../operations/metrics.ts';
import type {Stores} from '../caches/stores.ts';
import type {EdgeProvider} from '../kinds/edge-provider.ts';

/** Returns the text for the readiness check, if nothing can be routed. */
export function watchEdge(
  edge: Pick<EdgeProvider, 'problem'>,
  {platform}: Pick<Stores, 'platform'>,
  registry: Registry,
): () => string | undefined {
  metricsIn(registry).reading(
    'nameplate_edge_usable',
    '0 if the Gateway or the IngressClass of the configuration is missing or unsuitable.',
    () => (edge.problem(platform) ? 0 : 1),
  );
  return () => {
    const problem = edge.problem(platform);
    return problem && `${problem.message} Routed hosts keep their state; no route is created or changed.`;
  };
}
