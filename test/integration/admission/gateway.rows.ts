/**
 * What a tenant tries with the Gateway API if Nameplate serves hosts on a Gateway, and what it may do on other
 * Gateways.
 */
import {
  type Manifest,
  manifest,
  NEXT,
  type ObjectAttack,
  type ObjectDeed,
  OURS,
  OURS_ALONE,
  VICTIM,
} from './manifests.ts';

export const PLATFORM = {namespace: 'gateway', name: 'platform'};
/** A GatewayClass with which tenants may create Gateways. */
export const TENANT_CLASS = 'internal';

const GROUP = 'gateway.networking.k8s.io';
const ROUTES = ['HTTPRoute', 'GRPCRoute', 'TLSRoute', 'TCPRoute', 'UDPRoute'];
const REACHES = 'Only Nameplate may write what reaches';
const NO_ADDRESS = 'may not choose its addresses';
const NOT_YOURS = 'is in a zone of the platform';
const other = {namespace: 'gateway', name: 'shared'};

const route = (name: string, parent: object, kind = 'HTTPRoute') =>
  manifest(kind, name, {spec: {parentRefs: [parent], hostnames: [VICTIM], rules: []}});
const https = {name: 'https', port: 443, protocol: 'HTTPS', hostname: 'mine.example'};
const listeners = (name: string, parentRef: object, listener: object = https, kind = 'ListenerSet') =>
  manifest(kind, name, {spec: {parentRef, listeners: [listener]}});
export const gateway = (name: string, spec: object = {}, metadata: Record<string, unknown> = {}): Manifest =>
  manifest('Gateway', name, {spec: {gatewayClassName: TENANT_CLASS, listeners: [https], ...spec}}, metadata);
const policy = (name: string, spec: object) => manifest('ClientTrafficPolicy', name, {spec});

export const gatewayAttacks: readonly ObjectAttack[] = [
  ...ROUTES.map(kind => ({
    attack: `a ${kind} on the platform's Gateway`,
    object: route('steal', PLATFORM, kind),
    says: REACHES,
  })),
  {
    attack: 'an HTTPRoute on one listener of it, for all hosts',
    object: manifest('HTTPRoute', 'steal-all', {
      spec: {parentRefs: [{group: GROUP, kind: 'Gateway', ...PLATFORM, sectionName: 'http'}]},
    }),
    says: REACHES,
  },
  {
    attack:
      'a Gateway of its own with an issuer that is not listed, from which cert-manager would create a Certificate',
    object: gateway('shim', {}, {annotations: {'cert-manager.io/cluster-issuer': 'somebody'}}),
    says: 'would not approve a certificate from ClusterIssuer somebody',
  },
  {
    attack: 'an HTTPRoute on it and on another Gateway',
    object: manifest('HTTPRoute', 'steal-second', {spec: {parentRefs: [other, PLATFORM], hostnames: [VICTIM]}}),
    says: REACHES,
  },
  {
    attack: 'an HTTPRoute on any Gateway that accepts routes by default',
    object: manifest('HTTPRoute', 'steal-default', {spec: {useDefaultGateways: 'All', hostnames: [VICTIM]}}),
    says: REACHES,
  },
  // attack: foreign-route
  {
    attack: 'an HTTPRoute on a ListenerSet of Nameplate, in its own namespace',
    object: route('steal-set', {group: GROUP, kind: 'ListenerSet', name: OURS, sectionName: 'https'}),
    says: REACHES,
  },
  {
    attack: "an HTTPRoute on a ListenerSet of Nameplate, in the victim's namespace",
    object: route('steal-victim', {group: GROUP, kind: 'ListenerSet', namespace: 'victim', name: NEXT}),
    says: REACHES,
  },
  {
    attack: 'a ListenerSet for the host of the victim, whose Secret does not exist',
    object: listeners('steal', PLATFORM, {...https, hostname: VICTIM}),
    says: REACHES,
  },
  {
    attack: 'a ListenerSet with an http listener for the host of the victim',
    object: listeners('steal-plain', PLATFORM, {name: 'http', port: 80, protocol: 'HTTP', hostname: VICTIM}),
    says: REACHES,
  },
  {
    attack: "an XListenerSet on the platform's Gateway",
    object: listeners('steal', PLATFORM, https, 'XListenerSet'),
    says: REACHES,
  },
  // attack: foreign-route
  {
    attack: 'a Gateway with the address of the edge',
    object: gateway('steal', {addresses: [{value: '192.0.2.80'}]}),
    says: NO_ADDRESS,
  },
  {
    attack: 'a Gateway whose Service requests the address of the edge',
    object: gateway('steal-annotated', {infrastructure: {annotations: {'metallb.io/loadBalancerIPs': '192.0.2.80'}}}),
    says: NO_ADDRESS,
  },
  {
    attack: 'a Gateway whose proxies have the privileges that an EnvoyProxy gives them',
    object: gateway('steal-node', {
      infrastructure: {parametersRef: {group: 'gateway.envoyproxy.io', kind: 'EnvoyProxy', name: 'mine'}},
    }),
    says: NO_ADDRESS,
  },
  {
    attack: 'a Gateway of a class that may share its proxies with the edge',
    object: gateway('steal-class', {gatewayClassName: 'envoy'}),
    says: 'admission.tenantGatewayClasses',
  },
  ...['EnvoyPatchPolicy', 'EnvoyProxy'].map(kind => ({
    attack: `a ${kind}`,
    object: manifest(kind, 'any', {spec: {}}),
    says: REACHES,
  })),
  {
    attack: 'a policy of Envoy Gateway for a route of Nameplate',
    object: policy('steal-target', {targetRefs: [{group: GROUP, kind: 'HTTPRoute', name: OURS}]}),
    says: REACHES,
  },
  {
    attack: 'the same with the single reference of old versions',
    object: policy('steal-old', {targetRef: {group: GROUP, kind: 'ListenerSet', name: OURS}}),
    says: REACHES,
  },
  {
    attack: "a policy of Envoy Gateway for the platform's Gateway",
    object: policy('steal-gateway', {targetRef: {group: GROUP, kind: 'Gateway', ...PLATFORM}}),
    says: REACHES,
  },
  {
    attack: "a policy of another implementation for the platform's Gateway, if the platform lists its API group",
    object: manifest('TrafficPolicy', 'steal-gateway', {
      spec: {targetRefs: [{group: GROUP, kind: 'Gateway', ...PLATFORM}]},
    }),
    says: REACHES,
  },
  {
    attack: 'the same for a route of Nameplate',
    object: manifest('TrafficPolicy', 'steal-target', {
      spec: {targetRefs: [{group: GROUP, kind: 'HTTPRoute', name: OURS}]},
    }),
    says: REACHES,
  },
  // attack: foreign-route
  {
    attack: 'a policy of Envoy Gateway that selects its targets, which may be those of Nameplate',
    object: policy('steal-selected', {targetSelectors: [{kind: 'HTTPRoute', matchLabels: {}}]}),
    says: REACHES,
  },
  // attack: wildcard-over-host
  {
    attack: 'HTTP/2 for a wildcard of its own',
    object: policy('steal-http2', {
      targetRefs: [{group: GROUP, kind: 'ListenerSet', name: OURS, sectionName: 'https'}],
      tls: {alpnProtocols: ['h2']},
    }),
    says: REACHES,
  },
  ...['ListenerSet', 'HTTPRoute', 'ClientTrafficPolicy'].map(kind => ({
    attack: `a ${kind} under the name of a route to come`,
    object: manifest(kind, NEXT, {spec: {}}),
    says: OURS_ALONE,
  })),
  {
    attack: 'a Gateway from which cert-manager would create the Certificate of a future host',
    object: gateway('shim', {
      listeners: [https, {...https, name: 'b', tls: {certificateRefs: [{name: 'mine'}, {name: NEXT}]}}],
    }),
    says: OURS_ALONE,
  },
  {
    attack: 'a ListenerSet that does the same',
    object: listeners('shim', other, {...https, tls: {certificateRefs: [{name: NEXT}]}}),
    says: OURS_ALONE,
  },
  {
    attack: 'an HTTPRoute on another Gateway, with a host in a zone of the platform',
    object: manifest('HTTPRoute', 'dns', {
      spec: {parentRefs: [other], hostnames: ['mine.example', 'shop.apps.example.net']},
    }),
    says: NOT_YOURS,
  },
  {
    attack: 'a listener of its own with such a host',
    object: gateway('dns', {listeners: [https, {...https, name: 'b', hostname: '*.example.net'}]}),
    says: NOT_YOURS,
  },
  {
    attack: 'a TCPRoute with such a host in an annotation for external-dns',
    object: manifest(
      'TCPRoute',
      'dns',
      {spec: {parentRefs: [other]}},
      {annotations: {'external-dns.alpha.kubernetes.io/hostname': 'shop.apps.example.net'}},
    ),
    says: NOT_YOURS,
  },
];

export const gatewayDeeds: readonly ObjectDeed[] = [
  ...ROUTES.map(kind => ({
    deed: `attach a ${kind} to a Gateway that the platform shares`,
    object: manifest(kind, 'shared', {spec: {parentRefs: [other], hostnames: ['mine.example']}}),
  })),
  {
    deed: "attach an HTTPRoute to a Gateway of its own that has the name of the platform's",
    object: manifest('HTTPRoute', 'own', {spec: {parentRefs: [{name: PLATFORM.name}], hostnames: ['mine.example']}}),
  },
  {deed: 'attach a ListenerSet to a Gateway that the platform shares', object: listeners('shared', other)},
  {deed: 'attach an HTTPRoute to it', object: route('on-set', {group: GROUP, kind: 'ListenerSet', name: 'shared'})},
  {deed: 'create a Gateway of a class that the platform lists', object: gateway('mine')},
  {
    deed: 'configure its Gateway with a policy of Envoy Gateway',
    object: policy('mine', {targetRefs: [{group: GROUP, kind: 'Gateway', name: 'mine'}]}),
  },
  {
    deed: 'configure its Gateway with a policy of another implementation that the platform lists',
    object: manifest('TrafficPolicy', 'mine', {spec: {targetRefs: [{group: GROUP, kind: 'Gateway', name: 'mine'}]}}),
  },
];
