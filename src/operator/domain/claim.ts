/**
 * The claim: which account holds the host. Its name is the host and names are unique, so the API server decides a race.
 * It is created by POST and changed by PUT at a resourceVersion; a lost race is a Conflict, which is retried.
 */
import {timestamp} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {API_VERSION} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {ApiAccess} from '../caches/context.ts';
import {isGone} from '../caches/fresh.ts';
import {hostKey} from '../kinds/derived-names.ts';
import {acmeIssuerOf} from '../kinds/issuers.ts';
import {type Certificate, DOMAIN, DOMAIN_CLAIM, type DomainClaim} from '../kinds/kinds.ts';
import {Claimed, type DomainCondition, type StepResult} from './conditions.ts';
import type {DomainContext, DomainOperator} from './context.ts';
import {unacted} from './host-view.ts';
import type {Proof} from './verify.ts';
import {type DomainView, isOlderThanClaim, requiredRecords} from './view.ts';

export interface ClaimResult extends StepResult {
  readonly holds: boolean;
  /** Another namespace holds the host, so our objects for it must go. An absent claim (a restore) loses nothing. */
  readonly lost: boolean;
}

const MAX_FAILURES = 20;

/** Creates or moves the claim if the host is proved. Throws Conflict or AlreadyExists if another writer was faster. */
export async function claimHost(context: DomainContext, view: DomainView, {mayStart}: Proof): Promise<ClaimResult> {
  const {client, signal} = context;
  const {holder, claim, host} = view;
  if (holder === 'us' && claim) {
    await recordFailure(context, view, claim);
    return holds(claim);
  }
  const refusal = holder === 'another' && claim ? await refuse(context, view, claim, mayStart) : undefined;
  if (refusal) {
    return {condition: refusal, holds: false, lost: isLost(view)};
  }
  if (!mayStart) return {condition: Claimed.waiting(), holds: false, lost: false};
  const since = timestamp(view.nowMs);
  const accountSince = claim?.spec.account === view.account.id ? claim.spec.accountSince : since;
  const spec: DomainClaim['spec'] = {
    account: view.account.id,
    namespace: view.namespace,
    since,
    ...(accountSince !== undefined && {accountSince}),
    ...(claim?.spec.failures && {failures: [...claim.spec.failures]}),
    ...(claim?.spec.orders && {orders: claim.spec.orders.map(order => ({...order}))}),
    // The CA's state of the former holder: it is deactivated before anyone orders for the host again.
    ...(claim?.spec.issuance && {
      issuance: structuredClone(claim.spec.issuance) as DomainClaim['spec']['issuance'] & object,
    }),
  };
  const written = claim
    ? await client.replace(DOMAIN_CLAIM, {...claim, spec}, {signal})
    : await client.create(
        DOMAIN_CLAIM,
        {apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: objectNameOf(host)}, spec},
        {signal},
      );
  return holds(written);
}

export function failedClaim(view: DomainView) {
  const holds = view.holder === 'us';
  return (failure: unknown): ClaimResult => ({...unacted(view, failure, Claimed, holds), holds, lost: isLost(view)});
}

/** A namespace that moved to another account keeps serving its hosts; a deleted namespace serves nothing. */
export function isLost({holder, claim, namespace}: DomainView): boolean {
  return holder === 'another' && claim?.spec.namespace !== namespace;
}

function holds(claim: DeepReadonly<DomainClaim>): ClaimResult {
  return {condition: Claimed.yes(claim.spec.since), holds: true, lost: false};
}

/** Like `whyClaimStays`, but also confirms that a Domain of the same account is gone before its host moves. */
async function refuse(
  context: DomainContext,
  view: DomainView,
  claim: DeepReadonly<DomainClaim>,
  mayStart: boolean,
): Promise<DomainCondition | undefined> {
  const refusal = whyClaimStays(context, view, claim, mayStart);
  const {account, namespace} = claim.spec;
  if (refusal || account !== view.account.id) return refusal;
  const isLeft = await isGone(context, DOMAIN, hostKey(namespace, view.host));
  return isLeft ? undefined : Claimed.heldBySibling(view.host, namespace);
}

/**
 * Why the claim stays where it is; undefined if it moves. A name has one CNAME, so once all authoritative servers show
 * ours, the holder's is gone. A name can have several TXT records: the holder keeps the host as long as its own exists.
 */
function whyClaimStays(
  {stores, names, knownSince}: DomainOperator,
  view: DomainView,
  claim: DeepReadonly<DomainClaim>,
  mayStart: boolean,
): DomainCondition | undefined {
  const {host, account, check, question} = view;
  const holder = claim.spec;
  if (holder.account === account.id) {
    const standing = stores.domains.get(hostKey(holder.namespace, host));
    return standing ? Claimed.heldBySibling(host, holder.namespace) : mayStart ? undefined : Claimed.waiting();
  }
  const records = requiredRecords(view).filter(({insteadOf}) => insteadOf === undefined);
  const record = records.map(({type, name, value}) => `${name} ${type} ${value}`).join(' and ');
  const isHere = holder.namespace === view.namespace;
  const held = isHere ? Claimed.otherAccountHere(host, record) : Claimed.heldByAnother(host, record);
  if (!mayStart || !check?.verdict.verified) return held;
  if (isOlderThanClaim(knownSince, check, claim)) return isHere ? held : Claimed.checkingAgain(host);
  const {agreed, doubt} = check.verdict;
  if (!agreed) return doubt === undefined || isHere ? held : Claimed.doubted(host, doubt);
  if (check.verdict.proof === 'cname') return undefined;
  if (check.verdict.proof === 'address') return held;
  const holderToken = names.proofToken(holder.account, host);
  return check.verdict.txtValues.includes(holderToken)
    ? Claimed.staleProof(host, question.txtName, holderToken)
    : undefined;
}

/**
 * Records failed attempts of cert-manager's issuers on the claim, so that they survive a restart and re-adding the host.
 * Those of an ACMEIssuer are recorded with the order.
 */
async function recordFailure(
  {client, signal}: ApiAccess,
  {certificate}: DomainView,
  claim: DeepReadonly<DomainClaim>,
): Promise<void> {
  const spec = withFailure(claim.spec, certificate);
  if (spec !== claim.spec) await client.replace(DOMAIN_CLAIM, {...claim, spec}, {signal});
}

function withFailure(
  spec: DeepReadonly<DomainClaim['spec']>,
  certificate: DeepReadonly<Certificate> | undefined,
): DeepReadonly<DomainClaim['spec']> {
  const failedAt = certificate?.status?.lastFailureTime;
  const {failures = []} = spec;
  if (!certificate || !failedAt || failures.includes(failedAt)) return spec;
  if (acmeIssuerOf(certificate.spec.issuerRef) !== undefined) return spec;
  return {...spec, failures: [...failures, failedAt].sort().slice(-MAX_FAILURES)};
}

/** Releases the host. The claim lingers, blocks nobody, and remembers failures, including the last one. */
export async function releaseClaim(
  {clock, client, signal}: DomainContext,
  claim: DeepReadonly<DomainClaim>,
  certificate: DeepReadonly<Certificate> | undefined,
): Promise<void> {
  if (claim.spec.releasedAt) return;
  const spec = {...withFailure(claim.spec, certificate), releasedAt: timestamp(clock.now())};
  await client.replace(DOMAIN_CLAIM, {...claim, spec}, {signal});
}
