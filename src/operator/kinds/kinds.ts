/** The kinds that the operator reads and writes, with their descriptors and the fields that it uses. */
import type {ACMEIssuerSpec, ACMEIssuerStatus} from '../../api/generated/acmeissuer.ts';
import type {DomainSpec, DomainStatus} from '../../api/generated/domain.ts';
import type {DomainClaimSpec} from '../../api/generated/domainclaim.ts';
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
export interface ACMEIssuer extends KubeObject {
  spec: ACMEIssuerSpec;
  status?: ACMEIssuerStatus;
}

/** With values in base64. The caches keep only the metadata. */
export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  data?: Record<string, string>;
}
export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
export interface Service extends KubeObject {
  spec?: {
    type?: string;
    clusterIP?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    ipFamilies?: string[];
    ipFamilyPolicy?: string;
    publishNotReadyAddresses?: boolean;
    sessionAffinity?: string;
    /** Not part of the API: the selector and ports are too large, and the cache keeps neither. */
    isTooLarge?: boolean;
  };
}
export interface ServicePort {
  name?: string;
  port: number;
  targetPort?: number | string;
  protocol?: string;
  appProtocol?: string;
}
/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/ */
export interface EndpointSlice extends KubeObject {
  endpoints?: {addresses?: string[]; conditions?: {ready?: boolean}}[];
  ports?: {name?: string; port?: number}[];
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
    commonName?: string;
    dnsNames?: string[];
    ipAddresses?: string[];
    secretName: string;
    issuerRef: {name: string; kind?: string; group?: string};
    renewBeforePercentage?: number | null;
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

/** Both kinds of issuer. https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.Issuer */
export interface Issuer extends KubeObject {
  spec?: IssuerSpec;
  /** Not part of the API: why the Issuer of a namespace is not used, judged once when it is cached. */
  problem?: string | undefined;
  /** Not part of the API: whether cert-manager solves challenges for it, judged once when it is cached. */
  speaksAcme?: boolean;
  /** Not part of the API: whether that is possible below the platform's own domain, through DNS-01. */
  solvesInBaseDomain?: boolean;
  /** Not part of the API: whether it signs each certificate with the certificate's own key. */
  isSelfSigned?: boolean;
  status?: {conditions?: CertificateCondition[]};
}

interface ServerTrust {
  caBundle?: string;
  caBundleSecretRef?: object;
}
/** The parts that name a server. */
export interface IssuerSpec {
  acme?: {server?: string; solvers?: {http01?: object; dns01?: object; selector?: {dnsZones?: string[]}}[]};
  ca?: object;
  selfSigned?: object;
  vault?: ServerTrust & {server: string};
  venafi?: {
    tpp?: ServerTrust & {url: string};
    cloud?: {url?: string};
    ngts?: {url?: string; tokenEndpoint?: string};
  };
}
export const PROJECT = resourceType<Project>(API_VERSION, 'Project', 'projects');
export const DOMAIN = resourceType<Domain>(API_VERSION, 'Domain', 'domains');
export const DOMAIN_CLAIM = resourceType<DomainClaim>(API_VERSION, 'DomainClaim', 'domainclaims', 'cluster');
export const ACME_ISSUER = resourceType<ACMEIssuer>(API_VERSION, 'ACMEIssuer', 'acmeissuers', 'cluster');
export const NAMESPACE = resourceType('v1', 'Namespace', 'namespaces', 'cluster');
export const SECRET = resourceType<Secret>('v1', 'Secret', 'secrets');
export const CONFIG_MAP = resourceType<ConfigMap>('v1', 'ConfigMap', 'configmaps');
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
export const ISSUER = resourceType<Issuer>('cert-manager.io/v1', 'Issuer', 'issuers');
export const CLUSTER_ISSUER = resourceType<Issuer>('cert-manager.io/v1', 'ClusterIssuer', 'clusterissuers', 'cluster');
