/**
 * Lets certificate requests through as the CA takes orders: approving a request is what makes cert-manager order. Every
 * order of the platform's account passes here, whoever made the request and whatever for.
 */
import {registrableDomain} from '../../dns/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, retry} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {accountId} from '../account.ts';
import {decide} from '../approval/decide.ts';
import {writeDecision} from '../approval/reconcile.ts';
import type {Operator} from '../context.ts';
import {routeKeyOf} from '../identity.ts';
import type {CertificateRequest} from '../resources.ts';
import {INDEX} from '../stores.ts';
import {planOrders, type Turn, type WaitingOrder} from './budget.ts';
import {isRecorded, madeOrders, recordOrder} from './made.ts';

/** A pass ends after this time, well before its deadline: thousands may wait, and each takes two writes. */
const PASS_MS = 15_000;
/**
 * A pass looks at all orders that count, and thousands of changes may call for one: it rests so many times as long as the
 * looking took. With a few hundred orders that is milliseconds.
 */
const REST = 10;

interface Waiting {
  readonly request: DeepReadonly<CertificateRequest>;
  readonly order: WaitingOrder;
  /** It has had its turn, and counts already. */
  readonly recorded: boolean;
}

/** Keys are CA accounts, as `caAccountOf` names them. */
export function reconcileOrders(operator: Operator): Reconcile {
  const {stores, clock, config, orders} = operator;
  const restsUntil = new Map<string, number>();
  return async (caAccount, {client, signal}) => {
    if (stores.claims.state !== 'synced' || stores.namespaces.state !== 'synced') return after(1000);
    const startsAt = clock.monotonic();
    const restMs = (restsUntil.get(caAccount) ?? 0) - startsAt;
    if (restMs > 0) return after(restMs);
    const nowMs = clock.now();
    const waiting = waitingFor(operator, caAccount, nowMs);
    const made = waiting.length > 0 ? madeOrders(operator, caAccount) : [];
    const line = waiting.flatMap(({order, recorded}) => (recorded ? [] : [order]));
    const turns = planOrders(made, line, config.certificates, nowMs);
    const turnOf = ({order, recorded}: Waiting) =>
      recorded ? nowMs : (turns.get(order.key)?.atMs ?? Number.POSITIVE_INFINITY);
    restsUntil.set(caAccount, clock.monotonic() + REST * (clock.monotonic() - startsAt));
    const errors: unknown[] = [];
    const due = waiting.filter(it => turnOf(it) <= nowMs);
    const passEnds = clock.monotonic() + PASS_MS;
    for (let next = due.shift(); next; next = clock.monotonic() < passEnds ? due.shift() : undefined) {
      // One that the API server refuses keeps nobody else waiting.
      await letThrough(operator, next, client, signal).catch(error => errors.push(error));
    }
    const later = waiting.filter(it => turnOf(it) > nowMs);
    orders.publish(caAccount, turnsByHost(later, turns));
    if (errors.length > 0) return retry(errors[0]);
    if (due.length > 0) return after(0);
    return later.length > 0 ? after(Math.min(...later.map(turnOf)) - nowMs) : done();
  };
}

function waitingFor(operator: Operator, caAccount: string, nowMs: number): Waiting[] {
  const undecided = operator.stores.certificateRequests?.byIndex(INDEX.undecided, caAccount) ?? [];
  return undecided.flatMap(request => {
    const {host} = decide(operator, request);
    if (host === undefined || request.metadata.deletionTimestamp) return [];
    const recorded = isRecorded(operator.stores.claims.get(host), request);
    return [{request, order: orderOf(operator, request, host, nowMs), recorded}];
  });
}

function orderOf(
  {stores}: Operator,
  request: DeepReadonly<CertificateRequest>,
  host: string,
  nowMs: number,
): WaitingOrder {
  const {namespace = '', creationTimestamp = ''} = request.metadata;
  const object = stores.namespaces.get(namespace);
  const {renewalTime} = stores.certificates.get(routeKeyOf(`${namespace}/${host}`))?.status ?? {};
  return {
    key: keyOf(request),
    host: stores.claims.get(host) ? host : keyOf(request), // as ordersWithoutClaim counts it
    account: object ? accountId(object) : '',
    domain: registrableDomain(host) ?? host,
    renewal: renewalTime !== undefined && Date.parse(renewalTime) <= nowMs,
    sinceMs: Date.parse(creationTimestamp),
  };
}

/** The decision is made anew, since the ones before took their time; the claim that it stands on is written as it was then. */
async function letThrough(
  operator: Operator,
  {request, order}: Waiting,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const decision = decide(operator, request);
  if (decision.host === undefined) return; // the claim has gone, and its change calls this again
  const claim = decision.reason === 'HostHeld' ? operator.stores.claims.get(order.host) : undefined;
  if (claim && !isRecorded(claim, request)) {
    await recordOrder(operator, claim, request, order.renewal, client, signal);
  }
  await writeDecision(operator, request, decision, client, signal);
}

/** A host may have several requests; the first turn is shown. */
function turnsByHost(waiting: readonly Waiting[], turns: ReadonlyMap<string, Turn>): Map<string, Turn> {
  const byHost = new Map<string, Turn>();
  for (const {request, order} of waiting) {
    const key = `${request.metadata.namespace}/${order.host}`;
    const turn = turns.get(order.key);
    const other = byHost.get(key);
    if (turn && (!other || turn.atMs < other.atMs)) byHost.set(key, turn);
  }
  return byHost;
}
