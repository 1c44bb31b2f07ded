/**
 * Any implementation of Gateway API with ListenerSets. https://gateway-api.sigs.k8s.io
 *
 * A host has a ListenerSet with an https listener, and an HTTPRoute `np-…` on it. If it redirects, it also has
 * `np-…-http` on the http listener of the platform's Gateway; otherwise, the platform's route without a host name
 * redirects it to HTTPS. A host with any route of its own on port 80 never falls through to that one, so such a
 * route also says where challenges are answered. An http listener for each host would take it off the shared listener.
 */
import {isWildcard} from '../../dns/dns.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import type {RoutingConfig} from '../config/config.ts';
import {
  CHALLENGE_PATH,
  type EdgeProvider,
  type HostRoute,
  type PlatformReader,
  PROBE_PATH,
  type RouteObject,
  type RouteVerdict,
} from '../kinds/edge-provider.ts';
import {SERVICE} from '../kinds/kinds.ts';
import type {RedirectStatus} from '../kinds/project-hosts.ts';
import {
  CLIENT_TRAFFIC_POLICY,
  GATEWAY,
  GATEWAY_CLASS,
  GATEWAY_GROUP,
  type GatewayParentRef,
  HTTP_ROUTE,
  type HttpRoute,
  LISTENER,
  LISTENER_SET,
  type ListenerSet,
} from './gateway-kinds.ts';
import {isRead, pending, statusOf, verdictOn} from './gateway-status.ts';
import {matchBelow, wildcards} from './gateway-wildcards.ts';
import {backendService, routeMetadata} from './route-objects.ts';

/** Everything that this file writes needs these; both are Extended. */
const REQUIRED = ['ListenerSet', 'HTTPRouteSchemeRedirect'];

/** `challengeHost`: no host of a tenant, so that only the platform's route without a host name serves it. */
export function gateway({gateway: config}: RoutingConfig, challengeHost: string): EdgeProvider {
  const {namespace, name, httpListener, httpsListener} = config;
  const shown = `${namespace}/${name}`;
  const ofWildcards = wildcards(config);
  const platformGateway = {group: GATEWAY_GROUP, kind: GATEWAY.kind, name, namespace};

  return {
    name: 'gateway',
    resources: [SERVICE, ...ofWildcards.resources, HTTP_ROUTE, LISTENER_SET],
    platformKinds: [{resource: GATEWAY}, {resource: GATEWAY_CLASS}, ...ofWildcards.platformKinds],
    reads,
    exclusive: LISTENER_SET,
    settleMs: 2000,
    problem,
    unsupportedStatus,
    unsupportedWildcard: ofWildcards.unsupported,
    prepare: ofWildcards.prepare,
    addresses: platform => (platform.get(GATEWAY, shown)?.status?.addresses ?? []).map(({value}) => value),
    provesRoutes: platform => featuresOf(platform).names.has('HTTPRoutePathRedirect'),
    // The ListenerSet comes last: from then on, no other listener serves the host.
    build: route => [
      ...(route.redirect ? [] : [backendService(route)]),
      httpRoute(route, route.name, httpsParents(route), [
        ...(route.proof !== undefined && !route.redirect ? [probeRule(route, route.proof)] : []),
        route.redirect ? redirectRule(route.redirect) : backendRule(route),
      ]),
      ...(route.redirect
        ? [
            httpRoute(
              route,
              `${route.name}-http`,
              [{...platformGateway, sectionName: httpListener}],
              [challengeRule(challengeHost), redirectRule(route.redirect)],
            ),
          ]
        : []),
      ...(route.tlsSecret === undefined ? [] : [listenerSet(route, route.tlsSecret)]),
    ],
    backends,
    serves,
    emptied,
    statusOf,
    unread,
    verdict,
  };

  function reads(object: DeepReadonly<KubeObject>): boolean {
    return [GATEWAY_CLASS.kind, CLIENT_TRAFFIC_POLICY.kind].includes(object.kind) || keyOf(object) === shown;
  }

  function problem(platform: PlatformReader) {
    const found = platform.get(GATEWAY, shown);
    const className = found?.spec.gatewayClassName ?? '';
    if (!found || !platform.get(GATEWAY_CLASS, className)) {
      const missing = found ? `GatewayClass ${className} of the platform's Gateway` : `platform's Gateway ${shown}`;
      const message = `The ${missing} is missing. The platform team must create it, or correct config.routing.gateway.`;
      return {reason: 'GatewayNotFound', message} as const;
    }
    const features = featuresOf(platform);
    const lacks = features.isListed ? REQUIRED.filter(feature => !features.names.has(feature)) : [];
    if (lacks.length === 0) return undefined;
    const message = `The platform's GatewayClass ${className} does not support ${lacks.join(' and ')}, which the routes need. The platform team must choose another implementation of Gateway API.`;
    return {reason: 'GatewayUnsuitable', message} as const;
  }

  function classOf(platform: PlatformReader) {
    return platform.get(GATEWAY_CLASS, platform.get(GATEWAY, shown)?.spec.gatewayClassName ?? '');
  }

  /** Some implementations support more than they list, so the configuration can add to the list. */
  function featuresOf(platform: PlatformReader) {
    const listed = (classOf(platform)?.status?.supportedFeatures ?? []).map(feature => feature.name);
    return {names: new Set([...listed, ...config.supportedFeatures]), isListed: listed.length > 0};
  }

  function unsupportedStatus(status: RedirectStatus, platform: PlatformReader): string | undefined {
    if (status === 301 || status === 302) return undefined; // Core
    const feature = `HTTPRoute${status}RedirectStatusCode`;
    if (featuresOf(platform).names.has(feature)) return undefined;
    return `The cluster's Gateway is not known to support redirects with ${status}. Use ${status === 308 ? 301 : 302}, or ask the platform team to add ${feature} to config.routing.gateway.supportedFeatures if the Gateway does support it.`;
  }

  /**
   * The first one must accept the route. A default host whose certificate is new stays on the shared listener
   * meanwhile.
   */
  function httpsParents({name: own, tlsSecret, project}: HostRoute): GatewayParentRef[] {
    const shared = {...platformGateway, sectionName: httpsListener};
    if (tlsSecret === undefined) return [shared];
    const set = {group: GATEWAY_GROUP, kind: LISTENER_SET.kind, name: own, sectionName: LISTENER};
    return project === undefined ? [set] : [set, shared];
  }

  function listenerSet(route: HostRoute, tlsSecret: string): RouteObject {
    const intent: ListenerSet = {
      apiVersion: `${GATEWAY_GROUP}/v1`,
      kind: LISTENER_SET.kind,
      metadata: routeMetadata(route, route.name),
      spec: {
        parentRef: platformGateway,
        listeners: [
          {
            name: LISTENER,
            port: 443,
            protocol: 'HTTPS',
            hostname: route.host,
            tls: {certificateRefs: [{name: tlsSecret}]},
            allowedRoutes: {namespaces: {from: 'Same'}, kinds: [{kind: HTTP_ROUTE.kind}]},
          },
        ],
      },
    };
    return {resource: LISTENER_SET, intent};
  }

  /** Only a default host is served before it has a ListenerSet, and nothing refers to a new route yet. */
  function unread(objects: readonly DeepReadonly<KubeObject>[], platform: PlatformReader) {
    const controller = classOf(platform)?.spec.controllerName;
    const routes = objects.filter(({kind}) => kind === HTTP_ROUTE.kind) as DeepReadonly<HttpRoute>[];
    const found = routes.find(
      object =>
        (object.spec.parentRefs ?? []).length > 1 && object.metadata.generation !== 1 && !isRead(object, controller),
    );
    return found && pending(found);
  }

  function verdict(objects: readonly DeepReadonly<KubeObject>[], platform: PlatformReader): RouteVerdict {
    const controller = classOf(platform)?.spec.controllerName;
    let waits: RouteVerdict | undefined;
    for (const object of objects.toReversed()) {
      const found = verdictOn(object, controller);
      if (found.kind === 'rejected') return found;
      if (found.kind === 'pending') waits ??= found;
    }
    return waits ?? {kind: 'accepted'};
  }
}

type Rule = HttpRoute['spec']['rules'][number];

function httpRoute(route: HostRoute, name: string, parentRefs: GatewayParentRef[], rules: Rule[]): RouteObject {
  const intent: HttpRoute = {
    apiVersion: `${GATEWAY_GROUP}/v1`,
    kind: HTTP_ROUTE.kind,
    metadata: routeMetadata(route, name),
    spec: {parentRefs, hostnames: [route.host], rules},
  };
  return {resource: HTTP_ROUTE, intent};
}

function backendRule({host, backend}: HostRoute): Rule {
  return {
    ...(isWildcard(host) && {matches: [{headers: [matchBelow(host)]}]}),
    backendRefs: [{name: backend.name, port: backend.port.port}],
  };
}

function redirectRule({to, status}: NonNullable<HostRoute['redirect']>): Rule {
  const requestRedirect = {scheme: 'https', hostname: to, statusCode: status} as const;
  return {filters: [{type: 'RequestRedirect', requestRedirect}]};
}

/**
 * The responder is in another namespace, and a reference to it would need a ReferenceGrant for each namespace. CAs
 * follow redirects to port 80. A solver route of cert-manager has the exact path, so it comes first.
 */
function challengeRule(challengeHost: string): Rule {
  const requestRedirect = {scheme: 'http', hostname: challengeHost, statusCode: 302} as const;
  return {
    matches: [{path: {type: 'PathPrefix', value: CHALLENGE_PATH}}],
    filters: [{type: 'RequestRedirect', requestRedirect}],
  };
}

function backends(object: DeepReadonly<KubeObject>): string[] {
  if (object.kind !== HTTP_ROUTE.kind) return [];
  const {rules = []} = (object as DeepReadonly<HttpRoute>).spec ?? {};
  return rules.flatMap(({backendRefs = []}) => backendRefs.map(({name}) => name));
}

/** Answered by the edge itself: the project's pods neither see a probe nor can imitate the answer. */
function probeRule({host}: HostRoute, proof: string): Rule {
  const headers = isWildcard(host) && {headers: [matchBelow(host)]};
  const path = {type: 'ReplaceFullPath', replaceFullPath: `${PROBE_PATH}/${proof}`} as const;
  return {
    matches: [{path: {type: 'Exact', value: PROBE_PATH}, ...headers}],
    filters: [{type: 'RequestRedirect', requestRedirect: {path, statusCode: 302}}],
  };
}

/** Through its ListenerSet or, if it is a default host, through the shared listener. */
function serves(name: string, objects: readonly DeepReadonly<KubeObject>[]): boolean {
  const https = objects.find(({kind, metadata}) => kind === HTTP_ROUTE.kind && metadata.name === name);
  const isThere = (parent: GatewayParentRef) =>
    parent.kind !== LISTENER_SET.kind ||
    objects.some(object => object.kind === parent.kind && object.metadata.name === parent.name && emptied(object));
  return (https as DeepReadonly<HttpRoute> | undefined)?.spec.parentRefs?.some(isThere) ?? false;
}

/**
 * An HTTPRoute without parents is attached nowhere. A ListenerSet must have a listener, and while it names the host,
 * another one for the host is a conflict.
 */
function emptied(object: DeepReadonly<KubeObject>): Record<string, unknown> | undefined {
  if (object.kind === HTTP_ROUTE.kind) {
    const {parentRefs = []} = (object as DeepReadonly<HttpRoute>).spec;
    return parentRefs.length === 0 ? undefined : {spec: {parentRefs: null}};
  }
  if (object.kind !== LISTENER_SET.kind) return undefined;
  const {listeners} = (object as DeepReadonly<ListenerSet>).spec;
  const nowhere = `${object.metadata.name}.invalid`; // reserved by RFC 2606
  if (listeners.every(({hostname}) => hostname === nowhere)) return undefined;
  return {spec: {listeners: listeners.slice(0, 1).map(listener => ({...listener, hostname: nowhere}))}};
}
