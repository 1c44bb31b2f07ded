/** The kinds of Gateway API, with the fields that the operator reads and writes. https://gateway-api.sigs.k8s.io */
import {type KubeObject, resourceType} from '../../runtime/kube/object.ts';
import type {RedirectStatus} from '../kinds/project-hosts.ts';

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

export interface GatewayCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  observedGeneration?: number;
}

export interface GatewayParentRef {
  group?: string;
  kind?: string;
  name: string;
  namespace?: string;
  sectionName?: string;
  port?: number;
}

interface GatewayClass extends KubeObject {
  spec: {controllerName: string};
  status?: {supportedFeatures?: {name: string}[]};
}

interface Gateway extends KubeObject {
  spec: {gatewayClassName: string};
  status?: {addresses?: {value: string}[]};
}

/** https://gateway-api.sigs.k8s.io/reference/1.5/spec/#listenerset */
export interface ListenerSet extends KubeObject {
  spec: {
    parentRef: GatewayParentRef;
    listeners: {
      name: string;
      port: number;
      protocol: string;
      hostname: string;
      tls: {certificateRefs: {name: string}[]};
      allowedRoutes: {namespaces: {from: string}; kinds: {kind: string}[]};
    }[];
  };
  status?: {conditions?: GatewayCondition[]; listeners?: {name: string; conditions?: GatewayCondition[]}[]};
}

export interface HeaderMatch {
  name: string;
  type: 'RegularExpression';
  value: string;
}

interface Redirect {
  scheme?: 'http' | 'https';
  hostname?: string;
  path?: {type: 'ReplaceFullPath'; replaceFullPath: string};
  statusCode: RedirectStatus;
}

/** https://gateway-api.sigs.k8s.io/reference/1.5/spec/#httproute */
export interface HttpRoute extends KubeObject {
  spec: {
    parentRefs?: GatewayParentRef[];
    hostnames: string[];
    rules: {
      matches?: {path?: {type: 'Exact' | 'PathPrefix'; value: string}; headers?: HeaderMatch[]}[];
      filters?: {type: string; requestRedirect: Redirect}[];
      backendRefs?: {name: string; port: number}[];
    }[];
  };
  status?: {parents?: {parentRef: GatewayParentRef; controllerName: string; conditions?: GatewayCondition[]}[]};
}

/** https://gateway.envoyproxy.io/docs/api/extension_types/#clienttrafficpolicy */
export interface ClientTrafficPolicy extends KubeObject {
  spec: {
    targetRefs?: GatewayParentRef[];
    tls?: {alpnProtocols?: string[]; clientValidation?: object} & object;
    http3?: object;
  } & object;
  status?: {ancestors?: {ancestorRef: GatewayParentRef; controllerName: string; conditions?: GatewayCondition[]}[]};
}

export const GATEWAY_CLASS = resourceType<GatewayClass>(
  `${GATEWAY_GROUP}/v1`,
  'GatewayClass',
  'gatewayclasses',
  'cluster',
);
export const GATEWAY = resourceType<Gateway>(`${GATEWAY_GROUP}/v1`, 'Gateway', 'gateways');
export const LISTENER_SET = resourceType<ListenerSet>(`${GATEWAY_GROUP}/v1`, 'ListenerSet', 'listenersets');
export const HTTP_ROUTE = resourceType<HttpRoute>(`${GATEWAY_GROUP}/v1`, 'HTTPRoute', 'httproutes');
export const CLIENT_TRAFFIC_POLICY = resourceType<ClientTrafficPolicy>(
  'gateway.envoyproxy.io/v1alpha1',
  'ClientTrafficPolicy',
  'clienttrafficpolicies',
);

/** The name of the listener in the ListenerSet of a host. */
export const LISTENER = 'https';
