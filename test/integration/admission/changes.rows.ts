/**
 * Changes to existing objects, through a subresource or a patch: attacks, and changes that legitimate writers may still
 * make.
 */
import {LABEL} from '../../../src/api/names.ts';
import {ingressSpec} from '../../support/objects.ts';
import type {Who} from './admission-world.ts';
import {type Manifest, manifest, NEXT, OURS, OURS_ALONE, ports, TENANT} from './manifests.ts';

export interface ObjectChange {
  readonly what: string;
  /** Created in advance by `creator`, or already existing. */
  readonly object: Manifest | {readonly kind: string; readonly metadata: {readonly name: string}};
  readonly creator?: Who;
  readonly patch: object;
  readonly subresource?: string;
}

export interface RefusedChange extends ObjectChange {
  readonly by?: Who;
  readonly says: string;
}

export interface AllowedChange extends ObjectChange {
  readonly by: Who;
}

const EDGE_ADDRESS = {loadBalancer: {ingress: [{ip: '192.0.2.80'}]}};
const spec = {selector: {app: 'mine'}, ports};
const pod = (name: string) => manifest('Pod', name, {spec: {containers: [{name: 'a', image: 'a.example/a'}]}});
const elsewhere = (name: string) => manifest('Ingress', name, {spec: ingressSpec('mine.example', 'internal')});
const balancer = (name: string) => manifest('Service', name, {spec: {...spec, type: 'LoadBalancer'}});
const route = (name: string) => manifest('HTTPRoute', name, {spec: {hostnames: ['mine.example']}});
const OURS_EXISTING = (kind: string) => ({kind, metadata: {name: OURS}});
const annotate = (key: string, value: string) => ({metadata: {annotations: {[key]: value}}});
const accepted = {status: {parents: [{conditions: [{type: 'Accepted', status: 'True'}]}]}};
const podAt = (ip: string) => ({status: {podIP: ip, podIPs: [{ip}]}});

export const refusedChanges: readonly RefusedChange[] = [
  // attack: edge-address
  {
    what: "a Pod's status with the address of another tenant's Pod",
    object: pod('foreign'),
    patch: podAt('192.0.2.10'),
    subresource: 'status',
    says: 'Only its node may write the addresses of a Pod',
  },
  {
    what: "a Pod's status with the address of another host",
    object: pod('foreign-host'),
    patch: {status: {hostIP: '192.0.2.10', hostIPs: [{ip: '192.0.2.10'}]}},
    subresource: 'status',
    says: 'Only its node may write the addresses of a Pod',
  },
  // attack: edge-address
  {
    what: "a Service's status with the address of the edge",
    object: balancer('taking'),
    patch: {status: EDGE_ADDRESS},
    subresource: 'status',
    says: 'Only its load balancer may write the addresses',
  },
  // attack: foreign-route
  {
    what: "the edge's class in an annotation, through the status of an Ingress of another class",
    object: elsewhere('by-status'),
    patch: annotate('kubernetes.io/ingress.class', 'traefik'),
    subresource: 'status',
    says: 'list it in spec.domains of a Project',
  },
  {
    what: "the edge's class in an annotation, in addition to another class",
    object: elsewhere('by-annotation'),
    patch: annotate('kubernetes.io/ingress.class', 'traefik'),
    says: 'list it in spec.domains of a Project',
  },
  // attack: cert-manager-work
  {
    what: 'the kind of the issuer in an annotation of an Ingress, after its name',
    object: {
      ...elsewhere('by-kind'),
      metadata: {...elsewhere('by-kind').metadata, annotations: {'cert-manager.io/issuer': 'any'}},
    },
    patch: annotate('cert-manager.io/issuer-kind', 'ClusterIssuer'),
    says: 'Nameplate would not approve a certificate from ClusterIssuer any',
  },
  {
    what: 'the annotation that requests a certificate, through the status of an Ingress',
    object: elsewhere('requesting'),
    patch: annotate('cert-manager.io/cluster-issuer', 'other'),
    subresource: 'status',
    says: 'Nameplate would not approve a certificate from ClusterIssuer other',
  },
  {
    what: 'an annotation of a managed Ingress, through its status',
    object: OURS_EXISTING('Ingress'),
    patch: annotate('traefik.ingress.kubernetes.io/router.priority', '9999'),
    subresource: 'status',
    says: 'Nameplate', // of two policies, either may answer first
  },
  // attack: managed-objects
  {
    what: 'a finalizer of a managed Ingress, through its status',
    object: OURS_EXISTING('Ingress'),
    patch: {metadata: {finalizers: ['mallory.example/stay']}},
    subresource: 'status',
    says: 'Nameplate', // of two policies, either may answer first
  },
  {
    what: 'the status of a managed Ingress',
    object: OURS_EXISTING('Ingress'),
    patch: {status: EDGE_ADDRESS},
    subresource: 'status',
    says: 'Nameplate', // of two policies, either may answer first
  },
  {
    what: 'a label of a managed Service, through its status',
    object: OURS_EXISTING('Service'),
    patch: {metadata: {labels: {[LABEL.managedBy]: null}}},
    subresource: 'status',
    says: OURS_ALONE,
  },
  {
    what: 'the status of a route that the platform created in its namespace',
    object: route('platforms'),
    creator: 'admin',
    patch: accepted,
    subresource: 'status',
    says: 'Only Nameplate may write edge routes',
  },
  // attack: edge-address
  {
    what: 'an annotation that requests an address, through the status of a Service',
    object: balancer('asking'),
    patch: annotate('metallb.io/loadBalancerIPs', '192.0.2.80'),
    subresource: 'status',
    says: 'may take the traffic of an address',
  },
  {
    what: 'an annotation that requests a DNS record, through the status of a Service',
    object: balancer('naming'),
    patch: annotate('external-dns.alpha.kubernetes.io/hostname', 'shop.apps.example.net'),
    subresource: 'status',
    says: 'is in a zone of the platform',
  },
  {
    what: 'the same, through the status of an Ingress of another class',
    object: elsewhere('naming'),
    patch: annotate('external-dns.alpha.kubernetes.io/hostname', 'shop.apps.example.net'),
    subresource: 'status',
    says: 'is in a zone of the platform',
  },
  {
    what: 'a host of the platform, in an existing Ingress of another class',
    object: elsewhere('renamed'),
    patch: {spec: ingressSpec('shop.apps.example.net', 'internal')},
    says: 'is in a zone of the platform',
  },
  // attack: managed-objects
  {
    what: 'the Secret of a future host, as the next key of a Certificate',
    object: manifest('Certificate', 'next-key', {
      spec: {secretName: 'next-key', dnsNames: ['mine.example'], issuerRef: {name: 'mine'}},
    }),
    patch: {status: {nextPrivateKeySecretName: NEXT}},
    subresource: 'status',
    says: OURS_ALONE,
  },
  {
    what: 'the Secret of a future host, in the TLS section of an existing Ingress',
    object: elsewhere('shim-later'),
    patch: {spec: {tls: [{hosts: ['mine.example'], secretName: NEXT}]}},
    says: OURS_ALONE,
  },
  // attack: recreated-namespace
  {
    what: 'the account, through the status of its namespace',
    object: {kind: 'Namespace', metadata: {name: TENANT}},
    patch: {metadata: {labels: {[LABEL.account]: 'victim'}}},
    subresource: 'status',
    says: 'Only the platform team may set the labels',
  },
  // attack: foreign-route
  {
    what: 'a route, by an edge that may write its status',
    by: 'edge',
    object: elsewhere('by-edge'),
    patch: annotate('kubernetes.io/ingress.class', 'traefik'),
    subresource: 'status',
    says: 'list it in spec.domains of a Project',
  },
  // attack: managed-objects
  {
    what: 'a managed Ingress, by an edge that may write its status',
    by: 'edge',
    object: OURS_EXISTING('Ingress'),
    patch: annotate('traefik.ingress.kubernetes.io/router.priority', '9999'),
    subresource: 'status',
    says: 'Nameplate', // of two policies, either may answer first
  },
  {
    what: 'a route, by an edge that is in admission.statusWriters',
    by: 'confinedEdge',
    object: elsewhere('by-confined'),
    patch: annotate('kubernetes.io/ingress.class', 'traefik'),
    says: 'list it in spec.domains of a Project',
  },
];

export const allowedChanges: readonly AllowedChange[] = [
  {what: 'the addresses of a Pod', by: 'node', object: pod('run'), patch: podAt('10.0.0.1'), subresource: 'status'},
  {
    what: 'a readiness gate of its Pod',
    by: 'tenant',
    object: pod('gated'),
    patch: {status: {conditions: [{type: 'mine.example/ready', status: 'True'}]}},
    subresource: 'status',
  },
  ...(['edge', 'confinedEdge'] as const).flatMap(by => [
    // attack: managed-objects
    {
      what: 'the addresses of a managed Ingress',
      by,
      object: OURS_EXISTING('Ingress'),
      patch: {status: {loadBalancer: {ingress: [{hostname: `${by.toLowerCase()}.example`}]}}},
      subresource: 'status',
    },
    {
      what: 'the addresses of an Ingress of another class',
      by,
      object: elsewhere(`addressed-by-${by.toLowerCase()}`),
      patch: {status: EDGE_ADDRESS},
      subresource: 'status',
    },
  ]),
  {
    what: 'the conditions of a route',
    by: 'edge',
    object: route('accepted'),
    creator: 'admin',
    patch: accepted,
    subresource: 'status',
  },
  // attack: edge-address
  {
    what: 'the address of a Service, and an annotation that records it',
    by: 'loadBalancer',
    object: balancer('given'),
    patch: {...annotate('load-balancer.hetzner.cloud/id', '7'), status: EDGE_ADDRESS},
    subresource: 'status',
  },
  {
    what: 'a label of a Service with an address and records that the platform gave',
    by: 'tenant',
    object: manifest(
      'Service',
      'platform-gave',
      {spec: {...spec, type: 'LoadBalancer', loadBalancerIP: '192.0.2.81', externalIPs: ['192.0.2.82']}},
      {
        annotations: {
          'external-dns.alpha.kubernetes.io/hostname': 'team.example.net',
          'metallb.io/loadBalancerIPs': '192.0.2.81',
        },
      },
    ),
    creator: 'operator',
    patch: {metadata: {labels: {team: 'mine'}}},
  },
  {
    what: 'the status of a Service with records that the platform gave',
    by: 'loadBalancer',
    object: manifest(
      'Service',
      'platform-named',
      {spec: {...spec, type: 'LoadBalancer'}},
      {annotations: {'external-dns.alpha.kubernetes.io/hostname': 'team.example.net'}},
    ),
    creator: 'operator',
    patch: {status: EDGE_ADDRESS},
    subresource: 'status',
  },
  {
    what: 'a condition of its Service',
    by: 'tenant',
    object: balancer('conditioned'),
    patch: {
      status: {
        conditions: [
          {type: 'Mine', status: 'True', reason: 'Mine', message: '', lastTransitionTime: '2026-01-01T00:00:00Z'},
        ],
      },
    },
    subresource: 'status',
  },
  {
    what: 'a condition of its Certificate',
    by: 'tenant',
    object: manifest('Certificate', 'renewed', {
      spec: {secretName: 'renewed', dnsNames: ['mine.example'], issuerRef: {name: 'mine'}},
    }),
    patch: {status: {nextPrivateKeySecretName: 'renewed-next'}},
    subresource: 'status',
  },
];
