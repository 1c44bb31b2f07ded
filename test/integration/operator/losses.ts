/** What live hosts must not lose, whatever happens to the operator. */
import {isDeepStrictEqual} from 'node:util';
import {findCondition} from '../../../src/api/conditions.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../../src/runtime/kube/object.ts';
import type {OperatorWorld} from './operator-world.ts';

/** Something that serves a host. */
type Part = KubeObject & {readonly spec?: unknown};

const PARTS: ResourceType<Part>[] = [kinds.SERVICE, MIDDLEWARE, kinds.INGRESS, kinds.CERTIFICATE, kinds.SECRET];

/** What serves the hosts that are ready now and the default hosts of ready Projects, by kind. */
export function partsOfLive({history}: Pick<OperatorWorld, 'history'>): Map<ResourceType<Part>, Part[]> {
  const routes = [
    ...history.list(kinds.DOMAIN).filter(isReady).map(nameOf),
    ...history.list(kinds.PROJECT).filter(isReady).map(nameOfDefault),
  ];
  const names = new Set(routes.flatMap(name => [name, `${name}-http`, `${name}-https`]));
  const ingresses = history.list(kinds.INGRESS).filter(ingress => names.has(keyOf(ingress)));
  for (const backend of ingresses.flatMap(backendsOf)) names.add(backend);
  return new Map(PARTS.map(kind => [kind, history.list(kind).filter(object => names.has(keyOf(object)))]));
}

/**
 * Records what the hosts that are ready now lose from now on: Ready, or a part of what serves them. A part whose spec
 * changes counts, too: an Ingress without rules still exists.
 */
export function watchLosses(world: OperatorWorld): () => string[] {
  const {history} = world;
  const ready = new Set(history.list(kinds.DOMAIN).filter(isReady).map(keyOf));
  const domains = history.versions(kinds.DOMAIN).length;
  const parts = [...partsOfLive(world)].map(([kind, objects]) => {
    const specs = new Map(objects.map(object => [keyOf(object), object.spec]));
    return {kind, specs, from: history.versions(kind).length};
  });
  return () => [
    ...history
      .versions(kinds.DOMAIN)
      .slice(domains)
      .filter(({key, type, object}) => ready.has(key) && (type === 'DELETED' || !isReady(object)))
      .map(({key}) => `Domain ${key} is not Ready`),
    ...parts.flatMap(({kind, specs, from}) =>
      history
        .versions(kind)
        .slice(from)
        .filter(({key, type, object}) => specs.has(key) && !(type !== 'DELETED' && isSame(object, specs.get(key))))
        .map(({key, type}) => `${kind.kind} ${key} ${type === 'DELETED' ? 'is gone' : 'has changed'}`),
    ),
  ];
}

export function isReady({status}: kinds.Domain | kinds.Project): boolean {
  return findCondition(status?.conditions, 'Ready')?.status === 'True';
}

function isSame({spec}: Part, before: unknown): boolean {
  return isDeepStrictEqual(spec, before);
}

/** The key of a host's route. Its Certificate and its Secret have the same. */
function nameOf({metadata: {namespace = '', name}}: kinds.Domain): string {
  return `${namespace}/${routeName(namespace, name)}`;
}

function nameOfDefault({metadata: {namespace = ''}, status}: kinds.Project): string {
  return `${namespace}/${routeName(namespace, status?.defaultHost ?? '')}`;
}

function backendsOf({metadata: {namespace}, spec}: kinds.Ingress): string[] {
  const paths = spec.rules.flatMap(({http}) => http?.paths ?? []);
  return paths.map(({backend}) => `${namespace}/${backend.service.name}`);
}
