/**
 * The reports of a step of the reconcile after a failed write. The step has decided nothing then, so these report the
 * state without the write. They rethrow everything except refusals, outages, and pauses.
 */
import {classifyFailure} from '../../runtime/kube/errors.ts';
import {conditionAfter, lastCondition} from '../kinds/steps.ts';
import {type ClaimResult, isLost} from './claim.ts';
import {CertificateReady, Claimed, type DomainCondition, Routed, type StepResult} from './conditions.ts';
import {type CertificateResult, hasUsableCertificate} from './held-certificate.ts';
import type {DomainView} from './view.ts';

export function failedClaim(view: DomainView) {
  return (failure: unknown): ClaimResult => {
    const holds = view.holder === 'us';
    return {condition: conditionOf(view, failure, Claimed, holds), holds, lost: isLost(view), failure};
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
    const messages = failure === view.removalFailure ? {...Routed, refused: Routed.removalRefused} : Routed;
    return {condition: conditionOf(view, failure, messages, view.published !== undefined), failure};
  };
}

/** A Domain must report the loss of its host even if the API server rejects the removal of its route. */
export function failedRemoval(view: DomainView) {
  return (failure: unknown): DomainView => {
    if (classifyFailure(failure) !== 'refusal') throw failure;
    return {...view, removalFailure: failure};
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
