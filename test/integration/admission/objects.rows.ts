/** What a tenant tries by creating objects that name a class, a Secret, an address, or a host of the platform. */
import {
  EDGE,
  LIST_IT,
  manifest,
  NEXT,
  type ObjectAttack,
  type ObjectDeed,
  OURS_ALONE,
  ports,
  rules,
  VICTIM,
} from './routes.rows.ts';

const CLASS = 'kubernetes.io/ingress.class';
const NOT_YOURS = 'is in a zone of the platform';
const TAKES = 'may take the traffic of an address or load balancer';
const spec = {selector: {app: 'mine'}, ports};

const ofClass = (name: string, annotation: string, ingressClassName?: string) =>
  manifest('Ingress', name, {spec: rules(VICTIM, ingressClassName)}, {annotations: {[CLASS]: annotation}});

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
  {
    attack: 'an Ingress of another class, from which cert-manager would create the Certificate of a future host',
    object: manifest('Ingress', 'shim', {spec: {...rules('next.example.com', 'internal'), tls}}, {annotations: shim}),
    says: OURS_ALONE,
  },
  {
    attack: 'an Ingress of another class that names such a Secret in its second entry',
    object: manifest('Ingress', 'shim-second', {
      spec: {...rules('next.example.com', 'internal'), tls: [{secretName: 'mine'}, ...tls]},
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
const annotated = (name: string, annotation: string, hosts: string) =>
  manifest('Service', name, {spec}, {annotations: {[annotation]: hosts}});

const hosts: readonly ObjectAttack[] = [
  {
    attack: "a Service with a DNS annotation for another tenant's default host",
    object: annotated('dns-host', dns('hostname'), 'shop.apps.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: 'the same after its own host, with spaces, in capitals, and with a trailing dot',
    object: annotated('dns-list', dns('hostname'), 'mine.example, shop. APPS.example.net.'),
    says: NOT_YOURS,
  },
  {
    attack: 'the same in letters that DNS tools convert',
    object: annotated('dns-unicode', dns('hostname'), 'shop.ａpps.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: 'the same with the annotation for addresses within the cluster',
    object: annotated('dns-internal', dns('internal-hostname'), 'shop.apps.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: 'the same with its own prefix',
    object: annotated('dns-prefix', 'dns.company.example/hostname', 'shop.apps.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: 'the same with an old annotation',
    object: annotated('dns-old', 'zalando.org/dnsname', 'shop.apps.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: "a DNS annotation for another account's target",
    object: annotated('dns-target', dns('hostname'), 'abc.edge.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: 'a DNS annotation for a wildcard over the base domain',
    object: annotated('dns-wildcard', dns('hostname'), '*.example.net'),
    says: NOT_YOURS,
  },
  {
    attack: 'a DNS annotation for a parent of the base domain',
    object: annotated('dns-parent', dns('hostname'), 'net.'),
    says: NOT_YOURS,
  },
  {
    attack: 'a DNSEndpoint in a zone of the platform',
    object: manifest('DNSEndpoint', 'steal', {spec: record('shop.apps.example.net')}),
    says: NOT_YOURS,
  },
  {
    attack: 'an Ingress of another class with a host in a zone of the platform',
    object: manifest('Ingress', 'dns-rule', {spec: rules('shop.apps.example.net', 'internal')}),
    says: NOT_YOURS,
  },
  {
    attack: 'an Ingress of another class with such a host under tls',
    object: manifest('Ingress', 'dns-tls', {
      spec: {...rules('mine.example', 'internal'), tls: [{hosts: ['mine.example', 'api.example.net']}]},
    }),
    says: NOT_YOURS,
  },
  {
    attack: 'an Ingress of another class with such a host in an annotation',
    object: manifest(
      'Ingress',
      'dns-annotated',
      {spec: rules('mine.example', 'internal')},
      {annotations: {[dns('hostname')]: 'api.example.net'}},
    ),
    says: NOT_YOURS,
  },
];

export const objectAttacks: readonly ObjectAttack[] = [...classes, ...references, ...addresses, ...hosts];

export const objectDeeds: readonly ObjectDeed[] = [
  {
    deed: 'publish through another ingress controller that reads only the annotation',
    object: ofClass('old-internal', 'internal'),
  },
  {
    deed: 'name a Secret of its own in the TLS section of another ingress controller',
    object: manifest('Ingress', 'own-tls', {
      spec: {...rules('mine.example', 'internal'), tls: [{hosts: ['mine.example'], secretName: 'np-mine'}]},
    }),
  },
  {
    deed: 'publish a host that only looks like one of the platform',
    object: manifest('Ingress', 'own-host', {spec: rules('shop.notapps.example.network', 'internal')}),
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
