import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../config.ts';
import {issuerOf} from '../orders/ca-account.ts';
import type {CertificateRequest} from '../resources.ts';

export function isDecided({status}: DeepReadonly<CertificateRequest>): boolean {
  return status?.conditions?.some(({type}) => type === 'Approved' || type === 'Denied') ?? false;
}

/**
 * Whether it is ours to decide: a request to an issuer of cert-manager's, or of the configured kind. cert-manager lets
 * nobody decide on what is asked of a kind that does not exist, nor us on that of others, for whose signers the chart grants
 * nothing; such a request stays unapproved, and no issuer acts on it.
 */
export function isOurs({certificates}: OperatorConfig, {spec}: DeepReadonly<CertificateRequest>): boolean {
  const {kind, group} = issuerOf(spec.issuerRef);
  const configured = certificates.issuerRef;
  if (kind === configured.kind && group === configured.group) return true;
  return group === 'cert-manager.io' && (kind === 'Issuer' || kind === 'ClusterIssuer');
}

/** By us, for a default host or an exempt namespace. */
export function isApprovedWithoutClaim({status}: DeepReadonly<CertificateRequest>): boolean {
  const {reason} = status?.conditions?.find(({type}) => type === 'Approved') ?? {};
  return reason === 'DefaultHost' || reason === 'NamespaceExempt';
}

/** What is cached: of a decided request, and most are, only how it was decided. */
export function undecidedPart(request: CertificateRequest): CertificateRequest {
  const {apiVersion, kind, metadata, spec, status} = request;
  const {request: text, isCA, usages, issuerRef} = spec;
  const decided = status?.conditions?.filter(({type}) => type === 'Approved' || type === 'Denied') ?? [];
  if (decided.length > 0) {
    const {name, namespace, uid, resourceVersion} = metadata;
    const identity = {name, namespace, uid, resourceVersion} as CertificateRequest['metadata'];
    return {apiVersion, kind, metadata: identity, spec: {request: '', issuerRef}, status: {conditions: decided}};
  }
  return {
    apiVersion,
    kind,
    metadata,
    spec: {request: text, issuerRef, ...(isCA && {isCA}), ...(usages && {usages})},
  };
}
