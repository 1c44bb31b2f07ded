/**
 * Traefik 3 through Ingress and its Middleware.
 * https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress/
 *
 * A router with TLS answers https only, so each host has two Ingresses: `np-…` on the https entry point and
 * `np-…-http` on the http one. cert-manager's solver Ingress has a longer rule, and so goes before both.
 */
import type {DeepReadonly, KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import type {RoutingConfig} from '../model/config.ts';
import type {EdgeProvider, HostRoute, RouteObject} from '../model/edge-provider.ts';
import {INGRESS, type Ingress, SERVICE} from '../model/kinds.ts';
import type {RedirectStatus} from '../model/project-hosts.ts';
import {backendService, routeMetadata} from './route-objects.ts';

/** https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/crd/http/middleware/ */
export interface Middleware extends KubeObject {
  spec: {redirectRegex: {regex: string; replacement: string; permanent: boolean}};
}

export const MIDDLEWARE: ResourceType<Middleware> = {
  group: 'traefik.io',
  version: 'v1alpha1',
  plural: 'middlewares',
  kind: 'Middleware',
  namespaced: true,
};

const ANNOTATION_PREFIX = 'traefik.ingress.kubernetes.io/router';

export function traefik(config: RoutingConfig): EdgeProvider {
  return {
    name: 'traefik',
    resources: [SERVICE, MIDDLEWARE, INGRESS],
    settleMs: 5000, // its providers gather changes for 2 s by default (providersThrottleDuration)
    unsupportedStatus,
    // What an Ingress names comes before it: one that names a Middleware that does not stand is not routed at all.
    build: route => [
      backendService(route),
      middleware(route),
      ingress(route, route.name, {
        [`${ANNOTATION_PREFIX}.entrypoints`]: config.traefik.httpsEntryPoint,
        [`${ANNOTATION_PREFIX}.tls`]: 'true',
        ...middlewareAnnotation(route),
      }),
      ingress(route, `${route.name}-http`, {
        [`${ANNOTATION_PREFIX}.entrypoints`]: config.traefik.httpEntryPoint,
        ...middlewareAnnotation(route),
      }),
    ],
    emptied,
  };

  function ingress(route: HostRoute, name: string, annotations: Record<string, string>): RouteObject {
    const backend = {service: {name: route.name, port: {number: route.backend.port.port}}};
    const https = name === route.name;
    const intent: Ingress = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: routeMetadata(route, name, annotations),
      spec: {
        ingressClassName: config.ingressClassName,
        ...(https && route.tlsSecret && {tls: [{hosts: [route.host], secretName: route.tlsSecret}]}),
        rules: [{host: route.host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
      },
    };
    return {resource: INGRESS, intent};
  }
}

/**
 * A rule without paths matches nothing. An Ingress must have a rule or a default backend, which would answer for every host
 * that nobody else does; and one without a class Traefik may take for its own.
 */
function emptied(object: DeepReadonly<KubeObject>): Record<string, unknown> | undefined {
  if (object.kind !== INGRESS.kind) return undefined;
  const {rules, tls, defaultBackend} = (object as DeepReadonly<Ingress & {spec: {defaultBackend?: unknown}}>).spec;
  if (!rules.some(({http}) => http) && !tls && !defaultBackend) return undefined;
  return {spec: {rules: rules.map(({host}) => ({host})), tls: null, defaultBackend: null}};
}

/** Traefik's `permanent` answers GET with 301, else 302, and every other method with 308 or 307. */
function unsupportedStatus(status: RedirectStatus): string | undefined {
  if (status === 301 || status === 302) return undefined;
  const use = status === 308 ? 301 : 302;
  return `The cluster's ingress (Traefik) cannot answer GET with ${status}; use ${use}, which it answers with ${status} for every other method.`;
}

function middlewareAnnotation(route: HostRoute): Record<string, string> {
  return {[`${ANNOTATION_PREFIX}.middlewares`]: `${route.namespace}-${middlewareName(route)}@kubernetescrd`};
}

function middlewareName(route: HostRoute): string {
  return `${route.name}-https`;
}

/**
 * One Middleware for both entry points, whatever the host answers. Traefik reads Middlewares and Ingresses by two
 * providers that do not wait for each other, and a router whose Middleware it does not know yet answers 404; so a host
 * that begins or ceases to redirect keeps its Ingresses and its Middleware, and only the rule in it changes.
 */
function middleware(route: HostRoute): RouteObject {
  const {host, redirect} = route;
  const intent: Middleware = {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'Middleware',
    metadata: routeMetadata(route, middlewareName(route)),
    spec: {
      redirectRegex: {
        // Of a host that serves, what came by https does not match and passes.
        regex: redirect ? '^https?://[^/]+/(.*)$' : '^http://[^/]+/(.*)$',
        // The host is strict LDH and the slash literal, so nothing of the request can become part of the host.
        replacement: `https://${redirect?.to ?? host}/\${1}`,
        permanent: (redirect?.status ?? 301) === 301,
      },
    },
  };
  return {resource: MIDDLEWARE, intent};
}
