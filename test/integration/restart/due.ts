/**
 * What others than the operator are about to do, as the objects show it: cert-manager, the CA, the garbage collector, and
 * the namespace controller. That nobody writes does not show it, because each of them may be slow.
 */
import {findCondition} from '../../../src/api/conditions.ts';
import {LABEL} from '../../../src/api/names.ts';
import {isAdmitted, placedOrder} from '../../../src/operator/claim/order-records.ts';
import {requestedHost} from '../../../src/operator/kinds/certificate-request.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../../src/runtime/kube/object.ts';
import type {History} from '../operator/history.ts';

/** `followed`: the kinds that may own objects, and those that namespaces contain. */
export function dueIn(history: History, followed: readonly ResourceType[]): string[] {
  const objects = followed.flatMap(kind => history.list<KubeObject>(kind));
  return [
    ...endings(history, objects),
    ...garbage(objects, new Set(followed.map(({kind}) => kind))),
    ...history.list(kinds.CERTIFICATE).flatMap(certificate => issuance(history, certificate)),
    ...history.list(kinds.CERTIFICATE_REQUEST).flatMap(request => orders(history, request)),
  ];
}

function endings(history: History, objects: readonly KubeObject[]): string[] {
  const contents = Map.groupBy(objects, ({metadata}) => metadata.namespace);
  return history.list(kinds.NAMESPACE).flatMap(({metadata: {name, deletionTimestamp}}) => {
    if (deletionTimestamp === undefined) return [];
    const inside = contents.get(name) ?? [];
    const isKept =
      inside.length > 0 && inside.every(({metadata}) => metadata.deletionTimestamp && metadata.finalizers?.length);
    return isKept ? [] : [`namespace ${name} ends`];
  });
}

function garbage(objects: readonly KubeObject[], followed: ReadonlySet<string>): string[] {
  const uids = new Set(objects.map(({metadata}) => metadata.uid));
  return objects.flatMap(object => {
    const {ownerReferences = [], deletionTimestamp} = object.metadata;
    const isGone = ({kind, uid}: {kind: string; uid: string}) => followed.has(kind) && !uids.has(uid);
    const isGarbage = deletionTimestamp === undefined && ownerReferences.length > 0 && ownerReferences.every(isGone);
    return isGarbage ? [`${object.kind} ${keyOf(object)} has no owner anymore`] : [];
  });
}

/** By cert-manager. Once it has failed, it waits for an hour or more. */
function issuance(history: History, certificate: kinds.Certificate): string[] {
  const {metadata, spec, status} = certificate;
  const {namespace, name, generation, uid, deletionTimestamp} = metadata;
  if (deletionTimestamp !== undefined || metadata.labels?.[LABEL.managedBy] !== 'nameplate') return [];
  const what = `Certificate ${namespace}/${name}`;
  const {conditions, revision = 0, lastFailureTime} = (status ?? {}) as typeof status & Failure;
  if (findCondition(conditions, 'Ready')?.observedGeneration !== generation) return [`${what} is not judged`];
  if (findCondition(conditions, 'Issuing')?.status !== 'True') {
    const isIssued = history.get(kinds.SECRET, `${namespace}/${spec.secretName}`) || lastFailureTime !== undefined;
    return isIssued ? [] : [`${what} has no Secret`];
  }
  const request = history
    .list(kinds.CERTIFICATE_REQUEST, namespace)
    .find(({metadata: {annotations, ownerReferences}}) => {
      const isNext = annotations?.['cert-manager.io/certificate-revision'] === `${revision + 1}`;
      return isNext && ownerReferences?.some(owner => owner.uid === uid);
    });
  if (!request) return [`${what} has no request`];
  return hasEnded(request) ? [`${what} does not have its answer`] : [];
}

interface Failure {
  readonly revision?: number;
  readonly lastFailureTime?: string;
}

/** By the CA, which the signer polls. */
function orders(history: History, request: kinds.CertificateRequest): string[] {
  if (hasEnded(request)) return []; // most have, and the name is parsed
  const host = requestedHost(request);
  const claim = host === undefined ? undefined : history.get(kinds.DOMAIN_CLAIM, host);
  const isOpen = claim && isAdmitted(claim, request) && placedOrder(claim.spec) !== undefined;
  return isOpen ? [`the order of ${keyOf(request)} is open`] : [];
}

function hasEnded({status}: kinds.CertificateRequest): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return ready?.status === 'True' || ready?.reason === 'Failed' || ready?.reason === 'Denied';
}
