/** Two edges that serve every host, for as long as DNS may point to the former one. */
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {RoutingConfig} from '../config/config.ts';
import type {EdgeProvider, RouteVerdict} from '../kinds/edge-provider.ts';

/**
 * A route requires the same of both. Once the platform has named the addresses of the next edge, only what that edge
 * says decides whether a host is live. Until then, DNS points to the former one, which decides, and is probed.
 */
export function moving(next: EdgeProvider, former: EdgeProvider, {edgeAddresses}: RoutingConfig): EdgeProvider {
  const servedBy = edgeAddresses.length > 0 ? next : former;
  const ofNext = new Set(next.resources.map(({kind}) => kind));
  const ownerOf = ({kind}: DeepReadonly<KubeObject>) => (ofNext.has(kind) ? next : former);
  const {statusOf = () => undefined} = next;
  return {
    ...next,
    name: `${next.name} and ${former.name}`,
    resources: [...former.resources, ...next.resources.filter(resource => !former.resources.includes(resource))],
    platformKinds: [...next.platformKinds, ...former.platformKinds],
    reads: object =>
      (next.platformKinds.some(({resource}) => resource.kind === object.kind) ? next : former).reads(object),
    settleMs: Math.max(next.settleMs, former.settleMs),
    problem: platform => next.problem(platform) ?? former.problem(platform),
    unsupportedStatus: (status, platform) =>
      next.unsupportedStatus(status, platform) ?? former.unsupportedStatus(status, platform),
    unsupportedWildcard: platform => next.unsupportedWildcard(platform) ?? former.unsupportedWildcard(platform),
    build: route => {
      const built = former.build(route);
      const isBuilt = (kind: string, name: string) =>
        built.some(({resource, intent}) => resource.kind === kind && intent.metadata.name === name);
      const added = next.build(route).filter(({resource, intent}) => !isBuilt(resource.kind, intent.metadata.name));
      return [...built, ...added];
    },
    backends: object => ownerOf(object).backends(object),
    refersTo: object => ownerOf(object).refersTo?.(object) ?? [],
    serves: (name, objects) => servedBy.serves(name, objects),
    emptied: object => ownerOf(object).emptied(object),
    statusOf: object => (ofNext.has(object.kind) ? statusOf(object) : undefined),
    addresses: platform => servedBy.addresses?.(platform) ?? [],
    provesRoutes: platform => servedBy.provesRoutes?.(platform) ?? false,
    verdict: (objects, platform) => {
      const ofEdge = (edge: EdgeProvider) => objects.filter(object => ownerOf(object) === edge);
      const found = next.verdict(ofEdge(next), platform);
      if (servedBy === next || !ofEdge(former).some(object => former.emptied(object))) return found;
      return noted(former.verdict(ofEdge(former), platform), found);
    },
  };
}

function noted(verdict: RouteVerdict, next: RouteVerdict): RouteVerdict {
  if (verdict.kind !== 'accepted' || next.kind === 'accepted') return verdict;
  const why = next.kind === 'rejected' ? `: ${next.why.replace(/[.\s]+$/, '')}` : '';
  return {
    ...verdict,
    note: ` The next edge does not serve the host yet, because it has not accepted ${next.what}${why}.`,
  };
}
