/** Which challenges belong to which requests: both are for one host, in the same namespace. */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {requestedHost} from '../model/certificate-request.ts';
import type {CertificateRequest, Challenge} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {INDEX} from '../state/stores.ts';

/** The open challenges for the request's host in its namespace. */
export function openChallenges(
  {stores}: Operator,
  request: DeepReadonly<CertificateRequest>,
): readonly DeepReadonly<Challenge>[] {
  const {namespace} = request.metadata;
  const host = requestedHost(request);
  if (host === undefined) return [];
  return stores.challenges.byIndex(INDEX.host, host).filter(({metadata}) => metadata.namespace === namespace);
}

/** Whether a request in progress, as far as the cache knows, explains the challenge. */
export function hasOpenRequest({stores}: Operator, {metadata, spec}: DeepReadonly<Challenge>): boolean {
  const requests = stores.certificateRequests?.byIndex(INDEX.host, spec.dnsName) ?? [];
  return [...requests].some(request => request.metadata.namespace === metadata.namespace);
}
