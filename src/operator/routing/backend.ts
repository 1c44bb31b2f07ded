/** Is there something to route to? The Service and port of a Project, and the platform's IngressClass. */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Operator} from '../context.ts';
import type {Project} from '../resources.ts';

export type Backend =
  | {readonly kind: 'found'}
  | {readonly kind: 'no-service'; readonly service: string}
  | {readonly kind: 'no-port'; readonly service: string; readonly port: string; readonly ports: readonly string[]}
  | {readonly kind: 'no-ingress-class'; readonly name: string};

export function findBackend({stores, config}: Operator, project: DeepReadonly<Project>): Backend {
  const {name, port} = project.spec.service;
  const service = stores.services.get(`${project.metadata.namespace}/${name}`);
  if (!service) return {kind: 'no-service', service: name};
  const ports = service.spec?.ports ?? [];
  if (!ports.some(candidate => candidate.port === port || candidate.name === port)) {
    const shown = ports.map(candidate =>
      candidate.name ? `${candidate.name} (${candidate.port})` : `${candidate.port}`,
    );
    return {kind: 'no-port', service: name, port: String(port), ports: shown};
  }
  const {ingressClassName} = config.routing;
  if (!stores.ingressClasses.get(ingressClassName)) return {kind: 'no-ingress-class', name: ingressClassName};
  return {kind: 'found'};
}
