/** The certificate step: requests a certificate once everything before it is in place, and reports its progress. */
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/apply/apply.ts';
import {type DeepReadonly, ownerOf} from '../../runtime/kube/object.ts';
import {deleteAsRead} from '../caches/fresh.ts';
import {
  type Attempt,
  attemptOf,
  buildCertificate,
  failedInFuture,
  freshAttempt,
  type HeldCertificate,
  nextAttemptMs,
  pausedUntilMs,
  renewBeforePercentage,
  sentence,
} from '../certificate/certificate.ts';
import {
  type Issuance,
  lastOrderMs,
  lastProblem,
  pauseAfterMs,
  retryDueMs,
  withoutDelay,
} from '../claim/order-records.ts';
import {explainShortage, limitsOf} from '../claim/order-windows.ts';
import {type Contest, contestOf} from '../edge/publish.ts';
import {routeName} from '../kinds/derived-names.ts';
import {acmeIssuerOf, acmeNotReady, issuerOf, keptIssuer, notReady} from '../kinds/issuers.ts';
import {CERTIFICATE, type Certificate, DOMAIN_CLAIM} from '../kinds/kinds.ts';
import {earliest} from '../kinds/steps.ts';
import type {ClaimResult} from './claim.ts';
import {CertificateReady, type DomainCondition} from './conditions.ts';
import type {HostContext, HostOperator} from './context.ts';
import {
  type CertificateResult,
  heldBy,
  judgeHeld,
  knownDates,
  type NextCertificate,
  nextOf,
  notBegun,
  reported,
} from './held-certificate.ts';
import {type HostView, lastReported} from './host-view.ts';
import type {Proof} from './verify.ts';

/** The prerequisites of a certificate request, in order; the first one that is missing is named. */
interface CertificateGate {
  readonly proof: Pick<Proof, 'mayStart'>;
  readonly claim: Pick<ClaimResult, 'holds'>;
  readonly caa: Pick<DomainCondition, 'status'>;
}

export async function certify(context: HostContext, view: HostView, gate: CertificateGate): Promise<CertificateResult> {
  const {certificate} = view;
  const held = heldBy(view);
  const blocker = firstBlocker(gate);
  const issuerRef = keptIssuer(context.config, certificate);
  const issuer = judgeIssuer(context, view, issuerRef);
  const obstacle = obstacleOf(context, view, {...issuer, issuerRef, blocker});
  if (obstacle) return judgeHeld(view, held, obstacle);
  const contest = gate.claim.holds ? await ensureCertificate(context, view, issuerRef) : {};
  const next = certificate
    ? await followUp(context, {...view, certificate}, held, {...issuer, issuerRef, blocker})
    : nextOf(issuer.outage ?? CertificateReady.issuing(''));
  return withContest(judgeHeld(view, held, next), contest);
}

/** Why no Certificate may be created yet. */
function obstacleOf(
  context: HostContext,
  view: HostView,
  {issuerRef, missing, blocker}: Circumstances,
): NextCertificate | undefined {
  if (context.stores.certificates.state === 'missing') {
    return nextOf(CertificateReady.certManagerMissing());
  }
  if (view.certificate) return undefined;
  if (blocker) return nextOf(CertificateReady.waiting(blocker));
  if (missing) return nextOf(missing);
  return view.secret ? undefined : awaitNextAttempt(view, issuerRef);
}

/** Another program keeps changing the Certificate, which concerns a host that has a certificate, too. */
function withContest(result: CertificateResult, {contested, wakeAtMs}: Contest): CertificateResult {
  if (contested === undefined) return result;
  const {condition} = result;
  return {
    ...result,
    condition: {...condition, message: condition.message + contested},
    wakeAtMs: earliest(wakeAtMs, result.wakeAtMs),
  };
}

interface Circumstances extends IssuerVerdict {
  readonly issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>;
  readonly blocker: string | undefined;
}

type CertifiedView = HostView & {readonly certificate: DeepReadonly<Certificate>};

/** For a Certificate that exists: waits for its order, starts a requested attempt, or judges the current one. */
async function followUp(
  context: HostContext,
  view: CertifiedView,
  held: HeldCertificate,
  {issuerRef, missing, outage, blocker}: Circumstances,
): Promise<NextCertificate | undefined> {
  const {certificate, nowMs} = view;
  const isInUse = held.kind === 'valid' && nowMs < held.overdueAtMs;
  const isNeeded = held.kind !== 'valid' && held.kind !== 'misnamed';
  const attempt = attemptOf(certificate, {isNeeded, orderedAtMs: lastOrderMs(view.claim), nowMs});
  const problem = attempt.kind === 'running' && !outage ? lastProblem(view.claim, acmeIssuerOf(issuerRef)) : undefined;
  if (problem) return await afterProblem(context, view, problem, issuerRef);
  const waiting = outage ? undefined : awaitOrder(context, view, issuerRef, !isInUse && attempt.kind === 'running');
  if (waiting) return waiting;
  if (!blocker && wantsFreshAttempt(context, view, held, attempt)) {
    await startFreshAttempt(context, certificate, attempt);
    return nextOf(CertificateReady.issuing(' A new attempt was requested.'));
  }
  if (missing && (isNeeded || attempt.kind !== 'none')) return nextOf(missing);
  if (held.kind === 'misnamed' && attempt.kind !== 'running') return misnamed(view, held.names);
  switch (attempt.kind) {
    case 'none':
      return outage && !isInUse ? nextOf(outage) : undefined;
    case 'failed':
      return failed(view, attempt.why);
    case 'running':
      return outage ? during(outage, view) : running(context, view, attempt);
  }
}

type CaProblem = NonNullable<Issuance['problem']>;

/** A verify request ends the pause, but the limit of the CA for one host stays. */
async function afterProblem(
  context: HostContext,
  view: CertifiedView,
  problem: CaProblem,
  issuerRef: Circumstances['issuerRef'],
): Promise<NextCertificate> {
  const {claim, again, isRequested, nowMs} = view;
  const sooner = claim && isRequested ? withoutDelay(claim.spec, nowMs) : undefined;
  if (claim && sooner) {
    await context.client.replace(DOMAIN_CLAIM, {...claim, spec: sooner}, {signal: context.signal});
    return nextOf(CertificateReady.issuing(' A new attempt was requested.'));
  }
  const nextMs = retryDueMs(problem, nowMs);
  const why = sentence(`${problem.type}: ${problem.detail}`);
  if (nextMs === undefined) {
    const last = ` The last attempt failed: ${why}`;
    return awaitOrder(context, view, issuerRef, true, last) ?? nextOf(CertificateReady.issuing(last));
  }
  const condition = CertificateReady.failed(why, timestamp(nextMs), again);
  const next = `${why} The next attempt is at ${timestamp(nextMs)}. Fix the cause, then ${again}`;
  return {condition, why: next, nextAttemptAtMs: nextMs, wakeAtMs: nextMs};
}

function firstBlocker({proof, claim, caa}: CertificateGate): string | undefined {
  if (!proof.mayStart) return 'DNS';
  if (!claim.holds) return 'the claim';
  return caa.status === 'True' ? undefined : 'CAA';
}

async function ensureCertificate(
  context: HostContext,
  view: HostView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
): Promise<Contest> {
  const {stores, client, signal, corrections} = context;
  const {namespace, host, owner, isDefault, challenge, certificate} = view;
  const intent = buildCertificate({
    ...{namespace, host, issuerRef, challenge},
    name: routeName(namespace, host),
    owner: ownerOf(owner),
    renewBeforePercentage: renewBeforePercentage(knownDates(view), certificate),
    ...(isDefault && {project: owner.metadata.name}),
  });
  await applyIfChanged(client, stores.certificates, CERTIFICATE, intent, {
    hashAnnotation: ANNOTATION.appliedHash,
    corrections,
    signal,
  });
  return contestOf(context, [intent]);
}

interface IssuerVerdict {
  /** The issuer must not be used, or cannot be. */
  readonly missing?: DomainCondition | undefined;
  /** The issuer, or cert-manager, does not work now. */
  readonly outage?: DomainCondition | undefined;
}

function judgeIssuer(
  {stores, certManager}: HostOperator,
  {namespace}: HostView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
): IssuerVerdict {
  const down = certManager.problem();
  const outage = down === undefined ? undefined : CertificateReady.certManagerDown(down);
  const {kind, name, group} = issuerOf(issuerRef);
  const acmeIssuer = acmeIssuerOf(issuerRef);
  if (acmeIssuer !== undefined) return judgeAcmeIssuer(stores, acmeIssuer, outage);
  if (group !== 'cert-manager.io') return {outage}; // an external issuer: its kind is unknown
  const found = kind === 'ClusterIssuer' ? stores.clusterIssuers.get(name) : stores.issuers.get(`${namespace}/${name}`);
  if (!found) return {missing: CertificateReady.issuerNotFound(kind, name), outage};
  if (found.problem !== undefined) return {missing: CertificateReady.issuerNotAllowed(name, found.problem), outage};
  const why = notReady(kind, name, found);
  return {outage: outage ?? (why === undefined ? undefined : CertificateReady.issuerNotReady(why))};
}

function judgeAcmeIssuer(
  {acmeIssuers}: HostOperator['stores'],
  name: string,
  outage: DomainCondition | undefined,
): IssuerVerdict {
  const found = acmeIssuers.get(name);
  if (!found) return {missing: CertificateReady.issuerNotFound('ACMEIssuer', name), outage};
  const why = acmeNotReady(name, found);
  return {outage: outage ?? (why === undefined ? undefined : CertificateReady.issuerNotReady(why))};
}

/**
 * After a verify request that was checked, for a certificate that is failing or overdue. Nobody needs to request the end
 * of a pause that a wrong clock made endless.
 */
function wantsFreshAttempt(
  operator: HostOperator,
  view: CertifiedView,
  held: HeldCertificate,
  attempt: Attempt,
): boolean {
  const {certificate, isRequested, nowMs} = view;
  const isEndless = attempt.kind === 'failed' && failedInFuture(certificate, nowMs);
  if (!isEndless && !isRequested) return false;
  if (attempt.kind === 'running' && nowMs < overdueMs(operator, view, attempt)) return false;
  return held.kind !== 'valid' || nowMs >= held.overdueAtMs || attempt.kind !== 'none';
}

/**
 * Does what `cmctl renew` does. An overdue attempt would continue, so the Certificate is recreated: the garbage
 * collector deletes the old one's request and order.
 */
async function startFreshAttempt(
  context: HostContext,
  certificate: DeepReadonly<Certificate>,
  attempt: Attempt,
): Promise<void> {
  if (attempt.kind === 'running') {
    await deleteAsRead(context, CERTIFICATE, certificate); // not one that was issued meanwhile
    return;
  }
  const {clock, client, signal} = context;
  await client.applyStatus(CERTIFICATE, freshAttempt(certificate, clock.now()), {signal});
}

function misnamed(view: CertifiedView, names: string): NextCertificate {
  const {host, certificate, published, isMisnamed, unremoved, again} = view;
  const isKept = published !== undefined && (isMisnamed || unremoved !== undefined);
  const condition = CertificateReady.wrongNames(host, issuerOf(certificate.spec.issuerRef), names, isKept, again);
  return nextOf(condition, nextAttemptOf(certificate));
}

function failed({certificate, again}: CertifiedView, why: string): NextCertificate {
  const rest = nextAttemptOf(certificate);
  const next = rest.nextAttemptAtMs === undefined ? undefined : timestamp(rest.nextAttemptAtMs);
  const at = next === undefined ? '' : ` The next attempt is at ${next}.`;
  const condition = CertificateReady.failed(why, next, again);
  return {condition, why: `${why}${at} Fix the cause, then ${again}`, ...rest};
}

/** When cert-manager makes the next attempt. */
function nextAttemptOf(certificate: DeepReadonly<Certificate>): {readonly nextAttemptAtMs?: number} {
  const nextAttemptAtMs = nextAttemptMs(certificate);
  return nextAttemptAtMs === undefined ? {} : {nextAttemptAtMs};
}

type Running = Attempt & {readonly kind: 'running'};

function overdueMs(
  {config, knownSince}: HostOperator,
  {certificate, nowMs}: CertifiedView,
  {sinceMs}: Running,
): number {
  const {metadata, status} = certificate;
  const id = `attempt for Certificate ${metadata.uid} after ${status?.notBefore}`;
  return (sinceMs ?? nowMs - knownSince.ageMs(id)) + config.certificates.overdueAfterSeconds * 1000;
}

/** A lost Secret is the reason why the host is down; the outage, why it stays so. */
function during(outage: DomainCondition, {published, secret, certificate}: CertifiedView): NextCertificate {
  if (!published || secret) return nextOf(outage);
  return nextOf(CertificateReady.secretLost(certificate.spec.secretName, '', outage.message));
}

function running(operator: HostOperator, view: CertifiedView, attempt: Running): NextCertificate {
  const {published, secret, certificate, again, nowMs} = view;
  const {progress} = attempt;
  const overdueAtMs = overdueMs(operator, view, attempt);
  const rest = nowMs < overdueAtMs ? {wakeAtMs: overdueAtMs} : {};
  const why = `${attempt.isStarted ? 'It is in progress, but not done.' : notBegun(view)}${progress}`;
  return {
    ...rest,
    condition: conditionOf(),
    why: rest.wakeAtMs === undefined ? `${why} To start a new attempt, ${again}` : why,
  };

  function conditionOf(): DomainCondition {
    if (rest.wakeAtMs === undefined) {
      const minutes = Math.round(operator.config.certificates.overdueAfterSeconds / 60);
      return CertificateReady.overdue(minutes, progress, again);
    }
    return published && !secret
      ? CertificateReady.secretLost(certificate.spec.secretName, progress)
      : CertificateReady.issuing(progress);
  }
}

/** Re-adding a host does not avoid the pause, because the claim remembers the failures. A verify request ends it. */
function awaitNextAttempt(
  {claim, nowMs, isRequested, again}: HostView,
  issuerRef: Circumstances['issuerRef'],
): NextCertificate | undefined {
  const {failures = [], accountSince = ''} = claim?.spec ?? {};
  const own = failures.filter(time => time >= accountSince); // those of a former holder had their own cause
  const pauseMs = acmeIssuerOf(issuerRef) === undefined ? undefined : pauseAfterMs;
  const untilMs = isRequested ? undefined : pausedUntilMs(own, nowMs, pauseMs);
  if (untilMs === undefined) return undefined;
  const why = 'the last attempts failed, before the host was removed and added again.';
  const condition = CertificateReady.failed(why, timestamp(untilMs), again);
  return nextOf(condition, {nextAttemptAtMs: untilMs, wakeAtMs: untilMs});
}

/** The time by which the orders are sure to be planned. */
const PLAN_MS = 5_000;

/** Reasons of a Domain for which an order may be waiting. */
const SHOWS_ORDER: ReadonlySet<string> = new Set(['OrderBudget', 'RenewalFailing', 'Expired']);
/** Of a Domain, and of a Project. */
const QUEUED: ReadonlySet<string> = new Set(['OrderBudget', 'CertificateNotReady']);

interface OrderSources extends Pick<HostOperator, 'orderSchedule'> {
  readonly stores: {readonly acmeIssuers: Pick<HostOperator['stores']['acmeIssuers'], 'get'>};
}

/**
 * A certificate that is requested, and whose order waits for the CA's budget. A Project reports no time: it has no field
 * for it, and each estimate would be another message. `isAwaited`: the host needs the certificate.
 */
export function awaitOrder(
  {orderSchedule, stores}: OrderSources,
  view: HostView,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
  isAwaited: boolean,
  progress = '',
): NextCertificate | undefined {
  const {key, host, owner, nowMs} = view;
  const issuer = stores.acmeIssuers.get(acmeIssuerOf(issuerRef) ?? '');
  const planned = issuer && orderSchedule.get(issuer.metadata.name, key);
  if (!issuer || planned === undefined || !isAwaited) return undefined;
  const last = lastReported(view, 'CertificateReady');
  const shownMs = SHOWS_ORDER.has(last?.reason ?? '') ? Date.parse(reported(owner)?.nextAttemptAt ?? '') : Number.NaN;
  if (planned === 'unknown') {
    // After a restart, until the orders are planned again, the last condition remains.
    if (!last || !QUEUED.has(last.reason)) return undefined;
    const shown = Number.isNaN(shownMs) ? {} : {nextAttemptAtMs: shownMs};
    return nextOf({...last, type: 'CertificateReady'}, {...shown, wakeAtMs: nowMs + PLAN_MS});
  }
  // Other orders come and go, and the plan shifts each time: a published time stays unless the order can be earlier.
  const atMs = shownMs > nowMs ? Math.min(shownMs, planned.atMs) : planned.atMs;
  const why = explainShortage(planned.shortage, host, limitsOf(issuer.spec));
  const condition = CertificateReady.awaitsOrder(why, view.isDefault ? undefined : timestamp(atMs), progress);
  return nextOf(condition, {nextAttemptAtMs: atMs, wakeAtMs: atMs});
}
