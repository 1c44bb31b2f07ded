/**
 * What a step of the reconcile reports if one of its writes failed. The step has decided nothing then, so these say
 * what is true without the write. They rethrow everything except refusals, outages, and pauses.
 */
import {assessCertificate, certifiedBy} from '../issuance/certificate.ts';
import {conditionAfter, lastCondition} from '../model/write-conditions.ts';
import type {CertificateResult} from './certificate-waits.ts';
import type {ClaimResult} from './claim.ts';
import {CertificateReady, Claimed, type DomainCondition, Routed, type StepResult} from './conditions.ts';
import type {DomainView} from './view.ts';

export function failedClaim(view: DomainView) {
  return (failure: unknown): ClaimResult => {
    const {holder, claim, namespace} = view;
    const holds = holder === 'us';
    const lost = holder === 'another' && claim?.spec.namespace !== namespace;
    return {condition: conditionOf(view, failure, Claimed, holds), holds, lost, failure};
  };
}

export function failedCertificate(view: DomainView) {
  return (failure: unknown): CertificateResult => {
    const usable = hasUsableCertificate(view);
    return {condition: conditionOf(view, failure, CertificateReady, usable), usable, failure};
  };
}

export function failedRoute(view: DomainView) {
  return (failure: unknown): StepResult => {
    return {condition: conditionOf(view, failure, Routed, view.published !== undefined), failure};
  };
}

interface Messages {
  readonly refused: (message: string, isTrue: boolean) => DomainCondition;
  readonly retrying: (message: string) => DomainCondition;
  readonly paused: (isTrue: boolean) => DomainCondition;
}

function conditionOf(
  {domain, published, keepsFailing}: DomainView,
  failure: unknown,
  {refused, retrying, paused}: Messages,
  isTrue: boolean,
): DomainCondition {
  const {metadata, status} = domain;
  return conditionAfter(failure, {
    works: published !== undefined,
    keepsFailing,
    last: lastCondition(retrying('').type, status?.conditions, metadata.generation),
    refused: message => refused(message, isTrue),
    retrying,
    paused: () => paused(isTrue),
  });
}

function hasUsableCertificate({certificate, secret, host}: DomainView): boolean {
  if (!certificate) return false;
  const {kind} = assessCertificate(certificate, certifiedBy(secret, host));
  return kind === 'issued' || kind === 'renewal-failing';
}
