/**
 * Decides which approved requests may place an order at the CA now, and records it on the claim before the signer places
 * it. So the limits hold across a crash and a change of leader, and nobody's burst delays another account.
 */
import {timestamp} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {API_VERSION} from '../../api/names.ts';
import {registrableDomain} from '../../dns/dns.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, retry} from '../../runtime/controller/outcome.ts';
import {inTurns} from '../../runtime/controller/turns.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {hasPauses, isPausedHost} from '../caches/paused.ts';
import {INDEX} from '../caches/stores.ts';
import {howHeld} from '../certificate/decide.ts';
import {
  admitted,
  countsForMs,
  isAdmitted,
  isOfHolder,
  placedOrders,
  replaceable,
  retryDueMs,
} from '../claim/order-records.ts';
import {decideOrders, limitsOf, type WaitingOrder} from '../claim/order-windows.ts';
import {accountId} from '../kinds/account.ts';
import {requestedHost} from '../kinds/certificate-request.ts';
import {hostKey} from '../kinds/derived-names.ts';
import {type ACMEIssuer, type CertificateRequest, DOMAIN_CLAIM, type DomainClaim} from '../kinds/kinds.ts';
import type {IssuerContext, IssuerOperator} from './context.ts';
import type {QueuedOrder} from './order-schedule.ts';

/**
 * A pass reads all orders that count, and thousands of changes may trigger one. It therefore rests for this many times
 * the time that it took: with a few hundred orders, milliseconds.
 */
const REST = 10;
/** A pass admits for at most this long, well before its deadline: thousands may wait, and each requires a write. */
const PASS_MS = 15_000;
/** How often to look whether a pause has ended, or a former holder's authorization is gone. */
const BLOCKED_MS = 5_000;

interface Waiting {
  readonly request: DeepReadonly<CertificateRequest>;
  readonly claim: DeepReadonly<DomainClaim> | undefined;
  /** "namespace/host". */
  readonly hostKey: string;
  readonly order: WaitingOrder;
}

interface Pass {
  readonly due: readonly Waiting[];
  /** By "namespace/host". */
  readonly later: ReadonlyMap<string, QueuedOrder>;
  /** When the next one may be due; infinity if none waits. */
  readonly nextMs: number;
}

/** Keys are names of ACMEIssuers. */
export function reconcileOrders(operator: IssuerOperator): Reconcile {
  const {stores, clock, orderSchedule} = operator;
  const sources = [stores.claims, stores.namespaces, stores.certificates, stores.certificateRequests];
  const restsUntil = new Map<string, number>();
  return async (name, {client, signal}) => {
    const issuer = stores.acmeIssuers.get(name);
    if (!issuer) return done(); // a Domain says that it is missing
    if (sources.some(({state}) => state !== 'synced')) return after(1000);
    const restMs = (restsUntil.get(name) ?? 0) - clock.monotonic();
    if (restMs > 0) return after(restMs);
    const {result: pass, ms} = await inTurns(planPass(operator, issuer), clock, signal);
    restsUntil.set(name, clock.monotonic() + REST * ms);
    orderSchedule.publish(name, pass.later);
    const {errors, isCut} = await admitAll({...operator, client, signal}, issuer, pass.due);
    if (errors.length > 0) return retry(errors[0]);
    if (isCut) return after(0);
    return Number.isFinite(pass.nextMs) ? after(Math.max(pass.nextMs - clock.now(), 0)) : done();
  };
}

/** The caches may change wherever this yields; the version of the claim decides whether an order is recorded. */
function* planPass(operator: IssuerOperator, issuer: DeepReadonly<ACMEIssuer>): Generator<void, Pass> {
  const {stores, clock} = operator;
  const limits = limitsOf(issuer.spec);
  const nowMs = clock.now();
  const later = new Map<string, QueuedOrder>();
  const byKey = new Map<string, Waiting>();
  let nextMs = Number.POSITIVE_INFINITY;
  const mayBePaused = hasPauses(operator);
  for (const request of stores.certificateRequests.byIndex(INDEX.signing, issuer.metadata.name)) {
    const waiting = waitingOf(operator, issuer, request, nowMs);
    yield;
    if (!waiting) continue;
    const {claim, hostKey, order} = waiting;
    const attemptAtMs = retryDueMs(claim?.spec.issuance?.problem, nowMs);
    const isBlocked = claim ? isHeldUp(operator, claim, request) : false;
    if (isBlocked || (mayBePaused && isPausedHost(operator, hostKey))) nextMs = Math.min(nextMs, nowMs + BLOCKED_MS);
    else if (attemptAtMs !== undefined) nextMs = Math.min(nextMs, attemptAtMs);
    else byKey.set(order.key, waiting);
  }
  if (byKey.size === 0) return {due: [], later, nextMs};
  const placed = yield* placedOrders(operator, issuer.metadata.name, limits, nowMs);
  const orders = [...byKey.values()].map(({order}) => order);
  const decision = yield* decideOrders(placed, orders, limits, nowMs);
  for (const [key, {atMs, shortage}] of decision.later) {
    nextMs = Math.min(nextMs, atMs);
    const {hostKey = '', order} = byKey.get(key) ?? {};
    later.set(hostKey, {atMs, shortage, canWait: order?.canWait === true});
  }
  return {due: decision.now.flatMap(({key}) => byKey.get(key) ?? []), later, nextMs};
}

/** Undefined if the request may not order, or is already admitted. The signer decides again, at the API server. */
function waitingOf(
  operator: IssuerOperator,
  issuer: DeepReadonly<ACMEIssuer>,
  request: DeepReadonly<CertificateRequest>,
  nowMs: number,
): Waiting | undefined {
  const {stores} = operator;
  const {namespace = '', uid, creationTimestamp = '', deletionTimestamp} = request.metadata;
  if (deletionTimestamp || uid === undefined) return undefined;
  const [owner] = (request.metadata.ownerReferences ?? []).filter(({controller}) => controller);
  const certificate = owner && stores.certificates.get(`${namespace}/${owner.name}`);
  const host = certificate?.spec.dnsNames?.[0] ?? requestedHost(request);
  const namespaceObject = stores.namespaces.get(namespace);
  if (host === undefined || !namespaceObject || !howHeld(operator, namespace, host)) return undefined;
  const claim = stores.claims.get(objectNameOf(host));
  if (isAdmitted(claim, request)) return undefined;
  const {notAfter, renewalTime = ''} = certificate?.status ?? {};
  const renewal = Date.parse(renewalTime) <= nowMs || operator.earlyRenewals.has(keyOf(certificate ?? request));
  const replaced = claim && notAfter !== undefined ? replaceable(claim.spec, issuer.metadata.name) : undefined;
  const order = {
    key: uid,
    host,
    account: accountId(namespaceObject),
    domain: registrableDomain(host) ?? host,
    renewal,
    canWait: !renewal && Date.parse(notAfter ?? '') > nowMs,
    exempt: renewal && replaced !== undefined && issuer.spec.limits?.exemptRenewals === true,
    sinceMs: Date.parse(creationTimestamp),
  };
  return {request, claim, hostKey: hostKey(namespace, host), order};
}

/** Another request has an open order for the host, or the CA still knows a former holder's authorization. */
function isHeldUp(
  {stores}: IssuerOperator,
  {metadata, spec}: DeepReadonly<DomainClaim>,
  request: DeepReadonly<CertificateRequest>,
): boolean {
  if (!isOfHolder(spec)) return true;
  const other = spec.issuance?.request;
  if (other === undefined || other === request.metadata.uid) return false;
  const requests = stores.certificateRequests.byIndex(INDEX.host, metadata.name);
  return [...requests].some(({metadata: {uid}}) => uid === other);
}

async function admitAll(
  context: IssuerContext,
  issuer: DeepReadonly<ACMEIssuer>,
  due: readonly Waiting[],
): Promise<{readonly errors: readonly unknown[]; readonly isCut: boolean}> {
  const {clock, config} = context;
  const errors: unknown[] = [];
  const waiting = [...due];
  const endsMs = clock.monotonic() + PASS_MS;
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      // A race concerns one request, and must not delay the others: what the other writer wrote triggers a new pass.
      await admit(context, issuer, next).catch(error => {
        if (classifyFailure(error) !== 'race') errors.push(error);
      });
      if (clock.monotonic() > endsMs) return;
    }
  };
  await Promise.all(Array.from({length: config.controller.workers}, work));
  return {errors, isCut: waiting.length > 0};
}

/** At the version of the claim that the decision depends on. A default host gets its claim here. */
async function admit(context: IssuerContext, issuer: DeepReadonly<ACMEIssuer>, {request, claim, order}: Waiting) {
  const {client, signal, clock} = context;
  const nowMs = clock.now();
  const spec = claim?.spec ?? claimOfDefaultHost(context, request, order, nowMs);
  const next = admitted(spec, {
    issuer: issuer.metadata.name,
    request: request.metadata.uid ?? '',
    renewal: order.renewal,
    exempt: order.exempt === true,
    nowMs,
    countsSinceMs: nowMs - countsForMs(limitsOf(issuer.spec)),
  });
  if (claim) await client.replace(DOMAIN_CLAIM, {...claim, spec: next}, {signal});
  else {
    const object = {apiVersion: API_VERSION, kind: DOMAIN_CLAIM.kind, metadata: {name: order.host}, spec: next};
    await client.create(DOMAIN_CLAIM, object, {signal});
  }
}

function claimOfDefaultHost(
  {stores}: IssuerContext,
  {metadata: {namespace = ''}}: DeepReadonly<CertificateRequest>,
  {host, account}: WaitingOrder,
  nowMs: number,
): DomainClaim['spec'] {
  const [project] = stores.projects.byIndex(INDEX.defaultHost, `${namespace}/${host}`);
  return {account, namespace, since: timestamp(nowMs), project: project?.metadata.name ?? ''};
}
