/** The requirements of a route: the Service and port of a Project, and the platform's edge. */
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {MAX_SERVICE} from '../caches/slim.ts';
import type {Stores} from '../caches/stores.ts';
import {backendName} from '../kinds/derived-names.ts';
import type {Backend, EdgeProblem, EdgeProvider, PlatformReader} from '../kinds/edge-provider.ts';
import type {Project, ServicePort} from '../kinds/kinds.ts';

/** Why a Project has nothing to route to, or no edge to route at. */
export const NO_BACKEND_REASONS = [
  'ServiceNotFound',
  'ServiceUnsuitable',
  'PortNotFound',
  'IngressClassNotFound',
  'GatewayNotFound',
  'GatewayUnsuitable',
] as const;

export type NoBackend =
  | {readonly kind: 'no-service'; readonly service: string}
  /** `why`: the fault, and what to do, without a period. */
  | {readonly kind: 'unsuitable'; readonly service: string; readonly why: string}
  | {readonly kind: 'no-port'; readonly service: string; readonly port: string; readonly ports: readonly string[]}
  | {readonly kind: 'no-edge'; readonly problem: EdgeProblem};

type NoBackendReason = (typeof NO_BACKEND_REASONS)[number];

const OWN_PODS = 'Pods of its own namespace serve a project: give the Service a selector for these pods';
const NO_AFFINITY = 'The edge chooses the pod of each request: set spec.sessionAffinity of the Service to None';

export function explainNoBackend(found: NoBackend): {readonly reason: NoBackendReason; readonly message: string} {
  switch (found.kind) {
    case 'no-service': {
      const message = `There is no Service ${found.service} in this namespace (Nameplate's own, labeled ${LABEL.managedBy}=nameplate, do not count). Create it, or correct spec.service.name of the Project.`;
      return {reason: 'ServiceNotFound', message};
    }
    case 'unsuitable': {
      const message = `Service ${found.service} ${found.why}, or set spec.service.name of the Project to another Service.`;
      return {reason: 'ServiceUnsuitable', message};
    }
    case 'no-port': {
      const message = `Service ${found.service} has no port ${found.port}; it has ${found.ports.join(', ') || 'none'}. Correct spec.service.port of the Project, or the Service.`;
      return {reason: 'PortNotFound', message};
    }
    case 'no-edge':
      return found.problem;
  }
}

interface BackendSources {
  readonly stores: {readonly services: Pick<Stores['services'], 'get'>; readonly platform: PlatformReader};
  readonly edge: Pick<EdgeProvider, 'problem'>;
}

export function findBackend(
  {stores, edge}: BackendSources,
  project: DeepReadonly<Project>,
): {readonly kind: 'found'; readonly backend: Backend} | NoBackend {
  const {name, port: given} = project.spec.service;
  // A name of a port has a letter (RFC 6335), so a number in quotes is a number.
  const wanted = /^[1-9]\d*$/.test(String(given)) ? Number(given) : given;
  const service = stores.services.get(`${project.metadata.namespace}/${name}`);
  if (!service) return {kind: 'no-service', service: name};
  const {type, selector = {}, ports = [], sessionAffinity, isTooLarge = false} = service.spec ?? {};
  const unsuitable = (why: string) => ({kind: 'unsuitable', service: name, why}) as const;
  const noPods = (why: string) => unsuitable(`${why}. ${OWN_PODS}`);
  if (type === 'ExternalName') return noPods('is an ExternalName, which points elsewhere');
  if (isTooLarge) return noPods(`has a selector and ports that together exceed ${MAX_SERVICE} characters`);
  if (Object.keys(selector).length === 0) return noPods('has no selector');
  if (sessionAffinity !== undefined) return unsuitable(`has session affinity ${sessionAffinity}. ${NO_AFFINITY}`);
  // A number may belong to one port for each protocol. HTTP needs TCP.
  const found = ports.find(({port, name, protocol}) => protocol === undefined && [port, name].includes(wanted));
  if (!found) return {kind: 'no-port', service: name, port: String(wanted), ports: ports.map(shown)};
  const problem = edge.problem(stores.platform);
  if (problem) return {kind: 'no-edge', problem};
  const {name: portName, port, targetPort, appProtocol} = found; // not nodePort
  const {ipFamilies, ipFamilyPolicy, publishNotReadyAddresses} = service.spec ?? {};
  const {name: projectName, namespace = ''} = project.metadata;
  return {
    kind: 'found',
    backend: {
      name: backendName(namespace, projectName, found, ipFamilies?.[0]),
      project: projectName,
      selector,
      port: {
        ...(portName && {name: portName}),
        port,
        ...(targetPort !== undefined && {targetPort}),
        ...(appProtocol && {appProtocol}),
      },
      ...(ipFamilies && {ipFamilies}),
      ...(ipFamilyPolicy && {ipFamilyPolicy}),
      ...(publishNotReadyAddresses && {publishNotReadyAddresses}),
    },
  };
}

function shown({name, port, protocol}: DeepReadonly<ServicePort>): string {
  const details = [...(name ? [port] : []), ...(protocol ? [`${protocol}, and HTTP needs TCP`] : [])];
  return `${name ?? port}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}
