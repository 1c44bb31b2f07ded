/**
 * Approves certificate requests within the CA's limits, because cert-manager places an order when a request is
 * approved. Every order from the platform's account at the CA passes here, whatever the request is for.
 */

import {type BackoffPolicy, backoffMs} from '../../base/backoff.ts';
import type {Clock} from '../../base/clock.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome, retry} from '../../runtime/controller/outcome.ts';
import {inTurns} from '../../runtime/controller/turns.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {decideFreshly} from '../approval/decide-freshly.ts';
import {PAUSED_MS, writeDecision} from '../approval/reconcile.ts';
import {Slots} from '../approval/slots.ts';
import type {CertificateRequest} from '../model/kinds.ts';
import type {Context, Operator} from '../state/context.ts';
import type {PlannedOrder} from '../state/order-schedule.ts';
import {hasPauses, isPausedHost} from '../state/paused.ts';
import {INDEX} from '../state/stores.ts';
import {runInLanes} from './lanes.ts';
import {planInSteps} from './order-budget.ts';
import {isRecorded, madeOrders, recordDefaultHostOrder, recordOrder} from './order-history.ts';
import {type Waiting, WaitingOrders} from './waiting-orders.ts';

/**
 * A pass reads new requests for at most this long, and then places orders for as long, well before its deadline:
 * thousands may wait, and each requires two writes.
 */
const PASS_MS = 15_000;
/**
 * A pass reads all orders that count, and thousands of changes may trigger one. It therefore rests for this many times
 * the time that planning took: with a few hundred orders, milliseconds.
 */
const REST = 10;

/** A request that ends triggers the next pass; this interval is for a slot that ends by age, or with its challenge. */
const FULL_MS = 5_000;
/**
 * How often to look whether a request may be ordered for after all: a cache may lag behind, and whatever the decision
 * depends on may still change, until the request is denied.
 */
const DOUBT_MS = 1_000;

/** Keys are CA accounts, as `caAccountOf` names them. */
export function reconcileOrders(operator: Operator): Reconcile {
  const {stores, clock} = operator;
  const restsUntil = new Map<string, number>();
  const refused = new Refused(clock);
  const orders = new WaitingOrders(operator);
  return async (caAccount, {client, signal}) => {
    if (stores.claims.state !== 'synced' || stores.namespaces.state !== 'synced') return after(1000);
    const restMs = (restsUntil.get(caAccount) ?? 0) - clock.monotonic();
    if (restMs > 0) return after(restMs);
    const {result: pass, ms} = await inTurns(planPass(operator, orders, caAccount), clock, signal);
    restsUntil.set(caAccount, clock.monotonic() + REST * (ms - pass.readMs));
    return await placeDue({...operator, client, signal}, pass, refused);
  };
}

/** What waits at one CA account, and when each order may be placed. */
interface Pass {
  readonly caAccount: string;
  readonly nowMs: number;
  /** How long reading new requests took. */
  readonly readMs: number;
  /** May be placed now. */
  readonly due: readonly Waiting[];
  /** By "namespace/host". A host may have several requests; the earliest order is shown. */
  readonly later: ReadonlyMap<string, PlannedOrder>;
  /** Other requests are undecided, too, but no order may be placed for them. */
  readonly hasOthers: boolean;
  /** A pause holds others back. */
  readonly isPartlyPaused: boolean;
}

/** The caches may change wherever this yields. Whatever is due is therefore decided again before it is placed. */
function* planPass(operator: Operator, orders: WaitingOrders, caAccount: string): Generator<void, Pass> {
  const {clock} = operator;
  const judgedMs = clock.now();
  const readUntil = clock.monotonic() + PASS_MS;
  const mayBePaused = hasPauses(operator);
  const waiting: Waiting[] = [];
  let readMs = 0;
  let [hasOthers, isPartlyPaused] = [false, false];
  for (const request of undecidedRequests(operator, caAccount)) {
    let order = orders.judge(request, judgedMs);
    if (order === 'unread') {
      // After a takeover, none of them has been read. The next pass continues where there was no time for all.
      const startsAt = clock.monotonic();
      if (startsAt < readUntil) orders.read(request);
      readMs += clock.monotonic() - startsAt;
      order = orders.judge(request, judgedMs);
    }
    if (!order || order === 'unread') hasOthers = true;
    else if (mayBePaused && isPausedHost(operator, order.hostKey)) isPartlyPaused = true;
    else waiting.push(order);
    yield;
  }
  const nowMs = clock.now();
  const made = waiting.length > 0 ? yield* madeOrders(operator, caAccount) : [];
  yield;
  const queue = waiting.filter(({recorded}) => !recorded).map(({order}) => order);
  const plan = yield* planInSteps(made, queue, operator.config.certificates, nowMs);
  const due: Waiting[] = [];
  const later = new Map<string, PlannedOrder>();
  for (const it of waiting) {
    const planned = plan.get(it.order.key);
    const other = later.get(it.hostKey);
    if (it.recorded || (planned && planned.atMs <= nowMs)) due.push(it);
    else if (planned && (!other || planned.atMs < other.atMs)) later.set(it.hostKey, planned);
    yield;
  }
  return {caAccount, nowMs, readMs, due, later, hasOthers, isPartlyPaused};
}

/** Places what is due and has a slot, publishes when the rest can be placed, and returns when to continue. */
async function placeDue(context: Context, pass: Pass, refused: Refused): Promise<Outcome> {
  const {stores, orderSchedule, reservations} = context;
  const {caAccount, nowMs, later, hasOthers, isPartlyPaused} = pass;
  refused.keep(key => stores.certificateRequests?.get(key) !== undefined);
  const ready = pass.due.filter(({order}) => refused.leftMs(order.key) === 0);
  const due = withSlots(context, ready);
  const {left, errors, hasRaced} = await placeAll(context, due, refused);
  for (const {request} of left) reservations.release(request);
  const refusals = refused.byHost(pass.due, nowMs);
  orderSchedule.publish(caAccount, refusals.length > 0 ? new Map([...later, ...refusals]) : later);
  if (errors.length > 0) return retry(errors[0]);
  if (left.length > 0) return after(0);
  const pauses = pass.due.map(({order}) => refused.leftMs(order.key)).filter(ms => ms > 0);
  const nextMs = soonest([
    ...later.values().map(({atMs}) => atMs),
    ...pauses.map(ms => nowMs + ms),
    due.length < ready.length ? nowMs + FULL_MS : Number.POSITIVE_INFINITY,
    isPartlyPaused ? nowMs + PAUSED_MS : Number.POSITIVE_INFINITY,
    hasOthers || hasRaced ? nowMs + DOUBT_MS : Number.POSITIVE_INFINITY,
  ]);
  return Number.isFinite(nextMs) ? after(nextMs - nowMs) : done();
}

interface Placed {
  /** Those that the pass had no time for. */
  readonly left: readonly Waiting[];
  /** What failed for reasons that concern all requests. */
  readonly errors: readonly unknown[];
  /** Somebody else wrote first. What they wrote triggers the next pass, unless the cache lags far behind. */
  readonly hasRaced: boolean;
}

async function placeAll(context: Context, due: readonly Waiting[], refused: Refused): Promise<Placed> {
  const {clock, config, logger} = context;
  const errors: unknown[] = [];
  let hasRaced = false;
  const passEnds = clock.monotonic() + PASS_MS;
  // One at a time in a namespace, because its default hosts share a record.
  const lanes = {
    laneOf: ({request}: Waiting) => request.metadata.namespace ?? '',
    workers: config.controller.workers,
    mayStart: () => clock.monotonic() < passEnds,
  };
  const left = await runInLanes(due, lanes, async next => {
    const {key} = next.order;
    try {
      if (await recordAndDecide(context, next)) refused.forget(key);
      else refused.add(key);
    } catch (error) {
      // A refusal or a race concerns one request, and must not delay the others.
      const kind = classifyFailure(error);
      if (kind === 'race') hasRaced = true;
      else if (kind !== 'refusal') errors.push(error);
      else {
        const ms = refused.add(key, error instanceof Error ? error.message : String(error));
        logger.warn({request: key, err: error, ms}, 'The API server rejected the decision on a certificate request.');
      }
    }
  });
  return {left, errors, hasRaced};
}

const REFUSED_BACKOFF: BackoffPolicy = {initialMs: 1000, maxMs: 300_000, factor: 2, jitter: 0};

interface Refusal {
  readonly failures: number;
  readonly untilMs: number;
  readonly message: string | undefined;
}

/**
 * Requests whose decision the API server refused, or for which it does not confirm what the caches say, each with its
 * own backoff: otherwise, they would take slots from others in each pass.
 */
class Refused {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Refusal>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns how long the request must wait now. `message`: why the API server rejected the decision. */
  add(key: string, message?: string): number {
    const failures = (this.#byKey.get(key)?.failures ?? 0) + 1;
    const ms = backoffMs(REFUSED_BACKOFF, failures, () => 0);
    this.#byKey.set(key, {failures, untilMs: this.#clock.monotonic() + ms, message});
    return ms;
  }

  leftMs(key: string): number {
    const {untilMs} = this.#byKey.get(key) ?? {};
    return untilMs === undefined ? 0 : Math.max(0, untilMs - this.#clock.monotonic()); // few are refused
  }

  /** For the Domains of those that the API server refused, by "namespace/host". */
  byHost(due: readonly Waiting[], nowMs: number): [string, PlannedOrder][] {
    if (this.#byKey.size === 0) return [];
    return due.flatMap(({hostKey, order: {key}}): [string, PlannedOrder][] => {
      const refusal = this.#byKey.get(key)?.message;
      return refusal === undefined ? [] : [[hostKey, {atMs: nowMs + this.leftMs(key), refusal}]];
    });
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  /** Forgets those that no longer exist. */
  keep(exists: (key: string) => boolean): void {
    for (const key of this.#byKey.keys()) if (!exists(key)) this.#byKey.delete(key);
  }
}

/**
 * The orders for which a slot is free, renewals first, then the longest-waiting; the next freed slot triggers this
 * again.
 */
function withSlots(operator: Operator, due: readonly Waiting[]): Waiting[] {
  if (due.length === 0) return [];
  const slots = new Slots(operator);
  const inOrder = due.toSorted(
    ({order: a}, {order: b}) => Number(b.renewal) - Number(a.renewal) || a.sinceMs - b.sinceMs,
  );
  const admitted = inOrder.filter(({order}) => slots.take(order.account, order.renewal));
  for (const {order, request} of admitted) operator.reservations.add(order.account, request);
  return admitted;
}

/** Not `Math.min(...)`: a tenant may have a million waiting requests, more than a call can take as arguments. */
function soonest(times: readonly number[]): number {
  return times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
}

function undecidedRequests({stores}: Operator, caAccount: string): DeepReadonly<CertificateRequest>[] {
  const undecided = stores.certificateRequests?.byIndex(INDEX.undecided, caAccount) ?? [];
  return undecided.filter(({metadata}) => !metadata.deletionTimestamp);
}

/**
 * Decides again, because the orders before it took time. Writes the claim at the version that the decision depends on.
 * Returns false if the namespace may not have the host after all, or has no record for orders of default hosts yet.
 */
function recordAndDecide(context: Context, {request, order}: Waiting): Promise<boolean> {
  return context.reservations.releaseUnless(request, async () => {
    const {decision, claim} = await decideFreshly(context, request);
    if (decision.host === undefined) return false;
    const {host, renewal} = order;
    if (decision.reason === 'HostHeld' && claim && !isRecorded(claim.spec.orders, request)) {
      await recordOrder(context, claim, request, renewal);
    }
    if (decision.reason === 'DefaultHost' && !(await recordDefaultHostOrder(context, host, request, renewal))) {
      return false;
    }
    await writeDecision(context, request, decision);
    return true;
  });
}
