/** Two edges that serve every host, for as long as DNS may point to the former one. */
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {EdgeProvider} from '../model/edge-provider.ts';

/** A route requires the same of both. Only what `next` says decides whether a host is live. */
export function moving(next: EdgeProvider, former: EdgeProvider): EdgeProvider {
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
    solverRoutes: [...next.solverRoutes, ...former.solverRoutes],
    settleMs: Math.max(next.settleMs, former.settleMs),
    problem: platform => next.problem(platform) ?? former.problem(platform),
    unsupportedStatus: (status, platform) =>
      next.unsupportedStatus(status, platform) ?? former.unsupportedStatus(status, platform),
    build: route => {
      const built = route.leavesFormer ? [] : former.build(route);
      const isBuilt = (kind: string, name: string) =>
        built.some(({resource, intent}) => resource.kind === kind && intent.metadata.name === name);
      const added = next.build(route).filter(({resource, intent}) => !isBuilt(resource.kind, intent.metadata.name));
      return [...built, ...added];
    },
    isOnFormer: ({kind}) => !ofNext.has(kind),
    backends: object => ownerOf(object).backends(object),
    emptied: object => ownerOf(object).emptied(object),
    statusOf: object => (ofNext.has(object.kind) ? statusOf(object) : undefined),
    verdict: (objects, platform) =>
      next.verdict(
        objects.filter(({kind}) => ofNext.has(kind)),
        platform,
      ),
  };
}
