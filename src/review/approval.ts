/**
 * Checks existing Certificates, certificate requests, and Issuers with the code with which the operator approves
 * requests.
 */
import {LABEL} from '../api/names.ts';
import {type DecisionBasis, decide} from '../operator/approval/decide.ts';
import {waitsForPlan} from '../operator/model/account.ts';
import {isOurs} from '../operator/model/certificate-request.ts';
import type {OperatorConfig} from '../operator/model/config.ts';
import {issuerOf} from '../operator/model/issuer-ref.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type Certificate,
  type CertificateRequest,
  DOMAIN_CLAIM,
  ISSUER,
  type Issuer,
  PROJECT,
} from '../operator/model/kinds.ts';
import {judgedIssuer} from '../operator/state/slim.ts';
import {INDEX, inNamespace} from '../operator/state/stores.ts';
import {type DeepReadonly, type KubeObject, keyOf, type ResourceType} from '../runtime/kube/object.ts';
import {approvalReason, issuerAdvice, OTHER_GROUPS} from './advice.ts';
import {listAll, storeOf} from './api.ts';
import {type Finding, findingOf, type Judged, type Reason, type ReviewContext, type Unjudged} from './finding.ts';
import {inlineYaml} from './inline-yaml.ts';
import {type CertificateSpec, nextRequest} from './signing-request.ts';
import {isFromCertificate} from './trusted-objects.ts';

export async function judgeByApprover(
  context: ReviewContext,
  config: OperatorConfig,
  namespaces: readonly KubeObject[],
): Promise<Judged> {
  const {namespace, signal, client} = context;
  const inScope = async <T extends KubeObject>(resource: ResourceType<T>) => {
    const objects = await listAll(client, resource, {namespace, signal});
    return objects.filter(({metadata}) => metadata.deletionTimestamp === undefined);
  };
  const certificates = await inScope(CERTIFICATE);
  const requests = (await inScope(CERTIFICATE_REQUEST)).filter(
    ({metadata}) => !isFromCertificate(metadata.ownerReferences ?? []),
  );
  const issuers = (await inScope(ISSUER)).map(issuer => ({issuer, judged: judgedIssuer(issuer, config)}));
  // The operator derives the default host from the platform key, which stays in its Secret.
  const cached = (await inScope(PROJECT)).map(project => ({
    ...project,
    defaultHost: project.status?.defaultHost ?? '',
  }));
  const projects = storeOf(cached);
  projects.addIndex(INDEX.defaultHost, project => [inNamespace(project, project.defaultHost)]);
  const basis: DecisionBasis = {
    config,
    places: {has: project => !waitsForPlan(project)},
    stores: {
      projects,
      namespaces: storeOf(namespaces),
      claims: storeOf(await listAll(client, DOMAIN_CLAIM, {signal})),
      certificates: storeOf(certificates.filter(({metadata}) => metadata.labels?.[LABEL.managedBy] === 'nameplate')),
      issuers: storeOf(issuers.map(({judged}) => judged)),
    },
  };
  const unjudged: Unjudged[] = [];
  const findings = [
    ...certificates.flatMap(certificate => {
      if (!(certificate.spec as CertificateSpec).literalSubject) return judgeCertificate(basis, certificate);
      unjudged.push({what: `Certificate ${keyOf(certificate)}`, why: 'spec.literalSubject may contain other hosts.'});
      return [];
    }),
    ...requests.flatMap(request => findingsOf(request, judgeRequest(basis, request))),
    ...issuers.flatMap(({issuer, judged}) => findingsOf(issuer, judgeIssuer(config, judged))),
  ];
  return {objects: certificates.length + requests.length + issuers.length, findings, unjudged};
}

function judgeCertificate(basis: DecisionBasis, certificate: DeepReadonly<Certificate>): Finding[] {
  const {certManagerUser} = basis.config.certificates;
  return findingsOf(certificate, judgeRequest(basis, nextRequest(certificate, certManagerUser)));
}

/** Why the approver would not approve the request; undefined if it would. */
export function judgeRequest(basis: DecisionBasis, request: DeepReadonly<CertificateRequest>): Reason | undefined {
  if (!isOurs(basis.config, request)) return notOurs(request);
  const decision = decide(basis, request);
  if (decision.type === 'Approved') return undefined;
  const issuer = basis.stores.issuers.get(`${request.metadata.namespace}/${request.spec.issuerRef.name}`);
  return approvalReason(decision, request, issuer?.problem);
}

function notOurs({spec}: DeepReadonly<CertificateRequest>): Reason {
  const {kind, group} = issuerOf(spec.issuerRef);
  return {
    rule: 'approval/OtherIssuerKind',
    message: `Nameplate neither approves nor denies requests that use issuers of kind ${kind} in group ${group}, and cert-manager's own approver must be off.`,
    values: [OTHER_GROUPS],
    advice: `Let another approver, such as approver-policy, decide on the signers of ${group}, and list it in ${OTHER_GROUPS}: ${inlineYaml(group)}.`,
  };
}

function judgeIssuer({certificates}: OperatorConfig, {metadata, problem}: DeepReadonly<Issuer>): Reason | undefined {
  const isExempt = certificates.approval.exemptNamespaces.includes(metadata.namespace ?? '');
  if (problem === undefined || isExempt) return undefined;
  const message = `Nameplate approves no requests that use Issuer ${metadata.name}, because it ${problem}.`;
  return {rule: 'approval/IssuerNotAllowed', message, ...issuerAdvice(problem)};
}

function findingsOf(object: DeepReadonly<KubeObject>, reason: Reason | undefined): Finding[] {
  return reason ? [findingOf(object, [reason])] : [];
}
