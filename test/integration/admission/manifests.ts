/** The objects of the admission tests: those that exist, and the parts of a row. */
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {ingressSpec} from '../../support/objects.ts';

export const TENANT = 'mallory';
export const EDGE = 'traefik';
/** The API group of an implementation of the Gateway API that the chart does not know. */
export const OTHER_EDGE = 'edge.example.com';
export const VICTIM = 'login.victim.example';
export const OURS = routeName(TENANT, 'shop.example.com');
/** A name that the operator would use for a host that does not exist yet. */
export const NEXT = routeName(TENANT, 'next.example.com');

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {readonly name: string; readonly namespace: string; readonly [field: string]: unknown};
  readonly [field: string]: unknown;
}

const VERSIONS: Readonly<Record<string, string>> = {
  DNSEndpoint: 'externaldns.k8s.io/v1',
  Gateway: 'gateway.networking.k8s.io/v1',
  ListenerSet: 'gateway.networking.k8s.io/v1',
  XListenerSet: 'gateway.networking.x-k8s.io/v1',
  EnvoyPatchPolicy: 'gateway.envoyproxy.io/v1',
  EnvoyProxy: 'gateway.envoyproxy.io/v1',
  ClientTrafficPolicy: 'gateway.envoyproxy.io/v1',
  TrafficPolicy: `${OTHER_EDGE}/v1`,
  GRPCRoute: 'gateway.networking.k8s.io/v1',
  TLSRoute: 'gateway.networking.k8s.io/v1',
  TCPRoute: 'gateway.networking.k8s.io/v1',
  UDPRoute: 'gateway.networking.k8s.io/v1',
  Pod: 'v1',
  Ingress: 'networking.k8s.io/v1',
  Service: 'v1',
  Secret: 'v1',
  Endpoints: 'v1',
  EndpointSlice: 'discovery.k8s.io/v1',
  Middleware: 'traefik.io/v1alpha1',
  IngressRoute: 'traefik.io/v1alpha1',
  IngressRouteTCP: 'traefik.io/v1alpha1',
  TLSStore: 'traefik.io/v1alpha1',
  TLSOption: 'traefik.io/v1alpha1',
  ServersTransport: 'traefik.io/v1alpha1',
  TraefikService: 'traefik.io/v1alpha1',
  HTTPRoute: 'gateway.networking.k8s.io/v1',
  Certificate: 'cert-manager.io/v1',
  Issuer: 'cert-manager.io/v1',
  CertificateRequest: 'cert-manager.io/v1',
  Order: 'acme.cert-manager.io/v1',
  Challenge: 'acme.cert-manager.io/v1',
};

export function manifest(
  kind: string,
  name: string,
  fields: Record<string, unknown>,
  metadata: Record<string, unknown> = {},
): Manifest {
  const defaults = kind === 'Ingress' ? {spec: ingressSpec(VICTIM, EDGE)} : {};
  const apiVersion = VERSIONS[kind];
  if (!apiVersion) throw new Error(`no apiVersion of ${kind}`);
  return {apiVersion, kind, metadata: {name, namespace: TENANT, ...metadata}, ...defaults, ...fields};
}

export const managed = {labels: {[LABEL.managedBy]: 'nameplate'}, annotations: {[ANNOTATION.host]: 'shop.example.com'}};
export const ports = [{name: 'http', port: 80}];
const redirect = {redirectRegex: {regex: '^http://(.*)$', replacement: 'https://shop.example.com/', permanent: true}};
export const certificate = {secretName: 'any', dnsNames: [VICTIM], issuerRef: {name: 'any'}};

/** The objects that the operator and cert-manager create for a host of this tenant. */
export const MANAGED: readonly Manifest[] = [
  manifest('Service', OURS, {spec: {clusterIP: 'None', selector: {app: 'shop'}, ports}}, managed),
  manifest('Middleware', `${OURS}-https`, {spec: redirect}, managed),
  manifest('Ingress', OURS, {spec: ingressSpec('shop.example.com', EDGE)}, managed),
  manifest('Certificate', OURS, {spec: {...certificate, dnsNames: ['shop.example.com'], secretName: OURS}}, managed),
  manifest('Secret', OURS, {type: 'Opaque'}, managed),
];

export interface ObjectAttack {
  readonly attack: string;
  readonly object: Manifest;
  readonly says: string;
}

export interface ObjectDeed {
  readonly deed: string;
  readonly object: Manifest;
}

export const LIST_IT = 'list it in spec.domains of a Project';
export const OURS_ALONE = 'managed by Nameplate';
