/**
 * What a claim records of the CA: the orders placed for its host, at most one of which is open, and why the last one
 * failed. Only the operator writes claims, and they survive a crash, a change of leader, and a restore. A host that is
 * removed and added again keeps its orders and failures.
 */
import {dayOf, timestamp} from '../../api/conditions.ts';
import type {DomainClaimSpec} from '../../api/generated/domainclaim.ts';
import {hostNamed} from '../../api/host-names.ts';
import {registrableDomain} from '../../dns/dns.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Base} from '../caches/context.ts';
import {INDEX} from '../caches/stores.ts';
import type {CertificateRequest, DomainClaim} from '../kinds/kinds.ts';
import type {CaLimits, PlacedOrder} from './order-windows.ts';

export type Issuance = NonNullable<DomainClaimSpec['issuance']>;
type Order = NonNullable<DomainClaimSpec['orders']>[number];
type Spec = DeepReadonly<DomainClaimSpec>;

const ENDED = {order: undefined, challenge: undefined, issued: undefined, request: undefined};
/** The limits in the CRD. */
const MAX_ORDERS = 20;
const MAX_FAILURES = 20;

/** Whether the record belongs to whoever holds the claim now. If not, its authorization must first be deactivated. */
export function isOfHolder({account, namespace, releasedAt, issuance}: Spec): boolean {
  if (!issuance) return true;
  return releasedAt === undefined && issuance.account === account && issuance.namespace === namespace;
}

/** Whether the request may order, or has ordered. */
export function isAdmitted(
  claim: DeepReadonly<DomainClaim> | undefined,
  {metadata: {uid}}: DeepReadonly<CertificateRequest>,
): boolean {
  return uid !== undefined && claim?.spec.issuance?.request === uid && isOfHolder(claim.spec);
}

interface Admission {
  readonly issuer: string;
  readonly request: string;
  readonly renewal: boolean;
  readonly exempt: boolean;
  readonly nowMs: number;
  /** Earlier orders no longer count. */
  readonly countsSinceMs: number;
}

/**
 * Charges the order before it is placed. An order of a request that is gone, at the same CA for the same holder, is
 * continued instead: a CA would return it anyway.
 */
export function admitted(
  spec: Spec,
  {issuer, request, renewal, exempt, nowMs, countsSinceMs}: Admission,
): DomainClaimSpec {
  const {account, namespace, issuance, orders = []} = spec;
  const isSame = issuance?.issuer === issuer && isOfHolder(spec);
  const {order, authorization, renewal: last} = isSame ? issuance : {};
  const kept = orders.filter(({at}) => Date.parse(at) > countsSinceMs);
  const placed: Order = {at: timestamp(nowMs), issuer, request, ...(renewal && {renewal}), ...(exempt && {exempt})};
  const all = isSame && order !== undefined ? kept : [...kept, placed];
  return {
    ...copy(spec),
    orders: all.slice(-MAX_ORDERS).map(it => ({...it})),
    issuance: {
      ...{issuer, account, namespace, request},
      ...(order !== undefined && {order}),
      ...(authorization !== undefined && {authorization}),
      ...(last !== undefined && {renewal: last}),
    },
  };
}

/** The CA has accepted the order. */
export function placed(spec: Spec, order: string, authorization: string | undefined): DomainClaimSpec {
  return withIssuance(spec, {order, problem: undefined, ...(authorization !== undefined && {authorization})});
}

/** The certificate's identifier that an order of the holder at this CA may name as the one that it replaces. */
export function replaceable(spec: Spec, issuer: string): string | undefined {
  return spec.issuance?.issuer === issuer && isOfHolder(spec) ? spec.issuance.renewal : undefined;
}

/** The CA refuses an order that names this certificate, so it has no order yet, and will count the next one. */
export function notReplaced(spec: Spec): DomainClaimSpec {
  const {orders = [], ...rest} = withIssuance(spec, {...ENDED, renewal: undefined});
  return {...rest, orders: orders.slice(0, -1)};
}

/** The CA has refused a request for the order, which is tried again. Undefined if the record says so already. */
export function refusedForNow(spec: Spec, problem: NonNullable<Issuance['problem']>): DomainClaimSpec | undefined {
  const {type, detail} = spec.issuance?.problem ?? {};
  return type === problem.type && detail === problem.detail ? undefined : withIssuance(spec, {problem});
}

/** What the name server answers until the order ends. Undefined if the record already says so. */
export function challenged(spec: Spec, challenge: NonNullable<Issuance['challenge']>): DomainClaimSpec | undefined {
  const known = spec.issuance?.challenge;
  if (known?.name === challenge.name && known.value === challenge.value) return undefined;
  return withIssuance(spec, {challenge});
}

/** The CA has forgotten the order, or has certified another key with it: the next one counts anew. */
export function abandoned(spec: Spec): DomainClaimSpec {
  return withIssuance(spec, ENDED);
}

/** The order failed. The time counts against the limit of the host. */
export function failed(spec: Spec, problem: NonNullable<Issuance['problem']>): DomainClaimSpec {
  const failures = [...(spec.failures ?? []), problem.at].slice(-MAX_FAILURES);
  return {...withIssuance(spec, {...ENDED, problem}), failures};
}

/**
 * The request is about to get the certificate of this order; once it has it, nothing else is written. `renewal`: the
 * certificate's identifier for renewal information.
 */
export function issued(spec: Spec, order: string, renewal: string | undefined): DomainClaimSpec {
  return withIssuance(spec, {order: undefined, challenge: undefined, issued: order, problem: undefined, renewal});
}

/** The order that the CA has accepted for the admitted request. */
export function placedOrder({issuance}: Spec): string | undefined {
  return issuance?.order ?? issuance?.issued;
}

/** When the next order may be placed. Undefined: now. A failure that a wrong clock recorded in the future delays none. */
export function retryDueMs(problem: DeepReadonly<Issuance['problem']>, nowMs: number): number | undefined {
  const {at = '', retryAt = ''} = problem ?? {};
  const retryMs = Date.parse(retryAt);
  return Date.parse(at) <= nowMs && retryMs > nowMs ? retryMs : undefined;
}

/** Allows the next attempt now: somebody asked for it. Undefined if nothing delays it. */
export function withoutDelay(spec: Spec, nowMs: number): DomainClaimSpec | undefined {
  const {problem} = spec.issuance ?? {};
  if (!problem || retryDueMs(problem, nowMs) === undefined) return undefined;
  return withIssuance(spec, {problem: {...problem, retryAt: timestamp(nowMs)}});
}

/** Why the CA has not issued the certificate: it refuses the open order, or the last one has failed. */
export function lastProblem(
  claim: DeepReadonly<DomainClaim> | undefined,
  issuer: string | undefined,
): Issuance['problem'] {
  const {issuance} = claim?.spec ?? {};
  if (!claim || !issuance || issuance.issuer !== issuer || !isOfHolder(claim.spec)) return undefined;
  return issuance.problem;
}

/** Nothing of a former holder is left at the CA. */
export function forgotten(spec: Spec): DomainClaimSpec {
  const {issuance: _, ...rest} = copy(spec);
  return rest;
}

/** Undefined removes a field. */
function withIssuance(
  spec: Spec,
  changes: {readonly [K in keyof Issuance]?: Issuance[K] | undefined},
): DomainClaimSpec {
  const {issuance = {issuer: '', account: spec.account, namespace: spec.namespace}} = spec;
  const merged = Object.entries({...issuance, ...changes}).filter(([, value]) => value !== undefined);
  return {...copy(spec), issuance: Object.fromEntries(merged) as unknown as Issuance};
}

function copy(spec: Spec): DomainClaimSpec {
  return structuredClone(spec) as DomainClaimSpec;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** After the n-th failure within a day: a minute, tripled each time, at most 8 hours. */
const FIRST_MS = MINUTE_MS;
const FACTOR = 3;
const MAX_MS = 8 * 60 * MINUTE_MS;
/** At most this part of what is left of the current certificate passes until the next attempt. */
const PART = 10;

interface Failures {
  /** RFC 3339, oldest first, including the last one. */
  readonly failures: readonly string[];
  /** RFC 3339. Earlier failures are of another account. */
  readonly since: string;
  readonly limits: Pick<CaLimits, 'ordersPerHost' | 'hostWindowSeconds'>;
  /** When the current certificate expires, RFC 3339; undefined if there is none. */
  readonly notAfter: string | undefined;
  readonly nowMs: number;
}

/** How long a host waits after its n-th failure within a day. */
export function pauseAfterMs(failures: number): number {
  return Math.min(FIRST_MS * FACTOR ** Math.min(failures - 1, 10), MAX_MS);
}

/** When the next order for a host may be placed after one has failed. Pure. */
export function nextAttemptAtMs({failures, since, limits, notAfter, nowMs}: Failures): number {
  const own = failures.filter(time => time >= since && Date.parse(time) > nowMs - DAY_MS).length;
  const leftMs = notAfter === undefined ? Number.NaN : Date.parse(notAfter) - nowMs;
  const boundMs = leftMs > 0 ? Math.max(leftMs / PART, FIRST_MS) : Number.POSITIVE_INFINITY;
  const windowMs = limits.hostWindowSeconds * 1000;
  const recent = failures.map(time => Date.parse(time)).filter(ms => ms > nowMs - windowMs && ms <= nowMs);
  const excess = recent.toSorted((a, b) => a - b)[recent.length - limits.ordersPerHost];
  return Math.max(
    nowMs + Math.min(pauseAfterMs(Math.max(own, 1)), boundMs),
    excess === undefined ? 0 : excess + windowMs,
  );
}

type Orders = DeepReadonly<NonNullable<DomainClaim['spec']['orders']>>;

/** In short steps: there may be tens of thousands. */
export function* placedOrders(
  {stores}: Pick<Base, 'stores'>,
  issuer: string,
  limits: CaLimits,
  nowMs: number,
): Generator<void, PlacedOrder[]> {
  const placed: PlacedOrder[][] = [];
  for (const {metadata, spec} of new Set(countingDays(limits, nowMs).flatMap(day => claimsOf(stores, day)))) {
    placed.push(
      ordersOf(hostNamed(metadata.name), spec.account, spec.orders ?? []).filter(order => order.issuer === issuer),
    );
    yield;
  }
  return placed.flat();
}

/** For how long an order counts, in milliseconds. */
export function countsForMs({windowSeconds, domainWindowSeconds, hostWindowSeconds}: CaLimits): number {
  return Math.max(windowSeconds, domainWindowSeconds, hostWindowSeconds) * 1000;
}

/** When the last order was placed for the host; undefined if none is recorded. */
export function lastOrderMs(claim: DeepReadonly<DomainClaim> | undefined): number | undefined {
  const last = claim?.spec.orders?.at(-1);
  return last && Date.parse(last.at);
}

interface RecordedOrder extends PlacedOrder {
  readonly issuer: string;
}

/** Keyed by what the claim records: cached objects never change. */
const known = new WeakMap<Orders, RecordedOrder[]>();

function ordersOf(host: string, account: string, orders: Orders): RecordedOrder[] {
  const before = known.get(orders);
  if (before && (before[0]?.account ?? account) === account) return before;
  const domain = registrableDomain(host) ?? host;
  const made = orders.map(({at, issuer, renewal = false, exempt = false}) => {
    return {host, account, domain, renewal, exempt, issuer, atMs: Date.parse(at)};
  });
  known.set(orders, made);
  return made;
}

function claimsOf({claims}: Base['stores'], day: string) {
  return claims.byIndex(INDEX.orderDay, day);
}

/** As `INDEX.orderDay` names them. Includes tomorrow, because another clock may have recorded an order. */
function countingDays(limits: CaLimits, nowMs: number): string[] {
  const count = Math.ceil(countsForMs(limits) / DAY_MS) + 2;
  return Array.from({length: count}, (_, n) => dayOf(timestamp(nowMs + (1 - n) * DAY_MS)));
}
