/**
 * Which waiting orders may be placed, and when: a pure function of the orders placed so far, of those that wait, and of
 * the time. Windows slide, so the limits hold at every moment. https://letsencrypt.org/docs/rate-limits/
 */
import {Heap} from '../../base/heap.ts';
import {atOnce} from '../../runtime/controller/turns.ts';
import type {PlannedOrder, Shortage} from '../state/order-schedule.ts';
import {type Budgets, hasRoom, Ledger, type MadeOrder, type WaitingOrder} from './order-ledger.ts';

/** When each waiting order may be placed, by its key: simulates the future with the rule that decides now. */
export function planOrders(...given: Parameters<typeof planInSteps>): Map<string, PlannedOrder> {
  return atOnce(planInSteps(...given));
}

/** The same in short steps, between which other work may run. */
export function* planInSteps(
  made: readonly MadeOrder[],
  waiting: readonly WaitingOrder[],
  budgets: Budgets,
  nowMs: number,
): Generator<void, Map<string, PlannedOrder>> {
  const ledger = new Ledger(budgets);
  yield* ledger.addAll(made, nowMs, new Set(waiting.map(({domain}) => domain)));
  const queues = yield* queuesOf(waiting, ledger);
  for (const queue of queues) {
    shorten(queue, ledger, budgets);
    yield;
  }
  const horizonMs = nowMs + budgets.orderBudget.windowSeconds * 1000;
  const plan = new Map<string, PlannedOrder>();
  const waits = (shortage: Shortage): PlannedOrder => ({atMs: horizonMs, shortage});
  // Shared: of 20,000 orders, a few hundred are placed within the horizon.
  const atHorizon = {orders: waits('orders'), domain: waits('domain'), host: waits('host')};
  const orderQueues = new OrderQueues(queues, ledger);
  for (const {key} of orderQueues.takeAll()) {
    plan.set(key, {atMs: nowMs});
    yield;
  }
  for (const queue of queues) {
    eachShortage(queue, ledger, ({key}, shortage = 'orders') => plan.set(key, atHorizon[shortage]));
    yield;
  }
  const setTime = ({key}: WaitingOrder, atMs: number) => {
    const planned = plan.get(key);
    if (planned) plan.set(key, {...planned, atMs});
  };
  while (orderQueues.size > 0) {
    const nextMs = ledger.nextChangeMs();
    if (nextMs >= horizonMs) break;
    ledger.goTo(nextMs, key => orderQueues.noteExit(key));
    for (const order of orderQueues.takeAll()) setTime(order, ledger.nowMs);
    yield;
  }
  for (const queue of queues) {
    eachShortage(queue, ledger, (order, shortage) => {
      const atMs = ledger.endMs(order, shortage);
      if (atMs !== undefined && atMs > horizonMs) setTime(order, atMs);
    });
    yield;
  }
  return plan;
}

/** Why each of the orders that are left in the queue may not be placed now; undefined if others go first. */
function eachShortage(
  {orders, beyond}: Queue,
  ledger: Ledger,
  use: (order: WaitingOrder, shortage: Shortage | undefined) => void,
): void {
  const [first = beyond[0]] = orders;
  const isRoom = first && ledger.hasAccountRoom(first);
  for (const left of [orders, beyond]) for (const order of left) use(order, ledger.shortageOf(order, isRoom));
}

/** How many more orders are possible now; those for new hosts exclude what is reserved for renewals. */
export function ordersLeft(
  made: readonly MadeOrder[],
  budgets: Budgets,
  nowMs: number,
): {readonly renewal: number; readonly new: number} {
  const ledger = new Ledger(budgets);
  atOnce(ledger.addAll(made, nowMs, new Set()));
  return {renewal: Math.max(0, ledger.free(true)), new: Math.max(0, ledger.free(false))};
}

/** The orders of one account, either its renewals or its new hosts. */
interface Queue {
  readonly renewal: boolean;
  /** The key by which the account's orders are counted. */
  readonly account: string;
  /** When the order that has waited longest in this queue began to wait. */
  readonly sinceMs: number;
  /** Breaks ties between queues. */
  readonly index: number;
  orders: WaitingOrder[];
  /** Those that cannot be placed within the horizon. */
  beyond: WaitingOrder[];
}

/**
 * One queue per account for renewals and one for new hosts, the longest-waiting first; within a queue, the domains take
 * turns, and the longest-waiting order goes first.
 */
function* queuesOf(waiting: readonly WaitingOrder[], ledger: Ledger): Generator<void, Queue[]> {
  const byAccount = [true, false].flatMap(renewal => {
    const orders = waiting.filter(order => order.renewal === renewal);
    return [...Map.groupBy(orders, ({account}) => account).values()];
  });
  const ofAccounts: {readonly oldest: WaitingOrder; readonly orders: WaitingOrder[]}[] = [];
  for (const orders of byAccount) {
    const [oldest] = orders.sort(byAge);
    if (oldest) ofAccounts.push({oldest, orders: inDomainTurns(orders, ledger)});
    yield;
  }
  return ofAccounts
    .sort((a, b) => byAge(a.oldest, b.oldest))
    .map(({oldest: {renewal, account, sinceMs}, orders}, index) => {
      return {renewal, account: `account ${account}`, sinceMs, index, orders, beyond: []};
    });
}

function byAge(a: WaitingOrder, b: WaitingOrder): number {
  return a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1);
}

function inDomainTurns(orders: readonly WaitingOrder[], ledger: Ledger): WaitingOrder[] {
  const next = new Map<string, number>();
  const places = orders.map(order => {
    const place = next.get(order.domain) ?? ledger.hadOfDomain(order.domain);
    next.set(order.domain, place + 1);
    return {order, place};
  });
  return places.sort((a, b) => a.place - b.place).map(({order}) => order);
}

/**
 * Sets aside the orders that cannot be placed within the horizon. Keeps, in the order of the queue, as many new hosts
 * of each domain as its limit allows in that time, and as many orders of each host as it may have attempts. Otherwise,
 * a tenant with 10,000 hosts under one domain would make us read all of them whenever an order leaves a window.
 */
function shorten(queue: Queue, ledger: Ledger, {orderBudget, failureBudget}: Budgets): void {
  const {windowSeconds, newHostsPerDomain, domainWindowSeconds} = orderBudget;
  const mostOfDomain = newHostsPerDomain * Math.ceil(windowSeconds / domainWindowSeconds);
  const mostOfHost = failureBudget.failures * Math.ceil(windowSeconds / failureBudget.windowSeconds);
  const triesOf = new Map<string, number>();
  const newHostsOf = new Map<string, Set<string>>();
  const mayGo = (order: WaitingOrder): boolean => {
    const {host, domain} = order;
    const tries = (triesOf.get(host) ?? 0) + 1;
    triesOf.set(host, tries);
    if (tries > mostOfHost) return false;
    if (queue.orders.length <= mostOfDomain) return true; // no domain can have more
    if (!ledger.isNewHost(order) || ledger.hasTriedEnough(order)) return true;
    const hosts = newHostsOf.get(domain) ?? new Set();
    newHostsOf.set(domain, hosts);
    if (hosts.size < mostOfDomain) hosts.add(host);
    return hosts.has(host);
  };
  const [kept, beyond]: [WaitingOrder[], WaitingOrder[]] = [[], []];
  for (const order of queue.orders) (mayGo(order) ? kept : beyond).push(order);
  queue.orders = kept;
  queue.beyond = beyond;
}

/** The state of a queue when it was added to the heap. */
interface QueuePosition {
  readonly queue: Queue;
  readonly had: number;
  /** At most the time at which the queue's next order began to wait. */
  readonly sinceMs: number;
}

function isBefore(a: QueuePosition, b: QueuePosition): boolean {
  return (a.had - b.had || a.sinceMs - b.sinceMs || a.queue.index - b.queue.index) < 0;
}

/**
 * The queues in the order in which they may place orders: renewals first, then the account with the fewest orders, then
 * the order that has waited longest. What waits for a domain or a host is set aside until an order leaves that window,
 * so an order costs the same, no matter how many accounts wait.
 */
class OrderQueues {
  readonly #ledger: Ledger;
  readonly #renewals = new Heap<QueuePosition>(isBefore);
  readonly #newHosts = new Heap<QueuePosition>(isBefore);
  /** Its current position; any other of the queue in a heap no longer counts. */
  readonly #positions = new Map<Queue, QueuePosition>();
  readonly #ofAccount = new Map<string, Queue[]>();
  /** By the key of what they wait for. */
  readonly #aside = new Map<string, Queue[]>();
  /** The number of orders. */
  size = 0;

  constructor(queues: readonly Queue[], ledger: Ledger) {
    this.#ledger = ledger;
    for (const queue of queues) {
      this.size += queue.orders.length;
      this.#ofAccount.set(queue.account, [...(this.#ofAccount.get(queue.account) ?? []), queue]);
      this.#add(queue);
    }
  }

  /** Those that may be placed at the ledger's time. They are added to the ledger. */
  *takeAll(): Generator<WaitingOrder, void> {
    for (let next = this.#next(); next; next = this.#next()) {
      const {queue, order} = next;
      queue.orders.splice(queue.orders.indexOf(order), 1);
      this.size -= 1;
      this.#ledger.add({...order, atMs: this.#ledger.nowMs});
      for (const other of this.#ofAccount.get(queue.account) ?? []) if (this.#positions.has(other)) this.#add(other);
      this.#return(`domain ${order.domain}`); // another order for this host is not for a new one
      yield order;
    }
  }

  /** An order with this key has left a window. */
  noteExit(key: string): void {
    for (const queue of this.#ofAccount.get(key) ?? []) if (this.#positions.has(queue)) this.#add(queue);
    this.#return(key);
  }

  #next(): {readonly order: WaitingOrder; readonly queue: Queue} | undefined {
    return this.#nextOf(this.#renewals, true) ?? this.#nextOf(this.#newHosts, false);
  }

  #nextOf(heap: Heap<QueuePosition>, renewal: boolean) {
    const room = this.#ledger.free(renewal);
    for (let place = heap.first; place; place = heap.first) {
      const {queue, had, sinceMs} = place;
      const isCurrent = this.#positions.get(queue) === place;
      if (isCurrent && !hasRoom(had, room)) return undefined; // the others had as many, or more
      const found = isCurrent ? this.#ledger.nextReady(queue.orders) : undefined;
      // Not "equal": a request without a time has NaN, and the other orders must not wait for it.
      if (found?.order && !(found.order.sinceMs > sinceMs)) return {order: found.order, queue};
      heap.removeFirst();
      if (found?.order) this.#add(queue, found.order.sinceMs);
      else if (found) this.#setAside(queue, found.waitsFor);
    }
    return undefined;
  }

  #add(queue: Queue, sinceMs = queue.sinceMs): void {
    const place = {queue, had: this.#ledger.hadOf(queue.account), sinceMs};
    this.#positions.set(queue, place);
    (queue.renewal ? this.#renewals : this.#newHosts).add(place);
  }

  #setAside(queue: Queue, waitsFor: ReadonlySet<string>): void {
    this.#positions.delete(queue);
    for (const key of waitsFor) this.#aside.set(key, [...(this.#aside.get(key) ?? []), queue]);
  }

  #return(key: string): void {
    const queues = this.#aside.get(key) ?? [];
    this.#aside.delete(key);
    for (const queue of queues) if (!this.#positions.has(queue)) this.#add(queue);
  }
}
