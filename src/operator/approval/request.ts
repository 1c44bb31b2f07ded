import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CertificateRequest} from '../resources.ts';

export function isDecided({status}: DeepReadonly<CertificateRequest>): boolean {
  return status?.conditions?.some(({type}) => type === 'Approved' || type === 'Denied') ?? false;
}

/** By us, for a default host or an exempt namespace. */
export function isApprovedWithoutClaim({status}: DeepReadonly<CertificateRequest>): boolean {
  const {reason} = status?.conditions?.find(({type}) => type === 'Approved') ?? {};
  return reason === 'DefaultHost' || reason === 'NamespaceExempt';
}

/** What is cached: of a decided request, and most are, only that it is decided. */
export function undecidedPart(request: CertificateRequest): CertificateRequest {
  const {apiVersion, kind, metadata, spec, status} = request;
  const {request: text, isCA, usages, issuerRef} = spec;
  const decided = status?.conditions?.filter(({type}) => type === 'Approved' || type === 'Denied') ?? [];
  if (decided.length > 0) {
    return {apiVersion, kind, metadata, spec: {request: '', issuerRef}, status: {conditions: decided}};
  }
  return {
    apiVersion,
    kind,
    metadata,
    spec: {request: text, issuerRef, ...(isCA && {isCA}), ...(usages && {usages})},
  };
}
