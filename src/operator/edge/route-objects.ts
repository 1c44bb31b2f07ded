/** The objects of a route: their common metadata, and what they publish. Pure. */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {H2C, hostLabel} from '../kinds/derived-names.ts';
import type {EdgeProvider, HostRoute, PublishedRoute, RouteObject} from '../kinds/edge-provider.ts';
import {SERVICE, type Service} from '../kinds/kinds.ts';

const REDIRECT_TO = ANNOTATION.redirectTo;
/**
 * Traefik reads no `appProtocol` for an Ingress:
 * https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress/
 */
const TRAEFIK_SCHEME = 'traefik.ingress.kubernetes.io/service.serversscheme';

/** The metadata of every object of a route. An annotation that is null is removed. */
export function routeMetadata(route: HostRoute, name: string, annotations: Record<string, string | null> = {}) {
  return {
    name,
    namespace: route.namespace,
    labels: {
      [LABEL.managedBy]: 'nameplate',
      [LABEL.host]: hostLabel(route.host),
      ...(route.project !== undefined && {[LABEL.project]: route.project}),
    },
    annotations: {
      [ANNOTATION.host]: route.host,
      ...(route.redirect && {[REDIRECT_TO]: route.redirect.to}),
      ...annotations,
    },
    ownerReferences: [route.owner],
  };
}

/**
 * The Service of all routes of a project: the operator's own, with the selector, port, and IP families of the tenant's
 * Service. That one could become an ExternalName, lose its selector, or collide with another in the keys that an
 * ingress joins from namespace, name, and port. Ours is headless, because the edge connects to the pods directly. It
 * has no owner: a host that moves to another Project uses it until its own route has changed.
 */
export function backendService({namespace, backend}: HostRoute): RouteObject {
  const {name, project, selector, port, ipFamilies, ...options} = backend;
  const intent: Service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace,
      labels: {[LABEL.managedBy]: 'nameplate', [LABEL.backend]: project},
      ...(port.appProtocol === H2C && {annotations: {[TRAEFIK_SCHEME]: 'h2c'}}),
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: {...selector},
      ports: [{...port}],
      ...(ipFamilies && {ipFamilies: [...ipFamilies]}),
      ...options,
    },
  };
  return {resource: SERVICE, intent};
}

/**
 * The route that a host's cached objects publish now; undefined if they publish nothing. A partial change counts as a
 * redirect, so that no other host redirects to one that may redirect.
 */
export function publishedRoute(
  edge: EdgeProvider,
  objects: readonly DeepReadonly<KubeObject>[],
): PublishedRoute | undefined {
  if (!objects.some(object => edge.emptied(object) !== undefined)) return undefined;
  const to = objects.flatMap(({metadata}) => metadata.annotations?.[REDIRECT_TO] ?? [])[0];
  return to === undefined ? {kind: 'serve'} : {kind: 'redirect', to};
}
