/** Builders of the objects that a tenant or the platform applies, with sensible defaults. */
import type {DomainSpec} from '../../src/api/generated/domain.ts';
import type {ProjectSpec} from '../../src/api/generated/project.ts';
import {objectNameOf} from '../../src/api/host-names.ts';
import {API_VERSION, LABEL} from '../../src/api/names.ts';
import type {Domain, EndpointSlice, Project, Service} from '../../src/operator/kinds/kinds.ts';
import type {KubeObject} from '../../src/runtime/kube/object.ts';

/** Port of every Service built here. */
export const PORT = {name: 'http', number: 80} as const;

export interface NamespaceOptions {
  readonly plan?: string | undefined;
  readonly account?: string | undefined;
}

/** Label of namespaces whose listeners the platform's Gateway accepts, as docs/edges.md describes. */
export const LISTENERS_ALLOWED = {'example.net/hosts': 'allowed'} as const;

export function tenantNamespace(name: string, {plan, account}: NamespaceOptions = {}): KubeObject {
  const labels = {...LISTENERS_ALLOWED, ...(plan && {[LABEL.plan]: plan}), ...(account && {[LABEL.account]: account})};
  return {apiVersion: 'v1', kind: 'Namespace', metadata: {name, labels}};
}

/** A Project served by the Service with the same name. */
export function project(
  inNamespace: string,
  name: string,
  domains?: ProjectSpec['domains'],
  service: ProjectSpec['service'] = {name, port: PORT.name},
): Project {
  const spec: ProjectSpec = {service, ...(domains && {domains})};
  return {apiVersion: API_VERSION, kind: 'Project', metadata: {name, namespace: inNamespace}, spec};
}

/** A Domain that is applied manually. */
export function domain(
  inNamespace: string,
  host: string,
  projectName: string,
  redirect?: DomainSpec['redirect'],
): Domain {
  const spec: DomainSpec = {host, projectRef: {name: projectName}, ...(redirect && {redirect})};
  return {apiVersion: API_VERSION, kind: 'Domain', metadata: {name: objectNameOf(host), namespace: inNamespace}, spec};
}

/** Selects the pods whose label `app` is the Service's name. */
export function service(inNamespace: string, name: string, ports: readonly {name: string; port: number}[]): Service {
  const spec = {selector: {app: name}, ports: ports.map(port => ({...port}))};
  return {apiVersion: 'v1', kind: 'Service', metadata: {name, namespace: inNamespace}, spec};
}

/** The spec of an Ingress for one path of a host. */
export function ingressSpec(host: string, ingressClassName?: string) {
  const backend = {service: {name: 'mine', port: {number: PORT.number}}};
  const http = {paths: [{path: '/login', pathType: 'Prefix', backend}]};
  return {...(ingressClassName !== undefined && {ingressClassName}), rules: [{host, http}]};
}

/** What Kubernetes creates for a Service's pods: here, one endpoint, ready or not. */
export function endpointSlice(
  inNamespace: string,
  serviceName: string,
  ready: boolean,
): EndpointSlice & EndpointSlicePart {
  const metadata = {
    name: serviceName,
    namespace: inNamespace,
    labels: {'kubernetes.io/service-name': serviceName},
  };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata,
    addressType: 'IPv4',
    endpoints: [{addresses: ['10.0.0.1'], conditions: {ready}}],
    ports: [{name: PORT.name, port: 8080, protocol: 'TCP'}],
  };
}

/** Fields that the operator's own type leaves out because it does not read them. */
interface EndpointSlicePart {
  addressType: string;
  endpoints: {addresses: string[]; conditions: {ready: boolean}}[];
  ports: {name: string; port: number; protocol: string}[];
}
