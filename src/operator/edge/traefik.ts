/**
 * Traefik 3 through Ingress and its Middleware.
 * https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/ingress/
 *
 * A host has an Ingress `np-…` on the HTTPS entry point. If it redirects, it also has `np-…-http` on the HTTP one,
 * because a router with TLS serves only HTTPS, and a Middleware for both; otherwise, the platform's Ingress without
 * a host redirects it to HTTPS. On the HTTP entry point, priorities are written: that redirect has 1, these routes
 * have 2, challenges 3. cert-manager's solver Ingress has the length of its rule, so it takes precedence over all of
 * them.
 */
import {isWildcard} from '../../dns/dns.ts';
import {type DeepReadonly, type KubeObject, resourceType} from '../../runtime/kube/object.ts';
import type {RoutingConfig} from '../config/config.ts';
import type {EdgeProblem, EdgeProvider, HostRoute, RouteObject} from '../kinds/edge-provider.ts';
import {INGRESS, INGRESS_CLASS, type Ingress, SERVICE} from '../kinds/kinds.ts';
import type {RedirectStatus} from '../kinds/project-hosts.ts';
import {backendService, routeMetadata} from './route-objects.ts';

/** https://doc.traefik.io/traefik/reference/routing-configuration/kubernetes/crd/http/middleware/ */
export interface Middleware extends KubeObject {
  spec: {redirectRegex: {regex: string; replacement: string; permanent: boolean}};
}

export const MIDDLEWARE = resourceType<Middleware>('traefik.io/v1alpha1', 'Middleware', 'middlewares');

const ANNOTATION_PREFIX = 'traefik.ingress.kubernetes.io/router';
const MIDDLEWARES = `${ANNOTATION_PREFIX}.middlewares`;
/** Above the redirect of all hosts to HTTPS, and below challenges. The chart has both. */
const HTTP_PRIORITY = '2';
/** Below every other host: the priority of a router is the length of its rule, and that of a wildcard is longer. */
const WILDCARD_PRIORITY = '1';

export function traefik(config: RoutingConfig): EdgeProvider {
  return {
    name: 'traefik',
    resources: [SERVICE, MIDDLEWARE, INGRESS],
    platformKinds: [{resource: INGRESS_CLASS, metadataOnly: true}],
    reads: ({metadata}) => metadata.name === config.ingressClassName,
    settleMs: 5000, // its providers collect changes for 2 s by default (providersThrottleDuration)
    problem: platform => (platform.get(INGRESS_CLASS, config.ingressClassName) ? undefined : noIngressClass(config)),
    unsupportedStatus,
    unsupportedWildcard: () => undefined,
    // An Ingress comes last: Traefik does not route one that names a missing Middleware.
    build: route => {
      const https = {
        [`${ANNOTATION_PREFIX}.entrypoints`]: config.traefik.httpsEntryPoint,
        [`${ANNOTATION_PREFIX}.tls`]: 'true',
        ...(isWildcard(route.host) && {[`${ANNOTATION_PREFIX}.priority`]: WILDCARD_PRIORITY}),
      };
      const {redirect} = route;
      if (!redirect) return [backendService(route), ingress(route, route.name, {...https, [MIDDLEWARES]: null})];
      const middlewares = {[MIDDLEWARES]: `${route.namespace}-${middlewareName(route)}@kubernetescrd`};
      const http = {
        [`${ANNOTATION_PREFIX}.entrypoints`]: config.traefik.httpEntryPoint,
        [`${ANNOTATION_PREFIX}.priority`]: HTTP_PRIORITY,
      };
      return [
        backendService(route),
        middleware(route, redirect),
        ingress(route, route.name, {...https, ...middlewares}),
        ingress(route, `${route.name}-http`, {...http, ...middlewares}),
      ];
    },
    backends,
    refersTo,
    serves,
    emptied,
    verdict: () => ({kind: 'accepted'}), // Ingress and Middleware have no status that says so
  };

  function ingress(route: HostRoute, name: string, annotations: Record<string, string | null>): RouteObject {
    const backend = {service: {name: route.backend.name, port: {number: route.backend.port.port}}};
    const https = name === route.name;
    const intent: Ingress = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: routeMetadata(route, name, annotations),
      spec: {
        ingressClassName: config.ingressClassName,
        tls: https && route.tlsSecret !== undefined ? [{hosts: [route.host], secretName: route.tlsSecret}] : null,
        rules: [{host: route.host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
      },
    };
    return {resource: INGRESS, intent};
  }
}

function noIngressClass({ingressClassName}: RoutingConfig): EdgeProblem {
  const message = `The platform's IngressClass ${ingressClassName} is missing. The platform team must create it, or correct config.routing.ingressClassName.`;
  return {reason: 'IngressClassNotFound', message};
}

/** An Ingress that somebody else may have changed. */
type EditedIngress = KubeObject & {spec: Partial<Ingress['spec']> & {defaultBackend?: unknown}};

function backends(object: DeepReadonly<KubeObject>): string[] {
  if (object.kind !== INGRESS.kind) return [];
  const {rules = []} = (object as DeepReadonly<EditedIngress>).spec ?? {};
  return rules.flatMap(({http}) => http?.paths.flatMap(({backend}) => backend.service?.name ?? []) ?? []);
}

/**
 * A rule without paths matches nothing. The rules cannot be removed: an Ingress must have a rule or a default backend,
 * and that backend would serve every unknown host. Nor can the class: Traefik may serve an Ingress without one.
 */
function emptied(object: DeepReadonly<KubeObject>): Record<string, unknown> | undefined {
  if (object.kind !== INGRESS.kind) return undefined;
  const {rules = [], tls, defaultBackend} = (object as DeepReadonly<EditedIngress>).spec;
  if (!rules.some(({http}) => http) && !tls && !defaultBackend) return undefined;
  const kept = rules.length > 0 ? rules.map(({host}) => ({host})) : [{host: 'nothing.invalid'}];
  return {spec: {rules: kept, tls: null, defaultBackend: null}};
}

/** With `permanent`, Traefik responds with 301 to GET and 308 to other methods; without it, with 302 and 307. */
function unsupportedStatus(status: RedirectStatus): string | undefined {
  if (status === 301 || status === 302) return undefined;
  const [use, others] = status === 308 ? [301, 308] : [302, 307];
  return `The cluster's ingress controller (Traefik) cannot respond to GET with ${status}. Use ${use}; Traefik then answers GET with ${use} and every other method with ${others}.`;
}

function middlewareName({name}: Pick<HostRoute, 'name'>): string {
  return `${name}-https`;
}

/** Traefik reads Middlewares and Ingresses with two providers that do not wait for each other. */
function refersTo({metadata: {namespace, annotations}}: DeepReadonly<KubeObject>): string[] {
  const found = annotations?.[MIDDLEWARES];
  const prefix = `${namespace}-`;
  if (!found?.startsWith(prefix)) return [];
  return [`${MIDDLEWARE.kind}/${found.slice(prefix.length).replace(/@kubernetescrd$/, '')}`];
}

/** Traefik does not route an Ingress that names a missing Middleware. */
function serves(name: string, objects: readonly DeepReadonly<KubeObject>[]): boolean {
  const https = objects.find(({kind, metadata}) => kind === INGRESS.kind && metadata.name === name);
  const ids = objects.map(({kind, metadata}) => `${kind}/${metadata.name}`);
  return https !== undefined && emptied(https) !== undefined && refersTo(https).every(id => ids.includes(id));
}

/** One Middleware for both entry points. */
function middleware(route: HostRoute, {to, status}: NonNullable<HostRoute['redirect']>): RouteObject {
  const intent: Middleware = {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'Middleware',
    metadata: routeMetadata(route, middlewareName(route)),
    spec: {
      redirectRegex: {
        regex: '^https?://[^/]+/(.*)$',
        // The host is strict LDH and the slash is literal, so no part of the request can become part of the host.
        replacement: `https://${to}/\${1}`,
        permanent: status === 301,
      },
    },
  };
  return {resource: MIDDLEWARE, intent};
}
