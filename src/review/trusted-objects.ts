/** Objects that the review skips because a trusted program wrote them, not a tenant. */
import {ANNOTATION, LABEL} from '../api/names.ts';
import {routeName, routeNameIn} from '../operator/model/derived-names.ts';
import type {DeepReadonly, KubeObject} from '../runtime/kube/object.ts';

export const SOLVER_LABEL = 'acme.cert-manager.io/http01-solver';
export const NEXT_KEY_LABEL = 'cert-manager.io/next-private-key';

export interface TrustedObjects {
  /** Services of hosts, as "namespace/np-…". */
  readonly services: ReadonlySet<string>;
  /** The host of each Challenge that its namespace may solve, by the UID of the Challenge. */
  readonly challenges: ReadonlyMap<string, string>;
}

/** A tenant could set the label, so the name must match the host too. */
export function isByNameplate({metadata}: DeepReadonly<KubeObject>): boolean {
  const {namespace = '', name, labels, annotations} = metadata;
  const host = annotations?.[ANNOTATION.host] ?? '';
  return labels?.[LABEL.managedBy] === 'nameplate' && routeNameIn(name) === routeName(namespace, host);
}

export function isTrusted(object: DeepReadonly<KubeObject>, trusted: TrustedObjects): boolean {
  return (
    isByNameplate(object) ||
    isEndpointsOfManaged(object, trusted) ||
    isSolver(object, trusted) ||
    isFromCertManager(object)
  );
}

/** Kubernetes writes the endpoints of a Service, with its labels. */
function isEndpointsOfManaged({kind, metadata}: DeepReadonly<KubeObject>, {services}: TrustedObjects): boolean {
  const {namespace, name, labels} = metadata;
  if (labels?.[LABEL.managedBy] !== 'nameplate') return false;
  if (kind === 'Endpoints') return services.has(`${namespace}/${name}`);
  return kind === 'EndpointSlice' && services.has(`${namespace}/${labels['kubernetes.io/service-name']}`);
}

interface Rules {
  readonly rules?: readonly {readonly host?: string}[];
  readonly defaultBackend?: unknown;
}

/** cert-manager's solver, for an existing Challenge and no other host. */
function isSolver(object: DeepReadonly<KubeObject>, {challenges}: TrustedObjects): boolean {
  const {labels, ownerReferences = []} = object.metadata;
  if (labels?.[SOLVER_LABEL] === undefined) return false;
  const host = challenges.get(ownerReferences.find(({controller}) => controller)?.uid ?? '');
  if (host === undefined || object.kind !== 'Ingress') return host !== undefined;
  const {rules = [], defaultBackend} = (object as DeepReadonly<KubeObject> & {readonly spec?: Rules}).spec ?? {};
  return defaultBackend === undefined && rules.every(rule => rule.host === host);
}

/**
 * Objects that cert-manager creates from a Certificate, which is checked itself. It soon deletes a next private key:
 * one that a finalizer keeps is not its own.
 */
function isFromCertManager({kind, metadata}: DeepReadonly<KubeObject>): boolean {
  const {labels, ownerReferences = [], finalizers = []} = metadata;
  const isNextKey = kind === 'Secret' && labels?.[NEXT_KEY_LABEL] !== undefined && finalizers.length === 0;
  return (kind === 'CertificateRequest' || isNextKey) && isFromCertificate(ownerReferences);
}

export function isFromCertificate(
  owners: DeepReadonly<NonNullable<KubeObject['metadata']['ownerReferences']>>,
): boolean {
  return owners.some(({kind, controller}) => controller && kind === 'Certificate');
}
