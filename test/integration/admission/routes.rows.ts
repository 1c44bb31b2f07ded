/** What a tenant tries, object by object, and what it may do all the same. */
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/model/derived-names.ts';

export const TENANT = 'mallory';
export const EDGE = 'traefik';
export const VICTIM = 'login.victim.example';
export const OURS = routeName(TENANT, 'shop.example.com');
/** A name that the operator would use, of a host that is not there yet. */
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
  HeldHosts: 'nameplate.dev/v1alpha1',
  Order: 'acme.cert-manager.io/v1',
  Challenge: 'acme.cert-manager.io/v1',
};

export function manifest(
  kind: string,
  name: string,
  fields: Record<string, unknown>,
  metadata: Record<string, unknown> = {},
): Manifest {
  const defaults = kind === 'Ingress' ? {spec: rules(VICTIM, EDGE)} : {};
  const apiVersion = VERSIONS[kind];
  if (!apiVersion) throw new Error(`no apiVersion of ${kind}`);
  return {apiVersion, kind, metadata: {name, namespace: TENANT, ...metadata}, ...defaults, ...fields};
}

export function rules(host: string, ingressClassName?: string) {
  const backend = {service: {name: 'mine', port: {number: 80}}};
  const http = {paths: [{path: '/login', pathType: 'Prefix', backend}]};
  return {...(ingressClassName !== undefined && {ingressClassName}), rules: [{host, http}]};
}

export const managed = {labels: {[LABEL.managedBy]: 'nameplate'}, annotations: {[ANNOTATION.host]: 'shop.example.com'}};
export const ports = [{name: 'http', port: 80}];
const redirect = {redirectRegex: {regex: '^http://(.*)$', replacement: 'https://shop.example.com/', permanent: true}};
export const certificate = {secretName: 'any', dnsNames: [VICTIM], issuerRef: {name: 'any'}};

/** What the operator and cert-manager make for a host of this tenant. */
export const MANAGED: readonly Manifest[] = [
  manifest('Service', OURS, {spec: {clusterIP: 'None', selector: {app: 'shop'}, ports}}, managed),
  manifest('Middleware', `${OURS}-https`, {spec: redirect}, managed),
  manifest('Ingress', OURS, {spec: rules('shop.example.com', EDGE)}, managed),
  manifest('Certificate', OURS, {spec: {...certificate, dnsNames: ['shop.example.com'], secretName: OURS}}, managed),
  manifest('Secret', OURS, {type: 'Opaque'}, managed),
];

export interface ObjectAttack {
  readonly attack: string;
  readonly object: Manifest;
  readonly says: string;
}

export const LIST_IT = 'list it in spec.domains of a Project';
export const OURS_ALONE = 'managed by Nameplate';
const slice = (name: string, service: string) =>
  manifest(
    'EndpointSlice',
    name,
    {addressType: 'IPv4', endpoints: [{addresses: ['192.0.2.1']}], ports},
    {labels: {'kubernetes.io/service-name': service}},
  );

export const attacks: readonly ObjectAttack[] = [
  {attack: 'an Ingress of the edge, for a path of the victim', object: manifest('Ingress', 'steal', {}), says: LIST_IT},
  {
    attack: 'an Ingress without a class',
    object: manifest('Ingress', 'steal-classless', {spec: rules(VICTIM)}),
    says: LIST_IT,
  },
  {
    attack: 'an Ingress with the class in the old annotation',
    object: manifest(
      'Ingress',
      'steal-annotated',
      {spec: rules(VICTIM)},
      {annotations: {'kubernetes.io/ingress.class': EDGE}},
    ),
    says: LIST_IT,
  },
  {
    attack: 'an Ingress that calls itself managed',
    object: manifest('Ingress', NEXT, {}, managed),
    says: 'Nameplate', // two policies refuse it, and either may answer first
  },
  {
    attack: 'an IngressRoute',
    object: manifest('IngressRoute', 'steal', {spec: {routes: [{kind: 'Rule', match: `Host(\`${VICTIM}\`)`}]}}),
    says: LIST_IT,
  },
  {
    attack: 'an IngressRouteTCP',
    object: manifest('IngressRouteTCP', 'steal', {spec: {routes: [{match: `HostSNI(\`${VICTIM}\`)`}]}}),
    says: LIST_IT,
  },
  {
    attack: 'an HTTPRoute of the Gateway API',
    object: manifest('HTTPRoute', 'steal', {spec: {hostnames: [VICTIM], parentRefs: [{name: 'edge'}]}}),
    says: LIST_IT,
  },
  ...['Middleware', 'TLSStore', 'TLSOption', 'ServersTransport', 'TraefikService'].map(kind => ({
    attack: `a ${kind}`,
    object: manifest(kind, 'default', {spec: {}}),
    says: LIST_IT,
  })),
  {
    attack: 'an Order, which would be solved on the edge',
    object: manifest('Order', 'steal', {spec: {request: 'AA==', dnsNames: [VICTIM], issuerRef: {name: 'mine'}}}),
    says: 'Only cert-manager may write this',
  },
  {
    attack: 'a Challenge',
    object: manifest('Challenge', 'steal', {
      spec: {
        authorizationURL: 'https://ca.example/1',
        dnsName: VICTIM,
        issuerRef: {name: 'mine'},
        key: 'a',
        solver: {http01: {ingress: {}}},
        token: 'a',
        type: 'HTTP-01',
        url: 'https://ca.example/1',
      },
    }),
    says: 'denied request', // by one of two policies, whichever the API server asks first
  },
  {
    attack: "a Service that takes the ingress's address",
    object: manifest('Service', 'steal', {spec: {selector: {app: 'mine'}, ports, externalIPs: ['192.0.2.80']}}),
    says: 'Remove spec.externalIPs',
  },
  {
    attack: 'a Service under the name of a route to come',
    object: manifest('Service', NEXT, {spec: {type: 'ExternalName', externalName: 'metadata.internal'}}),
    says: OURS_ALONE,
  },
  {attack: 'a Secret under that name', object: manifest('Secret', NEXT, {type: 'Opaque'}), says: OURS_ALONE},
  {
    attack: 'a Certificate under that name',
    object: manifest('Certificate', NEXT, {spec: certificate}),
    says: OURS_ALONE,
  },
  {
    attack: 'a Certificate whose Secret is the one of a route, by which the edge would show any certificate at all',
    object: manifest('Certificate', 'mine', {spec: {...certificate, secretName: OURS}}),
    says: OURS_ALONE,
  },
  {attack: 'endpoints behind a routed Service', object: slice('any', OURS), says: OURS_ALONE},
  {
    attack: 'Endpoints of the old kind',
    object: manifest('Endpoints', OURS, {subsets: [{addresses: [{ip: '192.0.2.1'}], ports}]}),
    says: OURS_ALONE,
  },
];

export interface ObjectDeed {
  readonly deed: string;
  readonly object: Manifest;
}

export const allowed: readonly ObjectDeed[] = [
  {
    deed: 'publish by another ingress controller',
    object: manifest('Ingress', 'elsewhere', {spec: rules('intranet.example', 'internal')}),
  },
  {deed: 'make Services', object: manifest('Service', 'mine', {spec: {selector: {app: 'mine'}, ports}})},
  {deed: 'make Secrets', object: manifest('Secret', 'mine', {type: 'Opaque'})},
  {deed: 'create endpoints of its own Services', object: slice('mine', 'mine')},
  {
    deed: 'create a Service whose name starts alike',
    object: manifest('Service', 'np-shop', {spec: {selector: {app: 'a'}, ports}}),
  },
];
