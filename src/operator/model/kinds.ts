/** The kinds that the operator reads and writes, with their descriptors and the fields that it uses. */
import type {DomainSpec, DomainStatus} from '../../api/generated/domain.ts';
import type {DomainClaimSpec} from '../../api/generated/domainclaim.ts';
import type {HeldHostsSpec} from '../../api/generated/heldhosts.ts';
import type {ProjectSpec, ProjectStatus} from '../../api/generated/project.ts';
import {API_VERSION} from '../../api/names.ts';
import {type KubeObject, resourceType} from '../../runtime/kube/object.ts';

export interface Project extends KubeObject {
  spec: ProjectSpec;
  status?: ProjectStatus;
}
export interface CachedProject extends Project {
  /** Not part of the API: derived once, when the Project is cached. */
  defaultHost: string;
}
export interface Domain extends KubeObject {
  spec: DomainSpec;
  status?: DomainStatus;
}
export type RequiredRecord = NonNullable<NonNullable<DomainStatus['dns']>['required']>[number];
export interface DomainClaim extends KubeObject {
  spec: DomainClaimSpec;
}
export interface HeldHosts extends KubeObject {
  spec: HeldHostsSpec;
}

export interface Service extends KubeObject {
  spec?: {
    type?: string;
    clusterIP?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    /** Not part of the API: the selector and ports are too large, and the cache keeps neither. */
    isTooLarge?: boolean;
  };
}
export interface ServicePort {
  name?: string;
  port: number;
  targetPort?: number | string;
  appProtocol?: string;
}
/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/ */
export interface EndpointSlice extends KubeObject {
  endpoints?: {conditions?: {ready?: boolean}}[];
}
interface IngressBackendPort {
  name?: string;
  number?: number;
}
export interface Ingress extends KubeObject {
  spec: {
    ingressClassName: string;
    /** Null: none. */
    tls?: {hosts: string[]; secretName?: string}[] | null;
    rules: {
      host: string;
      http?: {
        paths: {path: string; pathType: 'Prefix'; backend: {service: {name: string; port: IngressBackendPort}}}[];
      };
    }[];
  };
}

interface CertificateCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}
/** https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.Certificate */
export interface Certificate extends KubeObject {
  spec: {
    dnsNames?: string[];
    secretName: string;
    issuerRef: {name: string; kind?: string; group?: string};
  };
  status?: {
    conditions?: CertificateCondition[];
    lastFailureTime?: string;
    failedIssuanceAttempts?: number;
    notBefore?: string;
    notAfter?: string;
    renewalTime?: string;
    revision?: number;
  };
}

/** https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateRequest */
export interface CertificateRequest extends KubeObject {
  spec: {
    /** Base64 of a PEM block. */
    request: string;
    isCA?: boolean;
    usages?: string[];
    issuerRef: {name: string; kind?: string; group?: string};
    /** The user who created it, according to the API server; cert-manager's webhook sets it, and it never changes. */
    username?: string;
  };
  status?: {conditions?: CertificateCondition[]};
}

export interface Challenge extends KubeObject {
  spec: {dnsName: string};
  status?: {processing?: boolean; state?: string};
}

/** Both kinds of issuer. https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.Issuer */
export interface Issuer extends KubeObject {
  spec?: IssuerSpec;
  /** Not part of the API: why the Issuer of a namespace is not used, judged once when it is cached. */
  problem?: string | undefined;
  /** Not part of the API: whether the Services of HTTP-01 solvers take node ports, judged once when it is cached. */
  takesNodePorts?: boolean;
  /** Not part of the API: whether cert-manager follows CNAMEs of custom hosts to solve DNS-01, also judged once. */
  followsCnames?: boolean;
  status?: {conditions?: CertificateCondition[]};
}

interface ServerTrust {
  caBundle?: string;
  caBundleSecretRef?: object;
}
/** The parts that name a server, or choose where a challenge is solved. */
export interface IssuerSpec {
  acme?: ServerTrust & {server: string; skipTLSVerify?: boolean; solvers?: ChallengeSolver[]};
  ca?: object;
  selfSigned?: object;
  vault?: ServerTrust & {server: string};
  venafi?: {
    tpp?: ServerTrust & {url: string};
    cloud?: {url?: string};
    ngts?: {url?: string; tokenEndpoint?: string};
  };
}
export interface ChallengeSolver {
  selector?: {dnsNames?: string[]; dnsZones?: string[]; matchLabels?: Record<string, string>};
  waitInsteadOfSelfCheck?: string;
  http01?: {
    ingress?: {name?: string; serviceType?: string; ingressTemplate?: object};
    gatewayHTTPRoute?: {serviceType?: string};
  };
  dns01?: {
    cnameStrategy?: string;
    webhook?: object;
    rfc2136?: {nameserver: string};
    acmeDNS?: {host: string};
    akamai?: {serviceConsumerDomain: string};
  };
}

export const PROJECT = resourceType<Project>(API_VERSION, 'Project', 'projects');
export const DOMAIN = resourceType<Domain>(API_VERSION, 'Domain', 'domains');
export const DOMAIN_CLAIM = resourceType<DomainClaim>(API_VERSION, 'DomainClaim', 'domainclaims', 'cluster');
export const HELD_HOSTS = resourceType<HeldHosts>(API_VERSION, 'HeldHosts', 'heldhosts');
/** The one name that the policy reads in every namespace. */
export const HELD_HOSTS_NAME = 'nameplate';
export const NAMESPACE = resourceType('v1', 'Namespace', 'namespaces', 'cluster');
export const SECRET = resourceType('v1', 'Secret', 'secrets');
export const SERVICE = resourceType<Service>('v1', 'Service', 'services');
export const ENDPOINT_SLICE = resourceType<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
export const INGRESS = resourceType<Ingress>('networking.k8s.io/v1', 'Ingress', 'ingresses');
export const INGRESS_CLASS = resourceType('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', 'cluster');
export const CERTIFICATE = resourceType<Certificate>('cert-manager.io/v1', 'Certificate', 'certificates');
export const CERTIFICATE_REQUEST = resourceType<CertificateRequest>(
  'cert-manager.io/v1',
  'CertificateRequest',
  'certificaterequests',
);
/** https://cert-manager.io/docs/reference/api-docs/#acme.cert-manager.io/v1.Challenge */
export const CHALLENGE = resourceType<Challenge>('acme.cert-manager.io/v1', 'Challenge', 'challenges');
export const ORDER = resourceType('acme.cert-manager.io/v1', 'Order', 'orders');
export const ISSUER = resourceType<Issuer>('cert-manager.io/v1', 'Issuer', 'issuers');
export const CLUSTER_ISSUER = resourceType<Issuer>('cert-manager.io/v1', 'ClusterIssuer', 'clusterissuers', 'cluster');
