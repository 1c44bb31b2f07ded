/**
 * Wildcard hosts on a Gateway, of which only Envoy Gateway is known to keep them from other hosts. Pure.
 *
 * A listener for `*.x` also matches names of several labels, so its route names the host again. Envoy chooses the
 * listener by the server name of the connection, and looks for a route only among those of that listener. A browser
 * sends requests for any name in the certificate over one HTTP/2 connection, which would reach the wildcard's route
 * instead of the more specific one, so a wildcard is served without HTTP/2.
 */
import {withoutWildcard} from '../../api/host-names.ts';
import {isWildcard} from '../../dns/dns.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import type {RoutingConfig} from '../config/config.ts';
import type {HostRoute, PlatformReader, RouteObject} from '../kinds/edge-provider.ts';
import {
  CLIENT_TRAFFIC_POLICY,
  type ClientTrafficPolicy,
  GATEWAY_GROUP,
  type HeaderMatch,
  LISTENER_SET,
} from './gateway-kinds.ts';
import {routeMetadata} from './route-objects.ts';

/**
 * Envoy Gateway uses only the most specific policy of a listener, so that of a wildcard has everything that the
 * platform's policy sets for the HTTP/1.1 of one listener. The PROXY protocol, keepalives, and HTTP/3 are settings of
 * the port: those of one listener apply to all.
 */
const COPIED = ['clientIPDetection', 'path', 'headers', 'timeout', 'connection', 'http1', 'healthCheck', 'scheme'];
/** Somebody may have created the object before. */
const REMOVED = [
  ...['http2', 'http3', 'grpc', 'tcpKeepalive', 'enableProxyProtocol', 'proxyProtocol', 'targetRef', 'targetSelectors'],
];

/** Names one label below, in any case, with or without a port. */
export function matchBelow(host: string): HeaderMatch {
  const below = withoutWildcard(host).replaceAll('.', String.raw`\.`);
  return {name: 'Host', type: 'RegularExpression', value: String.raw`(?i)[^.]+\.${below}(:\d+)?`};
}

export function wildcards({namespace, clientTrafficPolicy: name}: RoutingConfig['gateway']) {
  const shown = `${namespace}/${name}`;
  const policyOn = (platform: PlatformReader) => (name === '' ? undefined : platform.get(CLIENT_TRAFFIC_POLICY, shown));

  return {
    resources: name === '' ? [] : [CLIENT_TRAFFIC_POLICY],
    platformKinds: name === '' ? [] : [{resource: CLIENT_TRAFFIC_POLICY, namespace, isCopied: true}],

    unsupported(platform: PlatformReader): string | undefined {
      if (name === '') {
        return "The cluster's Gateway cannot serve a wildcard without taking other hosts. List each host separately, or ask the platform team to set config.routing.gateway.clientTrafficPolicy, for which the Gateway must be one of Envoy Gateway.";
      }
      const policy = policyOn(platform);
      if (!policy) {
        return `The ClientTrafficPolicy ${shown} of the cluster's Gateway is missing, so a wildcard would take other hosts over HTTP/2 connections. List each host separately, or ask the platform team to create it, or to correct config.routing.gateway.clientTrafficPolicy.`;
      }
      const withHttp3 = [...platform.list(CLIENT_TRAFFIC_POLICY)].find(({spec}) => spec.http3);
      if (withHttp3) {
        return `The ClientTrafficPolicy ${keyOf(withHttp3)} has http3, which Envoy Gateway serves for all hosts of the port, so a wildcard would take other hosts over HTTP/3 connections. List each host separately, or ask the platform team to remove http3.`;
      }
      if (!policy.spec.tls?.clientValidation) return undefined;
      return `The ClientTrafficPolicy ${shown} of the cluster's Gateway validates the certificates of clients, which Nameplate cannot copy for a wildcard. List each host separately.`;
    },

    /** Also if the policy of the Gateway was deleted a moment ago: without one, the wildcard would have HTTP/2. */
    prepare(route: HostRoute, platform: PlatformReader): RouteObject[] {
      return isWildcard(route.host) ? [withoutHttp2(route, policyOn(platform)?.spec ?? {})] : [];
    },
  };
}

function withoutHttp2(route: HostRoute, spec: DeepReadonly<ClientTrafficPolicy['spec']>): RouteObject {
  const settings: Record<string, unknown> = {...spec};
  const intent: ClientTrafficPolicy = {
    apiVersion: `${CLIENT_TRAFFIC_POLICY.group}/v1alpha1`,
    kind: CLIENT_TRAFFIC_POLICY.kind,
    metadata: routeMetadata(route, route.name),
    spec: {
      ...Object.fromEntries(REMOVED.map(field => [field, null])),
      ...Object.fromEntries(COPIED.map(field => [field, settings[field] ?? null])),
      targetRefs: [{group: GATEWAY_GROUP, kind: LISTENER_SET.kind, name: route.name}],
      tls: {...spec.tls, alpnProtocols: ['http/1.1']},
    },
  };
  return {resource: CLIENT_TRAFFIC_POLICY, intent};
}
