/**
 * What a step of the reconcile reports if one of its writes failed. The step has decided nothing then, so these say
 * what stands without the write. Others than refusals, outages, and pauses are thrown.
 */
import {assessCertificate, certifiedBy} from '../issuance/certificate.ts';
import {conditionAfter, lastCondition} from '../model/write-conditions.ts';
import type {CertificateResult} from './certificate-waits.ts';
import type {ClaimResult} from './claim.ts';
import {CertificateReady, Claimed, type DomainCondition, Routed, type StepResult} from './conditions.ts';
import type {DomainView} from './view.ts';

interface Attempt {
  readonly view: DomainView;
  /** As in `ReconcileContext`. */
  readonly keepsFailing: boolean;
}

export function failedClaim(attempt: Attempt) {
  return (failure: unknown): ClaimResult => {
    const {holder, claim, namespace} = attempt.view;
    const holds = holder === 'us';
    const lost = holder === 'another' && claim?.spec.namespace !== namespace;
    return {condition: conditionOf(attempt, failure, Claimed, holds), holds, lost, failure};
  };
}

export function failedCertificate(attempt: Attempt) {
  return (failure: unknown): CertificateResult => {
    const usable = hasUsableCertificate(attempt.view);
    return {condition: conditionOf(attempt, failure, CertificateReady, usable), usable, failure};
  };
}

export function failedRoute(attempt: Attempt) {
  return (failure: unknown): StepResult => {
    return {condition: conditionOf(attempt, failure, Routed, attempt.view.published !== undefined), failure};
  };
}

interface Messages {
  readonly refused: (message: string, stands: boolean) => DomainCondition;
  readonly retrying: (message: string) => DomainCondition;
  readonly paused: (stands: boolean) => DomainCondition;
}

function conditionOf(
  {view, keepsFailing}: Attempt,
  failure: unknown,
  {refused, retrying, paused}: Messages,
  stands: boolean,
): DomainCondition {
  const {metadata, status} = view.domain;
  return conditionAfter(failure, {
    works: view.published !== undefined,
    keepsFailing,
    last: lastCondition(retrying('').type, status?.conditions, metadata.generation),
    refused: message => refused(message, stands),
    retrying,
    paused: () => paused(stands),
  });
}

function hasUsableCertificate({certificate, secret, host}: DomainView): boolean {
  if (!certificate) return false;
  const {kind} = assessCertificate(certificate, certifiedBy(secret, host));
  return kind === 'issued' || kind === 'renewal-failing';
}
