/** What the objects of a route have in common at every edge. Pure. */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import {H2C, hostLabel} from '../kinds/derived-names.ts';
import type {HostRoute, RouteObject} from '../kinds/edge-provider.ts';
import {SERVICE, type Service} from '../kinds/kinds.ts';

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
      ...(route.redirect && {[ANNOTATION.redirectTo]: route.redirect.to}),
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
