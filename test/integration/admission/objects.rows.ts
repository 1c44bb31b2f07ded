/** What a tenant tries by creating objects, and what it may still create. */
import {ingressSpec} from '../../support/objects.ts';
import {
  certificate,
  EDGE,
  LIST_IT,
  managed,
  manifest,
  NEXT,
  type ObjectAttack,
  type ObjectDeed,
  OURS,
  OURS_ALONE,
  ports,
  VICTIM,
} from './manifests.ts';

const CLASS = 'kubernetes.io/ingress.class';
const NOT_YOURS = 'is in a zone of the platform';
const TAKES = 'may take the traffic of an address or load balancer';
const spec = {selector: {app: 'mine'}, ports};
const slice = (name: string, service: string) =>
  manifest(
    'EndpointSlice',
    name,
    {addressType: 'IPv4', endpoints: [{addresses: ['192.0.2.1']}], ports},
    {labels: {'kubernetes.io/service-name': service}},
  );

const general: readonly ObjectAttack[] = [
  // attack: foreign-route
  {attack: 'an Ingress of the edge, for a path of the victim', object: manifest('Ingress', 'steal', {}), says: LIST_IT},
  // attack: foreign-route
  {
    attack: 'an Ingress without a class',
    object: manifest('Ingress', 'steal-classless', {spec: ingressSpec(VICTIM)}),
    says: LIST_IT,
  },
  {
    attack: 'an Ingress with the class in the old annotation',
    object: manifest('Ingress', 'steal-annotated', {spec: ingressSpec(VICTIM)}, {annotations: {[CLASS]: EDGE}}),
    says: LIST_IT,
  },
  {
    attack: 'an Ingress that calls itself managed',
    object: manifest('Ingress', NEXT, {}, managed),
    says: 'Nameplate', // two policies refuse it, and either may answer first
  },
  // attack: foreign-route
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
  // attack: foreign-route
  {
    attack: 'an HTTPRoute of the Gateway API',
    object: manifest('HTTPRoute', 'steal', {spec: {hostnames: [VICTIM], parentRefs: [{name: 'edge'}]}}),
    says: LIST_IT,
  },
  // attack: foreign-route
  {
    attack: 'a ListenerSet for the host of the victim, whose Secret does not exist',
    object: manifest('ListenerSet', 'steal', {
      spec: {
        parentRef: {name: 'platform', namespace: 'gateway'},
        listeners: [{name: 'https', port: 443, protocol: 'HTTPS', hostname: VICTIM}],
      },
    }),
    says: LIST_IT,
  },
  ...['EnvoyPatchPolicy', 'Middleware', 'TLSStore', 'TLSOption', 'ServersTransport', 'TraefikService'].map(kind => ({
    attack: `a ${kind}`,
    object: manifest(kind, 'default', {spec: {}}),
    says: LIST_IT,
  })),
  // attack: foreign-certificate
  {
    attack: 'an Order for another tenant’s host',
    object: manifest('Order', 'steal', {spec: {request: 'AA==', dnsNames: [VICTIM], issuerRef: {name: 'mine'}}}),
    says: 'denied request', // of two policies, either may answer first
  },
  // attack: foreign-certificate
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
    says: 'denied request', // of two policies, either may answer first
  },
  // attack: foreign-route
  {
    attack: "a Service that takes the ingress's address",
    object: manifest('Service', 'steal', {spec: {selector: {app: 'mine'}, ports, externalIPs: ['192.0.2.80']}}),
    says: 'Remove spec.externalIPs',
  },
  // attack: name-collision
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
  // attack: foreign-certificate
  {
    attack: 'a Certificate whose Secret is the one of a route, by which the edge would show any certificate at all',
    object: manifest('Certificate', 'mine', {spec: {...certificate, secretName: OURS}}),
    says: OURS_ALONE,
  },
  // attack: foreign-backend
  {attack: 'endpoints behind a routed Service', object: slice('any', OURS), says: OURS_ALONE},
  // attack: foreign-backend
  {
    attack: 'Endpoints of the old kind',
    object: manifest('Endpoints', OURS, {subsets: [{addresses: [{ip: '192.0.2.1'}], ports}]}),
    says: OURS_ALONE,
  },
];

const ofClass = (name: string, annotation: string, ingressClassName?: string) =>
  manifest('Ingress', name, {spec: ingressSpec(VICTIM, ingressClassName)}, {annotations: {[CLASS]: annotation}});

const classes: readonly ObjectAttack[] = [
  {attack: 'an Ingress whose annotation names no class', object: ofClass('steal-empty', ''), says: LIST_IT},
  {
    attack: "an Ingress whose annotation names Traefik's default class, while the edge's class has another name",
    object: ofClass('steal-traefik', 'traefik'),
    says: LIST_IT,
  },
  {attack: 'an Ingress of the edge in another letter case', object: ofClass('steal-case', ' Traefik'), says: LIST_IT},
  {
    attack: 'an Ingress of the edge whose class has a line break',
    object: ofClass('steal-break', `${EDGE}\n`),
    says: LIST_IT,
  },
];

const shim = {'cert-manager.io/issuer': 'mine'};
const tls = [{hosts: ['next.example.com'], secretName: NEXT}];
const references: readonly ObjectAttack[] = [
  // attack: managed-objects
  {
    attack: 'an Ingress of another class, from which cert-manager would create the Certificate of a future host',
    object: manifest(
      'Ingress',
      'shim',
      {spec: {...ingressSpec('next.example.com', 'internal'), tls}},
      {annotations: shim},
    ),
    says: OURS_ALONE,
  },
  {
    attack: 'an Ingress of another class that names such a Secret in its second entry',
    object: manifest('Ingress', 'shim-second', {
      spec: {...ingressSpec('next.example.com', 'internal'), tls: [{secretName: 'mine'}, ...tls]},
    }),
    says: OURS_ALONE,
  },
  ...['Gateway', 'ListenerSet', 'XListenerSet'].map(kind => ({
    attack: `a ${kind} that names such a Secret`,
    object: manifest(kind, 'shim', {
      spec: {listeners: [{name: 'https', hostname: VICTIM, tls: {certificateRefs: [{name: NEXT}]}}]},
    }),
    says: LIST_IT,
  })),
];

const ADDRESS_ANNOTATIONS = [
  'metallb.io/loadBalancerIPs',
  'metallb.universe.tf/loadBalancerIPs',
  'metallb.io/allow-shared-ip',
  'metallb.universe.tf/allow-shared-ip',
  'kube-vip.io/loadbalancerIPs',
  'lbipam.cilium.io/ips',
  'lbipam.cilium.io/sharing-key',
  'lbipam.cilium.io/sharing-cross-namespace',
  'io.cilium/lb-ipam-ips',
  'io.cilium/lb-ipam-sharing-key',
  'purelb.io/addresses',
  'purelb.io/allow-shared-ip',
  'eip.openelb.kubesphere.io/v1alpha2',
  'service.beta.kubernetes.io/aws-load-balancer-eip-allocations',
  'service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses',
  'service.beta.kubernetes.io/azure-load-balancer-ipv4',
  'service.beta.kubernetes.io/azure-pip-name',
  'networking.gke.io/load-balancer-ip-addresses',
  'loadbalancer.openstack.org/load-balancer-id',
  'kubernetes.digitalocean.com/load-balancer-id',
  'load-balancer.hetzner.cloud/name',
  'oci.oraclecloud.com/reserved-ips',
  'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id',
  'service.kubernetes.io/tke-existed-lbid',
  'kubernetes.io/elb.id',
  'service.beta.kubernetes.io/linode-loadbalancer-nodebalancer-id',
  'service.beta.kubernetes.io/scw-loadbalancer-ip-ids',
];

const addresses: readonly ObjectAttack[] = [
  // attack: edge-address
  {
    attack: "a Service that requests the ingress's address from the load balancer",
    object: manifest('Service', 'steal-ip', {spec: {...spec, type: 'LoadBalancer', loadBalancerIP: '192.0.2.80'}}),
    says: 'Remove spec.loadBalancerIP',
  },
  ...ADDRESS_ANNOTATIONS.map((annotation, index) => ({
    attack: `a Service that requests an address with ${annotation}`,
    object: manifest('Service', `steal-${index}`, {spec}, {annotations: {[annotation]: '192.0.2.80'}}),
    says: TAKES,
  })),
];

const dns = (name: string) => `external-dns.alpha.kubernetes.io/${name}`;
const record = (dnsName: string) => ({endpoints: [{dnsName, recordType: 'CNAME', targets: ['mine.example']}]});

const annotatedHosts: readonly (readonly [attack: string, name: string, annotation: string, hosts: string])[] = [
  // attack: platform-dns
  [
    "a Service with a DNS annotation for another tenant's default host",
    'dns-host',
    dns('hostname'),
    'shop.apps.example.net',
  ],
  [
    'the same after its own host, with spaces, in capitals, and with a trailing dot',
    'dns-list',
    dns('hostname'),
    'mine.example, shop. APPS.example.net.',
  ],
  ['the same in letters that DNS tools convert', 'dns-unicode', dns('hostname'), 'shop.ａpps.example.net'],
  [
    'the same with the annotation for addresses within the cluster',
    'dns-internal',
    dns('internal-hostname'),
    'shop.apps.example.net',
  ],
  ['the same with its own prefix', 'dns-prefix', 'dns.company.example/hostname', 'shop.apps.example.net'],
  ['the same with an old annotation', 'dns-old', 'zalando.org/dnsname', 'shop.apps.example.net'],
  ["a DNS annotation for another account's target", 'dns-target', dns('hostname'), 'abc.edge.example.net'],
  ['a DNS annotation for a wildcard over the base domain', 'dns-wildcard', dns('hostname'), '*.example.net'],
  ['a DNS annotation for a parent of the base domain', 'dns-parent', dns('hostname'), 'net.'],
];

const hosts: readonly ObjectAttack[] = [
  ...annotatedHosts.map(([attack, name, annotation, hosts]) => ({
    attack,
    object: manifest('Service', name, {spec}, {annotations: {[annotation]: hosts}}),
    says: NOT_YOURS,
  })),
  // attack: platform-dns
  {
    attack: 'a DNSEndpoint in a zone of the platform',
    object: manifest('DNSEndpoint', 'steal', {spec: record('shop.apps.example.net')}),
    says: NOT_YOURS,
  },
  // attack: platform-dns
  {
    attack: 'an Ingress of another class with a host in a zone of the platform',
    object: manifest('Ingress', 'dns-rule', {spec: ingressSpec('shop.apps.example.net', 'internal')}),
    says: NOT_YOURS,
  },
  {
    attack: 'an Ingress of another class with such a host under tls',
    object: manifest('Ingress', 'dns-tls', {
      spec: {...ingressSpec('mine.example', 'internal'), tls: [{hosts: ['mine.example', 'api.example.net']}]},
    }),
    says: NOT_YOURS,
  },
  {
    attack: 'an Ingress of another class with such a host in an annotation',
    object: manifest(
      'Ingress',
      'dns-annotated',
      {spec: ingressSpec('mine.example', 'internal')},
      {annotations: {[dns('hostname')]: 'api.example.net'}},
    ),
    says: NOT_YOURS,
  },
];

export const objectAttacks: readonly ObjectAttack[] = [...general, ...classes, ...references, ...addresses, ...hosts];

export const objectDeeds: readonly ObjectDeed[] = [
  {
    deed: 'publish by another ingress controller',
    object: manifest('Ingress', 'elsewhere', {spec: ingressSpec('intranet.example', 'internal')}),
  },
  {deed: 'make Services', object: manifest('Service', 'mine', {spec: {selector: {app: 'mine'}, ports}})},
  {deed: 'make Secrets', object: manifest('Secret', 'mine', {type: 'Opaque'})},
  {deed: 'create endpoints of its own Services', object: slice('mine', 'mine')},
  {
    deed: 'create a Service whose name starts alike',
    object: manifest('Service', 'np-shop', {spec: {selector: {app: 'a'}, ports}}),
  },
  {
    deed: 'publish through another ingress controller that reads only the annotation',
    object: ofClass('old-internal', 'internal'),
  },
  {
    deed: 'name a Secret of its own in the TLS section of another ingress controller',
    object: manifest('Ingress', 'own-tls', {
      spec: {...ingressSpec('mine.example', 'internal'), tls: [{hosts: ['mine.example'], secretName: 'np-mine'}]},
    }),
  },
  {
    deed: 'publish a host that only looks like one of the platform',
    object: manifest('Ingress', 'own-host', {spec: ingressSpec('shop.notapps.example.network', 'internal')}),
  },
  {
    deed: 'have a load balancer, and records for its own host',
    object: manifest(
      'Service',
      'balanced',
      {spec: {...spec, type: 'LoadBalancer'}},
      {
        annotations: {
          [dns('hostname')]: 'mine.example, *.mine.example',
          [dns('ttl')]: '60',
          'metallb.io/address-pool': 'a',
        },
      },
    ),
  },
  {
    deed: 'configure its load balancer',
    object: manifest(
      'Service',
      'scheme',
      {spec},
      {
        annotations: {
          'service.beta.kubernetes.io/aws-load-balancer-scheme': 'internal',
          'service.beta.kubernetes.io/aws-load-balancer-name': 'mine',
          'service.beta.kubernetes.io/azure-load-balancer-internal': 'true',
          'load-balancer.hetzner.cloud/location': 'fsn1',
          'cloud.google.com/l4-rbs': 'enabled',
        },
      },
    ),
  },
  {deed: 'create its own DNSEndpoints', object: manifest('DNSEndpoint', 'mine', {spec: record('mine.example')})},
];
