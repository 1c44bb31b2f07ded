/** Objects that the review skips because a trusted program wrote them, not a tenant. */
import {ANNOTATION, LABEL} from '../api/names.ts';
import {routeName, routeNameIn} from '../operator/model/derived-names.ts';
import type {DeepReadonly, KubeObject} from '../runtime/kube/object.ts';

export const NEXT_KEY_LABEL = 'cert-manager.io/next-private-key';

export interface TrustedObjects {
  /** Services of hosts, as "namespace/np-…". */
  readonly services: ReadonlySet<string>;
}

/** A tenant could set the label, so the name must match the host too. */
export function isByNameplate({metadata}: DeepReadonly<KubeObject>): boolean {
  const {namespace = '', name, labels, annotations} = metadata;
  const host = annotations?.[ANNOTATION.host] ?? '';
  return labels?.[LABEL.managedBy] === 'nameplate' && routeNameIn(name) === routeName(namespace, host);
}

export function isTrusted(object: DeepReadonly<KubeObject>, trusted: TrustedObjects): boolean {
  return isByNameplate(object) || isEndpointsOfManaged(object, trusted) || isFromCertManager(object);
}

/** Kubernetes writes the endpoints of a Service, with its labels. */
function isEndpointsOfManaged({kind, metadata}: DeepReadonly<KubeObject>, {services}: TrustedObjects): boolean {
  const {namespace, name, labels} = metadata;
  if (labels?.[LABEL.managedBy] !== 'nameplate') return false;
  if (kind === 'Endpoints') return services.has(`${namespace}/${name}`);
  return kind === 'EndpointSlice' && services.has(`${namespace}/${labels['kubernetes.io/service-name']}`);
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
