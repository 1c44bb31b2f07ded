/**
 * The signer: takes an approved certificate request to a certificate, one request to the CA at a time. Everything that
 * must survive is on the claim (order-records.ts), so a crash or a change of leader continues where it stopped.
 * Replaces cert-manager's ACME: https://cert-manager.io/docs/contributing/external-issuers/
 */
import {AcmeError, CaUnreachable, type Problem, printableAscii} from '../../acme/errors.ts';
import {dnsAnswerOf, renewalIdOf} from '../../acme/identifiers.ts';
import type {Order} from '../../acme/objects.ts';
import {findCondition, timestamp} from '../../api/conditions.ts';
import type {DomainClaimSpec} from '../../api/generated/domainclaim.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {ANNOTATION} from '../../api/names.ts';
import {isWildcard, registrableDomain} from '../../dns/dns.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {type BackoffPolicy, backoffMs} from '../../time/backoff.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {readFresh} from '../caches/fresh.ts';
import {decideFreshly} from '../certificate/decide.ts';
import {
  abandoned,
  challenged,
  failed,
  isAdmitted,
  issued,
  lastOrderMs,
  nextAttemptAtMs,
  notReplaced,
  placed,
  placedOrder,
  refusedForNow,
} from '../claim/order-records.ts';
import {limitsOf} from '../claim/order-windows.ts';
import {requestedHost} from '../kinds/certificate-request.ts';
import {acmeIssuerOf} from '../kinds/issuers.ts';
import {
  type ACMEIssuer,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  DOMAIN_CLAIM,
  type DomainClaim,
} from '../kinds/kinds.ts';
import type {CaAccount} from './accounts.ts';
import type {IssuerContext, IssuerOperator} from './context.ts';
import {csrOf, problemOfChain} from './issued-certificate.ts';

/** How often to look at an order that the CA is working on, if the CA does not say. */
const POLL: BackoffPolicy = {initialMs: 250, maxMs: 5_000, factor: 1.5, jitter: 0};
/** After a failure of the CA or the network, if the CA does not say. */
const RETRY: BackoffPolicy = {initialMs: 1_000, maxMs: 30_000, factor: 2, jitter: 0.5};
/** A CA that is down does not know until when: whatever it says, it is asked again after this time. */
const MAX_OUTAGE_MS = 300_000;
/** A challenge that was accepted is accepted again after this time: the CA may have lost the first request. */
const ACCEPT_MS = 60_000;
const LIMITED_DOMAINS = 10_000;
/** The CA failed at this request; that it is away has other codes. */
const FAILED = 500;
/** The limit in the CRD: the names in a wrong certificate, and the host, may be long. */
const MAX_DETAIL = 400;
/** How often to look whether the replicas of `challenges` answer, or whether the account exists. */
const WAIT_MS = 1_000;
/** An order that the CA has not finished after this time has failed. */
const ORDER_MS = 3_600_000;

/** Refusals that no retry changes: they concern the name or the key, not the moment (RFC 8555, section 6.7). */
const PERMANENT: ReadonlySet<string> = new Set([
  'rejectedIdentifier',
  'unsupportedIdentifier',
  'badCSR',
  'badPublicKey',
  'badSignatureAlgorithm',
]);
/** The CA no longer knows the order, or no longer lets us see it. */
const GONE: ReadonlySet<number> = new Set([404, 410]);
const FORGOTTEN: ReadonlySet<string> = new Set(['malformed', 'unauthorized', 'accountDoesNotExist']);

const NOT_A_HOST =
  "An ACMEIssuer of Nameplate signs only for one host that the namespace of a tenant holds. Use an issuer of cert-manager for the platform's own certificates.";

/** This process's memory of a request; another process begins anew, which costs a request or two. */
interface Attempt {
  /** Of the request: another one may get its name. */
  readonly uid: string;
  /** Not before this time, on the monotonic clock: our own writes trigger a reconcile immediately. */
  heldUntilMs: number;
  failures: number;
  polls: number;
  /** Of the open order, when its challenge was accepted, on the monotonic clock. */
  accepted?: {readonly order: string; readonly atMs: number};
  /** When the CA last did not answer, on the monotonic clock. */
  outageMs?: number;
}

interface Signing {
  readonly context: IssuerContext;
  readonly request: DeepReadonly<CertificateRequest>;
  readonly issuer: DeepReadonly<ACMEIssuer>;
  readonly account: CaAccount;
  readonly host: string;
  readonly attempt: Attempt;
}

/** Keys are "namespace/name" of CertificateRequests. */
export function reconcileSigning(operator: IssuerOperator): Reconcile {
  const {stores, accounts, clock, config} = operator;
  const attempts = new Map<string, Attempt>();
  /** Registrable domains at their limit at the CA, and until when, on the monotonic clock. */
  const limited = new TtlCache<number>(clock, LIMITED_DOMAINS);
  return async (key, {client, signal}) => {
    const context = {...operator, client, signal};
    const request = stores.certificateRequests.get(key);
    const issuerName = request && acmeIssuerOf(request.spec.issuerRef);
    if (!request || issuerName === undefined || request.metadata.deletionTimestamp || hasEnded(request)) {
      attempts.delete(key);
      return done();
    }
    if (isDenied(request)) {
      await end(context, request, 'Denied', 'The request was denied. Its condition Denied says why.');
      return done();
    }
    const host = requestedHost(request);
    const issuer = stores.acmeIssuers.get(issuerName);
    if (!isApproved(request) || !issuer) return done();
    if (
      host === undefined ||
      config.certificates.approval.exemptNamespaces.includes(request.metadata.namespace ?? '')
    ) {
      await end(context, request, 'Failed', NOT_A_HOST);
      return done();
    }
    const claim = stores.claims.get(objectNameOf(host));
    if (!isAdmitted(claim, request) || !claim) return done(); // reconcileOrders admits it
    const {uid = ''} = request.metadata;
    const known = attempts.get(key);
    const attempt = known?.uid === uid ? known : {uid, heldUntilMs: 0, failures: 0, polls: 0};
    attempts.set(key, attempt);
    const domain = registrableDomain(host) ?? host;
    const isPlaced = placedOrder(claim.spec) !== undefined;
    const restMs = isPlaced ? 0 : Math.max(accounts.restMs(issuerName), (limited.get(domain) ?? 0) - clock.monotonic());
    const heldMs = Math.max(attempt.heldUntilMs - clock.monotonic(), restMs);
    if (heldMs > 0) return after(heldMs);
    const account = accounts.get(issuerName);
    if (!account) return after(WAIT_MS); // reconcileIssuer says why
    const signing = {context, request, issuer, account, host, attempt};
    try {
      const outcome = await advance(signing, claim);
      attempt.failures = 0;
      return outcome;
    } catch (error) {
      if (error instanceof CaUnreachable || (error instanceof AcmeError && error.isOutage)) {
        return await onOutage(signing, error);
      }
      const limit = (ms: number) => limited.set(domain, clock.monotonic() + ms, ms);
      if (error instanceof AcmeError) return await onProblem(signing, claim, error, limit);
      throw error;
    }
  };
}

async function advance(signing: Signing, claim: DeepReadonly<DomainClaim>): Promise<Outcome> {
  const {account, context, host} = signing;
  const url = placedOrder(claim.spec);
  if (url === undefined) return await place(signing);
  const order = account.client.has(url) ? await account.client.order(account.uri, url, context.signal) : undefined;
  // It may be of the CA that the ACMEIssuer named before.
  if (order?.names.length !== 1 || order.names[0] !== host) {
    await record(context, claim, abandoned(claim.spec));
    return done();
  }
  return await proceed(signing, claim, order);
}

/** Confirms at the API server, immediately before the order, that the namespace holds the host. */
async function place(signing: Signing): Promise<Outcome> {
  const {context, request, host} = signing;
  const waiting = await awaitAnswers(signing);
  if (waiting) return waiting;
  const claim = await confirmed(signing);
  if (!claim) return done();
  const replaces = isReplacement(signing) ? claim.spec.issuance?.renewal : undefined;
  const order = await createOrder(signing, replaces);
  if (!order) {
    await record(context, claim, notReplaced(claim.spec));
    return done(); // reconcileOrders admits an ordinary order
  }
  const saved = await record(context, claim, placed(claim.spec, order.url, order.authorizations[0]));
  context.logger.debug({request: keyOf(request), host, order: order.url}, 'Placed an order.');
  return await proceed(signing, saved, order);
}

/**
 * A CA may refuse `replaces`: that certificate was replaced already, or belongs to an account that the platform has no
 * longer. Or it fails at it, and would fail again each time, as Pebble does if the serial begins with a zero. Undefined:
 * it refuses this, or something else about the order, which an ordinary one will show.
 */
async function createOrder({account, context, issuer, host}: Signing, replaces: string | undefined) {
  const {profile} = issuer.spec;
  const wanted = {names: [host], ...(profile !== undefined && {profile}), ...(replaces !== undefined && {replaces})};
  try {
    return await account.client.createOrder(account.uri, wanted, context.signal);
  } catch (error) {
    const isRefused = error instanceof AcmeError && (error.isVerdict || error.status === FAILED);
    if (!isRefused || replaces === undefined) throw error;
    return undefined;
  }
}

/** Whether the last certificate was issued, as far as the cache knows. */
function isReplacement(signing: Signing): boolean {
  return certificateOf(signing)?.status?.notAfter !== undefined;
}

/** The Certificate that the request belongs to, as far as the cache knows. */
function certificateOf({context: {stores}, request}: Pick<Signing, 'context' | 'request'>) {
  const owner = request.metadata.ownerReferences?.find(({controller}) => controller);
  return stores.certificates.get(`${request.metadata.namespace}/${owner?.name}`);
}

async function proceed(signing: Signing, claim: DeepReadonly<DomainClaim>, order: Order): Promise<Outcome> {
  const {context, account, issuer} = signing;
  context.accounts.report(issuer.metadata.name, undefined);
  switch (order.status) {
    case 'pending':
      return await solve(signing, claim, order);
    case 'ready': {
      const current = await confirmed(signing);
      const request = current && (await freshRequest(signing));
      if (!current || !request) return done();
      const csr = csrOf(request.spec.request);
      const next = await account.client.finalize(account.uri, order, csr, context.signal);
      return next.status === 'valid' ? await publish(signing, next) : poll(signing, next.retryAfterMs);
    }
    case 'processing':
      return await pollOrGiveUp(signing, claim, order.retryAfterMs);
    case 'valid':
      return await publish(signing, order);
    case 'invalid':
      return await fail(
        signing,
        claim,
        (await explain(signing, order)) ?? {type: 'invalid', detail: 'the order is invalid'},
      );
  }
}

async function solve(signing: Signing, claim: DeepReadonly<DomainClaim>, order: Order): Promise<Outcome> {
  const {context, account, attempt} = signing;
  const {clock, signal} = context;
  const {accepted} = attempt;
  const isAccepted = accepted?.order === order.url && clock.monotonic() - accepted.atMs < ACCEPT_MS;
  if (isAccepted) return await pollOrGiveUp(signing, claim, order.retryAfterMs);
  const [url] = order.authorizations;
  if (url === undefined || order.authorizations.length > 1) {
    return await fail(signing, claim, {type: 'malformed', detail: 'the order has not exactly one authorization'});
  }
  const authorization = await account.client.authorization(account.uri, url, signal);
  if (authorization.status === 'valid') return await pollOrGiveUp(signing, claim, order.retryAfterMs);
  const method = methodOf(signing);
  const challenge = authorization.challenges.find(({type}) => type === method);
  if (authorization.status !== 'pending' || !challenge) {
    const detail = challenge ? `the authorization is ${authorization.status}` : `the CA offers no challenge ${method}`;
    return await fail(signing, claim, challenge?.error ?? {type: 'unauthorized', detail});
  }
  if (challenge.status === 'pending') {
    const waiting = await awaitAnswers(signing, challenge.token);
    if (waiting) return waiting;
    if (!(await confirmed(signing))) return done();
    await acceptOnce(signing, challenge.url);
  }
  attempt.accepted = {order: order.url, atMs: clock.monotonic()};
  attempt.polls = 0;
  return poll(signing, undefined);
}

/** How the CA validates the host: over DNS only if the tenant has delegated that, and nothing else proves the host. */
function methodOf(signing: Signing): 'http-01' | 'dns-01' {
  if (isWildcard(signing.host)) return 'dns-01'; // as CAs require
  return certificateOf(signing)?.metadata.annotations?.[ANNOTATION.challenge] === 'dns-01' ? 'dns-01' : 'http-01';
}

/** Undefined if the challenges of the account are answered; those over DNS, if this one is. */
async function awaitAnswers(signing: Signing, token?: string): Promise<Outcome | undefined> {
  const {context, request, account} = signing;
  const isByDns = methodOf(signing) === 'dns-01';
  const trouble = await (isByDns
    ? answeredInDns(signing, token)
    : context.responders.problem(context, account.thumbprint));
  if (trouble === undefined) return undefined;
  await pend(context, request, `Waiting to answer the CA's challenge: ${trouble}.`);
  return after(WAIT_MS);
}

/** Records the answer to the challenge on the claim, from which the name servers read it. */
async function answeredInDns(signing: Signing, token: string | undefined): Promise<string | undefined> {
  const {context, account, host} = signing;
  if (token === undefined) return await context.nameServers.problem(context);
  const claim = await confirmed(signing);
  if (!claim) return 'the namespace no longer holds the host';
  const name = context.names.challengeName(claim.spec.account, host);
  if (name === undefined) return 'the platform has no ACME domain';
  const challenge = {name, value: dnsAnswerOf(token, account.thumbprint)};
  const spec = challenged(claim.spec, challenge);
  if (spec) await record(context, claim, spec);
  return await context.nameServers.problem(context, challenge);
}

/** If the CA accepted it earlier, and its answer was lost, it calls this malformed. The order shows what follows. */
async function acceptOnce({account, context}: Signing, challenge: string): Promise<void> {
  try {
    await account.client.acceptChallenge(account.uri, challenge, context.signal);
  } catch (error) {
    if (!(error instanceof AcmeError) || error.problem.type !== 'malformed') throw error;
  }
}

/**
 * Confirms once more that the namespace holds the host, and that the certificate is the requested one. The record comes
 * first: it fails if the claim has changed meanwhile.
 */
async function publish(signing: Signing, order: Order): Promise<Outcome> {
  const {context, account, issuer, host} = signing;
  const {client, signal, clock} = context;
  const chain = await account.client.certificate(account.uri, order, issuer.spec.preferredChain, signal);
  const claim = await confirmed(signing);
  const request = claim && (await freshRequest(signing));
  if (!claim || !request) return done();
  const problem = problemOfChain(chain, csrOf(request.spec.request), host, clock.now());
  if (problem?.kind === 'other-key') {
    await record(context, claim, abandoned(claim.spec)); // the order of an earlier request; the next one is ours
    return done();
  }
  if (problem) return await fail(signing, claim, {type: 'wrongCertificate', detail: `the CA ${problem.text}`});
  if (claim.spec.issuance?.issued !== order.url) {
    await record(context, claim, issued(claim.spec, order.url, renewalIdOf(chain)));
  }
  const {name, namespace = '', resourceVersion = ''} = request.metadata;
  const conditions = withReady(
    request,
    'True',
    'Issued',
    `${issuer.metadata.name} has issued the certificate.`,
    clock.now(),
  );
  const status = {certificate: Buffer.from(chain).toString('base64'), conditions};
  const patch = {metadata: {resourceVersion}, status};
  await client.patch(CERTIFICATE_REQUEST, {namespace, name}, patch, {subresource: 'status', signal});
  return done();
}

/**
 * The claim as the API server has it, if the request may still have a certificate. Otherwise, the request ends. The
 * signer trusts nobody's approval.
 */
async function confirmed({context, request}: Signing): Promise<DeepReadonly<DomainClaim> | undefined> {
  const {decision, claim} = await decideFreshly(context, request);
  if (decision.type === 'Denied') {
    await end(context, request, 'Failed', decision.message);
    return undefined;
  }
  if (decision.host === undefined || !isAdmitted(claim, request)) return undefined;
  return claim;
}

/** The cache does not keep everything. Undefined if the request is gone, or has ended. */
async function freshRequest({context, request}: Signing): Promise<CertificateRequest | undefined> {
  const {namespace, name, uid} = request.metadata;
  const fresh = await readFresh(context, CERTIFICATE_REQUEST, {namespace, name});
  return fresh && fresh.metadata.uid === uid && !hasEnded(fresh) ? fresh : undefined;
}

/** Why the order is invalid, according to the CA. */
async function explain({account, context}: Signing, order: Order): Promise<Problem | undefined> {
  for (const url of order.authorizations) {
    const {challenges} = await account.client.authorization(account.uri, url, context.signal);
    const error = challenges.find(it => it.error)?.error;
    if (error) return error;
  }
  return order.error;
}

function poll({attempt, context}: Signing, askedMs: number | undefined): Outcome {
  attempt.polls += 1;
  const ms = Math.max(askedMs ?? 0, backoffMs(POLL, attempt.polls, Math.random));
  attempt.heldUntilMs = context.clock.monotonic() + ms;
  return after(ms);
}

async function pollOrGiveUp(
  signing: Signing,
  claim: DeepReadonly<DomainClaim>,
  askedMs: number | undefined,
): Promise<Outcome> {
  if (!isOverdue(signing, claim)) return poll(signing, askedMs);
  return await fail(signing, claim, {type: 'timeout', detail: 'the CA has not finished the order within an hour'});
}

/** Whether the CA had its time to finish the order, and was not away meanwhile. */
function isOverdue({context: {knownSince, clock}, attempt}: Signing, claim: DeepReadonly<DomainClaim>): boolean {
  const {outageMs = Number.NEGATIVE_INFINITY} = attempt;
  const placedMs = lastOrderMs(claim) ?? clock.now();
  const leftMs = knownSince.leftMs(`order ${placedOrder(claim.spec)}`, placedMs, ORDER_MS);
  return leftMs <= 0 && clock.monotonic() - outageMs >= ORDER_MS;
}

/** The order failed. The request stays pending until the next attempt, unless no attempt can change the answer. */
async function fail(signing: Signing, claim: DeepReadonly<DomainClaim>, problem: Problem): Promise<Outcome> {
  const {context, request, issuer, host} = signing;
  const {clock, logger} = context;
  const nowMs = clock.now();
  const notAfter = certificateOf(signing)?.status?.notAfter;
  const failures = [...(claim.spec.failures ?? []), timestamp(nowMs)];
  const since = claim.spec.accountSince ?? '';
  const attemptAtMs = nextAttemptAtMs({failures, since, limits: limitsOf(issuer.spec), notAfter, nowMs});
  const {type, detail} = problem;
  logger.info({request: keyOf(request), host, problem}, 'The CA has not issued a certificate.');
  await record(
    context,
    claim,
    failed(claim.spec, {
      at: timestamp(nowMs),
      type,
      detail: printableAscii(detail, MAX_DETAIL) || type,
      retryAt: timestamp(attemptAtMs),
    }),
  );
  if (PERMANENT.has(type)) await end(context, request, 'Failed', `${type}: ${detail}`);
  else await pend(context, request, `${type}: ${detail} The next attempt is at ${timestamp(attemptAtMs)}.`);
  return done();
}

/** The CA refused a request. */
async function onProblem(
  signing: Signing,
  claim: DeepReadonly<DomainClaim>,
  error: AcmeError,
  limit: (ms: number) => void,
): Promise<Outcome> {
  const {context, request, issuer, attempt} = signing;
  const {accounts, clock} = context;
  const {problem, retryAfterMs} = error;
  const {name} = issuer.metadata;
  const isPlaced = placedOrder(claim.spec) !== undefined;
  if (problem.type === 'accountDoesNotExist') accounts.lose(name); // reconcileIssuer creates another one
  if (PERMANENT.has(problem.type)) return await fail(signing, claim, problem);
  if (isPlaced && (GONE.has(error.status) || FORGOTTEN.has(problem.type))) {
    await record(context, claim, abandoned(claim.spec));
    return done();
  }
  if (isPlaced && isOverdue(signing, claim)) return await fail(signing, claim, problem);
  if (problem.type === 'unauthorized') accounts.doubt(name); // reconcileIssuer asks about it
  const ms = heldFor(attempt, retryAfterMs);
  if (problem.type === 'rateLimited' && !isPlaced) {
    accounts.rest(name, ms);
    limit(ms);
  }
  attempt.heldUntilMs = clock.monotonic() + ms;
  const [at, next] = [timestamp(clock.now()), timestamp(clock.now() + ms)];
  const shown = refusedForNow(claim.spec, {at, type: problem.type, detail: problem.detail || problem.type});
  if (shown) await record(context, claim, shown); // the Domain shows it
  await pend(context, request, `${problem.type}: ${problem.detail} Nameplate will retry at ${next}.`);
  return after(ms);
}

async function onOutage(
  {context, request, issuer, attempt}: Signing,
  error: CaUnreachable | AcmeError,
): Promise<Outcome> {
  const ms = Math.min(heldFor(attempt, error.retryAfterMs), MAX_OUTAGE_MS);
  if (error instanceof CaUnreachable) context.accounts.report(issuer.metadata.name, error.message, ms);
  attempt.outageMs = context.clock.monotonic();
  attempt.heldUntilMs = context.clock.monotonic() + ms;
  await pend(context, request, `The CA does not answer: ${error.message}. Nameplate keeps trying.`);
  return after(ms);
}

function heldFor(attempt: Attempt, askedMs: number | undefined): number {
  attempt.failures += 1;
  return Math.max(askedMs ?? backoffMs(RETRY, attempt.failures, Math.random), RETRY.initialMs);
}

async function record(
  {client, signal}: IssuerContext,
  claim: DeepReadonly<DomainClaim>,
  spec: DomainClaimSpec,
): Promise<DomainClaim> {
  return await client.replace(DOMAIN_CLAIM, {...claim, spec}, {signal});
}

/** Only if it says something new. */
async function pend(context: IssuerContext, request: DeepReadonly<CertificateRequest>, message: string): Promise<void> {
  const ready = findCondition(request.status?.conditions, 'Ready');
  if (ready?.reason === 'Pending' && ready.message === message) return;
  await writeReady(context, request, 'Pending', message, {});
}

/** cert-manager makes the next attempt, after a pause of at least an hour. */
async function end(
  context: IssuerContext,
  request: DeepReadonly<CertificateRequest>,
  reason: 'Failed' | 'Denied',
  message: string,
): Promise<void> {
  await writeReady(context, request, reason, message, {failureTime: timestamp(context.clock.now())});
}

async function writeReady(
  {client, signal, clock}: IssuerContext,
  request: DeepReadonly<CertificateRequest>,
  reason: string,
  message: string,
  more: {readonly failureTime?: string},
): Promise<void> {
  const {name, namespace = '', uid} = request.metadata;
  const fresh = await readFresh({client, signal}, CERTIFICATE_REQUEST, {namespace, name});
  if (!fresh || fresh.metadata.uid !== uid || hasEnded(fresh)) return;
  const {resourceVersion = ''} = fresh.metadata;
  const status = {...more, conditions: withReady(fresh, 'False', reason, message, clock.now())};
  const patch = {metadata: {resourceVersion}, status};
  await client.patch(CERTIFICATE_REQUEST, {namespace, name}, patch, {subresource: 'status', signal});
}

function withReady(request: CertificateRequest, status: string, reason: string, message: string, nowMs: number) {
  const others = (request.status?.conditions ?? []).filter(({type}) => type !== 'Ready');
  return [...others, {type: 'Ready', status, reason, message, lastTransitionTime: timestamp(nowMs)}];
}

function hasEnded({status}: DeepReadonly<CertificateRequest>): boolean {
  const ready = findCondition(status?.conditions, 'Ready');
  return ready?.status === 'True' || ready?.reason === 'Failed' || ready?.reason === 'Denied';
}

function isApproved({status}: DeepReadonly<CertificateRequest>): boolean {
  return findCondition(status?.conditions, 'Approved')?.status === 'True';
}

function isDenied({status}: DeepReadonly<CertificateRequest>): boolean {
  return findCondition(status?.conditions, 'Denied')?.status === 'True';
}
