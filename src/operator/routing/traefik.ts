/**
 * Traefik 3 through Ingress and its Middleware.
 * https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress/
 *
 * A router with TLS answers https only, so each host has two Ingresses: `np-…` on the https entry point and
 * `np-…-http` on the http one. cert-manager's solver Ingress has a longer rule, and so goes before both.
 */
import type {KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import type {RoutingConfig} from '../config.ts';
import type {RedirectStatus} from '../project/hosts.ts';
import {INGRESS, type Ingress} from '../resources.ts';
import {type Flavour, type Route, type RouteObject, routeMetadata} from './flavour.ts';

/** https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/crd/http/middleware/ */
export interface Middleware extends KubeObject {
  spec: {
    redirectScheme?: {scheme: string; permanent: boolean};
    redirectRegex?: {regex: string; replacement: string; permanent: boolean};
  };
}

export const MIDDLEWARE: ResourceType<Middleware> = {
  group: 'traefik.io',
  version: 'v1alpha1',
  plural: 'middlewares',
  kind: 'Middleware',
  namespaced: true,
};

const ANNOTATION_PREFIX = 'traefik.ingress.kubernetes.io/router';

export function traefik(config: RoutingConfig): Flavour {
  return {
    name: 'traefik',
    resources: [MIDDLEWARE, INGRESS],
    unsupportedStatus,
    // The Middleware first: an Ingress that names one that does not stand is not routed at all.
    build: route => [
      middleware(route),
      ingress(route, route.name, {
        [`${ANNOTATION_PREFIX}.entrypoints`]: config.traefik.httpsEntryPoint,
        [`${ANNOTATION_PREFIX}.tls`]: 'true',
        ...(route.redirect && middlewareAnnotation(route)),
      }),
      ingress(route, `${route.name}-http`, {
        [`${ANNOTATION_PREFIX}.entrypoints`]: config.traefik.httpEntryPoint,
        ...middlewareAnnotation(route),
      }),
    ],
  };

  function ingress(route: Route, name: string, annotations: Record<string, string>): RouteObject {
    const {service, port} = route.backend;
    const backend = {service: {name: service, port: typeof port === 'number' ? {number: port} : {name: port}}};
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

/** Traefik's `permanent` answers GET with 301, else 302, and every other method with 308 or 307. */
function unsupportedStatus(status: RedirectStatus): string | undefined {
  if (status === 301 || status === 302) return undefined;
  const use = status === 308 ? 301 : 302;
  return `The cluster's ingress (Traefik) cannot answer GET with ${status}; use ${use}, which it answers with ${status} for every other method.`;
}

function middlewareAnnotation(route: Route): Record<string, string> {
  return {[`${ANNOTATION_PREFIX}.middlewares`]: `${route.namespace}-${middlewareName(route)}@kubernetescrd`};
}

/** A name for each kind of answer: a switch never changes a Middleware that a published Ingress still uses. */
function middlewareName(route: Route): string {
  return route.redirect ? `${route.name}-redirect` : `${route.name}-https`;
}

function middleware(route: Route): RouteObject {
  const intent: Middleware = {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'Middleware',
    metadata: routeMetadata(route, middlewareName(route)),
    spec: route.redirect
      ? {
          redirectRegex: {
            regex: '^https?://[^/]+/(.*)$',
            // The host is strict LDH and the slash literal, so nothing of the request can become part of the host.
            replacement: `https://${route.redirect.to}/\${1}`,
            permanent: route.redirect.status === 301,
          },
        }
      : {redirectScheme: {scheme: 'https', permanent: true}},
  };
  return {resource: MIDDLEWARE, intent};
}
