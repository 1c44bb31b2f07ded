/** The certificate step: requests a certificate once everything before it is in place, and reports its progress. */
import {findCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/apply/apply.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {type Contested, contestedOf} from '../edge/publish.ts';
import {
  assessCertificate,
  budgetBlockedUntilMs,
  buildCertificate,
  type CertificateState,
  certifiedBy,
  freshAttemptStatus,
  KIND_MISSING_MS,
  nextAttemptMs,
} from '../issuance/certificate.ts';
import {lastOrderMs} from '../issuance/order-history.ts';
import {issuerOf, keptIssuer} from '../model/ca-account.ts';
import {routeName} from '../model/derived-names.ts';
import {CERTIFICATE, type Certificate} from '../model/kinds.ts';
import {ownerOf} from '../model/owner.ts';
import type {Context, Operator} from '../state/context.ts';
import {deleteAsRead} from '../state/fresh.ts';
import {
  awaitNextAttempt,
  awaitOrder,
  awaitWithdrawal,
  type CertificateResult,
  isRequested,
} from './certificate-waits.ts';
import type {ClaimResult} from './claim.ts';
import {CertificateReady, type DomainCondition} from './conditions.ts';
import type {Proof} from './verify.ts';
import type {DomainView} from './view.ts';

/** What must be in place before a certificate may be requested, in order; the first that is missing is named. */
interface CertificateGate {
  readonly proof: Proof;
  readonly claim: ClaimResult;
  readonly caa: DomainCondition;
}

export async function certify(context: Context, view: DomainView, gate: CertificateGate): Promise<CertificateResult> {
  const {config, stores} = context;
  if (stores.certificates.state === 'missing') {
    const wakeAtMs = view.nowMs + KIND_MISSING_MS;
    return {condition: CertificateReady.certManagerMissing(), usable: false, wakeAtMs};
  }
  const {certificate} = view;
  const blocker = firstBlocker(gate);
  if (!certificate && blocker) return {condition: CertificateReady.waiting(blocker), usable: false};
  const issuerRef = keptIssuer(config, certificate);
  const {missing, trouble} = judgeIssuer(context, view, issuerRef);
  if (!certificate && missing) return {condition: missing, usable: false};
  const former = certificate ? undefined : awaitWithdrawal(context, view);
  if (former) return former;
  const waiting = certificate || view.secret ? undefined : awaitNextAttempt(context, view);
  if (waiting) return waiting;
  const contested = gate.claim.holds ? await ensureCertificate(context, view, issuerRef) : undefined;
  const result: CertificateResult = certificate
    ? await followUp(context, {...view, certificate}, {issuerRef, missing, trouble, blocker})
    : {condition: CertificateReady.issuing(trouble), usable: false};
  if (!contested) return result;
  const message = result.condition.message + contested.note;
  const wakeAtMs = Math.min(contested.wakeAtMs, result.wakeAtMs ?? Number.POSITIVE_INFINITY);
  return {...result, condition: {...result.condition, message}, wakeAtMs};
}

interface FollowUp extends IssuerVerdict {
  readonly issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>;
  readonly blocker: string | undefined;
}

/** For a Certificate that exists: waits for its order, starts a requested attempt, or judges it. */
async function followUp(
  context: Context,
  view: DomainView & {readonly certificate: DeepReadonly<Certificate>},
  {issuerRef, missing, trouble, blocker}: FollowUp,
): Promise<CertificateResult> {
  const {certificate} = view;
  const certified = certifiedBy(view.secret, view.host);
  const state = assessCertificate(certificate, certified, trouble, lastOrderMs(view.claim));
  const waiting = awaitOrder(context, view, issuerRef, state.kind === 'issuing');
  if (waiting) return waiting;
  if (!blocker && wantsFreshAttempt(context, view, state)) {
    await startFreshAttempt(context, certificate, state);
    if (state.kind === 'renewal-failing') return judge(context, view, certificate, state);
    return {condition: CertificateReady.issuing(' A new attempt was requested.'), usable: false};
  }
  if (missing && state.kind !== 'issued') return {condition: missing, usable: state.kind === 'renewal-failing'};
  return judge(context, view, certificate, state);
}

function firstBlocker({proof, claim, caa}: CertificateGate): string | undefined {
  if (!proof.mayStart) return 'DNS';
  if (!claim.holds) return 'the claim';
  return caa.status === 'True' ? undefined : 'CAA';
}

async function ensureCertificate(
  context: Context,
  {namespace, host, domain}: DomainView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
): Promise<Contested | undefined> {
  const {stores, client, signal, corrections} = context;
  const name = routeName(namespace, host);
  const intent = buildCertificate({name, namespace, host, issuerRef, owner: ownerOf(domain)});
  await applyIfChanged(client, stores.certificates, CERTIFICATE, intent, {
    hashAnnotation: ANNOTATION.appliedHash,
    corrections,
    signal,
  });
  return contestedOf(context, [intent]);
}

interface IssuerVerdict {
  readonly missing?: DomainCondition | undefined;
  /** What prevents the issuer from issuing, according to its Ready condition; '' if nothing does. */
  readonly trouble: string;
}

function judgeIssuer(
  {stores}: Operator,
  {namespace}: DomainView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
): IssuerVerdict {
  const {kind, name, group} = issuerOf(issuerRef);
  if (group !== 'cert-manager.io') return {trouble: ''}; // an external issuer: its kind is unknown
  const found = kind === 'ClusterIssuer' ? stores.clusterIssuers.get(name) : stores.issuers.get(`${namespace}/${name}`);
  if (!found) return {missing: CertificateReady.issuerNotFound(kind, name), trouble: ''};
  if (found.problem !== undefined)
    return {missing: CertificateReady.issuerNotAllowed(name, found.problem), trouble: ''};
  const ready = findCondition(found.status?.conditions, 'Ready');
  const trouble =
    ready?.status === 'False'
      ? ` The platform's ${kind} ${name} is not ready: ${ready.message ?? ready.reason}. The platform team must fix it.`
      : '';
  return {trouble};
}

/** After a verify request that was checked, for a certificate that is failing or overdue, within the failure budget. */
function wantsFreshAttempt({config}: Operator, view: DomainView, state: CertificateState): boolean {
  const {claim, nowMs} = view;
  if (!isRequested(view) || state.kind === 'issued') return false;
  if (state.kind === 'issuing' && nowMs < state.sinceMs + config.certificates.overdueAfterSeconds * 1000) return false;
  return budgetBlockedUntilMs(claim?.spec.failures ?? [], config.certificates, nowMs) === undefined;
}

/**
 * Does what `cmctl renew` does. An overdue attempt would continue, so the Certificate is recreated: the garbage
 * collector deletes the old one's request and order.
 */
async function startFreshAttempt(
  context: Context,
  certificate: DeepReadonly<Certificate>,
  state: CertificateState,
): Promise<void> {
  if (state.kind === 'issuing') {
    await deleteAsRead(context, CERTIFICATE, certificate); // not one that was issued meanwhile
    return;
  }
  const {clock, client, signal} = context;
  const {apiVersion, kind, metadata} = certificate;
  const status = freshAttemptStatus(certificate, clock.now());
  const {name, namespace = '', resourceVersion = ''} = metadata;
  await client.applyStatus(
    CERTIFICATE,
    {apiVersion, kind, metadata: {name, namespace, resourceVersion}, status},
    {signal},
  );
}

function judge(
  {config}: Operator,
  {host, claim, secret, published, nowMs, kept, removalFailure}: DomainView,
  certificate: DeepReadonly<Certificate>,
  state: CertificateState,
): CertificateResult {
  const {overdueAfterSeconds} = config.certificates;
  const {notAfter} = certificate.status ?? {};
  const blockedUntilMs = budgetBlockedUntilMs(claim?.spec.failures ?? [], config.certificates, nowMs);
  const nextMs = blockedUntilMs ?? nextAttemptMs(certificate);
  const next = nextMs === undefined ? undefined : timestamp(nextMs);
  const later = {...(nextMs !== undefined && {nextAttemptAtMs: nextMs})};
  switch (state.kind) {
    case 'issued':
      return {condition: CertificateReady.issued(notAfter), usable: true};
    case 'misnamed': {
      const issuer = issuerOf(certificate.spec.issuerRef);
      const isKept = kept !== undefined || removalFailure !== undefined;
      const condition = CertificateReady.wrongNames(host, issuer, state.names, isKept);
      return {condition, usable: false, ...later};
    }
    case 'renewal-failing':
      return {condition: CertificateReady.renewalFailing(host, notAfter, state.why), usable: true, ...later};
    case 'failed': {
      const limited = state.rateLimited || blockedUntilMs !== undefined;
      const condition = limited
        ? CertificateReady.rateLimited(`Too many certificate attempts failed: ${state.why}`, next)
        : CertificateReady.failed(host, state.why, next);
      return {condition, usable: false, ...later, ...(blockedUntilMs !== undefined && {wakeAtMs: blockedUntilMs})};
    }
    case 'issuing': {
      const overdueAtMs = state.sinceMs + overdueAfterSeconds * 1000;
      if (nowMs >= overdueAtMs) {
        const minutes = Math.round(overdueAfterSeconds / 60);
        return {condition: CertificateReady.overdue(host, minutes, state.progress), usable: false};
      }
      const condition =
        published && !secret
          ? CertificateReady.secretLost(certificate.spec.secretName, state.progress)
          : CertificateReady.issuing(state.progress);
      return {condition, usable: false, wakeAtMs: overdueAtMs};
    }
  }
}
