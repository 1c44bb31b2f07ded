/**
 * Which waiting orders may be placed, and when: a pure function of the orders placed so far, of those that wait, and of
 * the time. Windows slide, so the limits hold at every moment. https://letsencrypt.org/docs/rate-limits/
 */
import type {CertificatesConfig} from '../model/config.ts';
import type {PlannedOrder, Shortage} from '../state/order-schedule.ts';
import {SlidingWindow} from './sliding-window.ts';

export type Budgets = Pick<CertificatesConfig, 'orderBudget' | 'failureBudget'>;

/** What an order draws on. */
interface Draw {
  readonly host: string;
  readonly account: string;
  /** The registrable domain of the host. */
  readonly domain: string;
  /** It replaces a certificate that is due: it may use the reserve, and its host does not count as new. */
  readonly renewal: boolean;
}

export interface MadeOrder extends Draw {
  readonly atMs: number;
}

export interface WaitingOrder extends Draw {
  /** Unique among the waiting orders. */
  readonly key: string;
  readonly sinceMs: number;
}

/**
 * No tenant may have more than this many times what it leaves to others: a single one gets four fifths, and two get four
 * ninths each, so there is something left for the first host of the next one.
 */
const SHARE = 4;

/** When each waiting order may be placed, by its key: simulates the future with the rule that decides now. */
export function planOrders(
  made: readonly MadeOrder[],
  waiting: readonly WaitingOrder[],
  budgets: Budgets,
  nowMs: number,
): Map<string, PlannedOrder> {
  const ledger = new Ledger(made, budgets, nowMs);
  const queues = queuesOf(waiting, ledger);
  const beyond = queues.flatMap(queue => shorten(queue, ledger, budgets));
  const plan = new Map<string, PlannedOrder>();
  takeAll(queues, ledger, ({key}) => plan.set(key, {atMs: nowMs}));
  const shortages = new Map<string, Shortage>();
  const left = () => [...queues.flatMap(({orders}) => orders), ...beyond];
  for (const order of left()) shortages.set(order.key, ledger.shortageOf(order) ?? 'orders');
  const later = ({key}: WaitingOrder, atMs: number) => plan.set(key, {atMs, shortage: shortages.get(key) ?? 'orders'});
  const horizonMs = nowMs + budgets.orderBudget.windowSeconds * 1000;
  while (queues.some(({orders}) => orders.length > 0)) {
    const nextMs = ledger.nextChangeMs();
    if (nextMs >= horizonMs) break;
    ledger.goTo(nextMs);
    takeAll(queues, ledger, later);
  }
  for (const order of left()) later(order, Math.max(horizonMs, ledger.notBeforeMs(order)));
  return plan;
}

/** How many more orders are possible now; those for new hosts exclude what is reserved for renewals. */
export function ordersLeft(
  made: readonly MadeOrder[],
  budgets: Budgets,
  nowMs: number,
): {readonly renewal: number; readonly new: number} {
  const ledger = new Ledger(made, budgets, nowMs);
  return {renewal: Math.max(0, ledger.free(true)), new: Math.max(0, ledger.free(false))};
}

/** The orders of one account, either its renewals or its new hosts. */
interface Queue {
  readonly renewal: boolean;
  /** The key by which the account's orders are counted. */
  readonly account: string;
  /** When the order that has waited longest in this queue began to wait. */
  readonly sinceMs: number;
  orders: WaitingOrder[];
}

/**
 * One queue per account for renewals and one for new hosts, the longest-waiting first; within a queue, the domains take
 * turns, and the longest-waiting order goes first.
 */
function queuesOf(waiting: readonly WaitingOrder[], ledger: Ledger): Queue[] {
  const queues = new Map<string, Map<WaitingOrder, number>>();
  const places = new Map<string, number>();
  for (const order of waiting.toSorted((a, b) => a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1))) {
    const key = `${order.renewal} ${order.account}`;
    const queue = queues.get(key) ?? new Map();
    queues.set(key, queue);
    const place = places.get(`${key} ${order.domain}`) ?? ledger.hadOf(`domain ${order.domain}`);
    places.set(`${key} ${order.domain}`, place + 1);
    queue.set(order, place);
  }
  return [...queues.values()].flatMap(queue => {
    const orders = [...queue].sort(([, a], [, b]) => a - b).map(([order]) => order);
    const [oldest] = queue.keys();
    if (!oldest) return [];
    const {renewal, account, sinceMs} = oldest;
    return [{renewal, account: `account ${account}`, sinceMs, orders}];
  });
}

/**
 * Removes from a queue the orders that cannot be placed within the horizon. Keeps, in the order of the queue, as many
 * new hosts of each domain as its limit allows in that time, and as many orders of each host as it may have attempts.
 * Otherwise, a tenant with 10,000 hosts under one domain would make us read all of them whenever an order leaves a
 * window.
 */
function shorten(queue: Queue, ledger: Ledger, {orderBudget, failureBudget}: Budgets): WaitingOrder[] {
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
    if (!ledger.isNewHost(order) || ledger.hasTriedEnough(order)) return true;
    const hosts = newHostsOf.get(domain) ?? new Set();
    newHostsOf.set(domain, hosts);
    if (hosts.size < mostOfDomain) hosts.add(host);
    return hosts.has(host);
  };
  const {true: kept = [], false: beyond = []} = Object.groupBy(queue.orders, order => `${mayGo(order)}`);
  queue.orders = kept;
  return beyond;
}

function takeAll(queues: readonly Queue[], ledger: Ledger, take: (order: WaitingOrder, atMs: number) => void): void {
  for (let next = ledger.nextOf(queues); next; next = ledger.nextOf(queues)) {
    next.queue.orders.splice(next.queue.orders.indexOf(next.order), 1);
    ledger.add({...next.order, atMs: ledger.nowMs});
    take(next.order, ledger.nowMs);
  }
}

class Ledger {
  nowMs = Number.NEGATIVE_INFINITY;
  readonly #budget: Budgets['orderBudget'];
  readonly #ordersOfHost: number;
  readonly #orders: SlidingWindow;
  readonly #hosts: SlidingWindow;
  /** One entry for each new host, however often it tried. */
  readonly #newHosts: SlidingWindow;

  constructor(made: readonly MadeOrder[], {orderBudget, failureBudget}: Budgets, nowMs: number) {
    this.#budget = orderBudget;
    this.#ordersOfHost = failureBudget.failures;
    this.#orders = new SlidingWindow(orderBudget.windowSeconds * 1000);
    this.#hosts = new SlidingWindow(failureBudget.windowSeconds * 1000);
    this.#newHosts = new SlidingWindow(orderBudget.domainWindowSeconds * 1000);
    for (const order of made.toSorted((a, b) => a.atMs - b.atMs)) {
      this.goTo(order.atMs);
      this.add(order);
    }
    this.goTo(nowMs);
  }

  add({host, account, domain, renewal, atMs}: MadeOrder): void {
    this.#orders.add(atMs, ['all', `account ${account}`, `domain ${domain}`, ...(renewal ? ['renewals'] : [])]);
    this.#hosts.add(atMs, [`host ${host}`]);
    if (renewal || this.#newHosts.count(`host ${host}`) > 0) return;
    this.#newHosts.add(atMs, [`host ${host}`, `domain ${domain}`, `domain ${domain} account ${account}`]);
  }

  hadOf(key: string): number {
    return this.#orders.count(key);
  }

  goTo(ms: number): void {
    this.nowMs = ms;
    this.#orders.advance(ms);
    this.#hosts.advance(ms);
    this.#newHosts.advance(ms);
  }

  nextChangeMs(): number {
    return Math.min(this.#orders.nextExitMs(), this.#hosts.nextExitMs(), this.#newHosts.nextExitMs());
  }

  /** Renewals first, then the account with the fewest orders, then the order that has waited longest. */
  nextOf(queues: readonly Queue[]): {readonly order: WaitingOrder; readonly queue: Queue} | undefined {
    let best: {readonly order: WaitingOrder; readonly queue: Queue; readonly had: number} | undefined;
    const [free, freeOfRenewals] = [this.free(false), this.free(true)];
    for (const queue of queues) {
      const room = queue.renewal ? freeOfRenewals : free;
      if (room <= 0 || queue.orders.length === 0) continue;
      const had = this.#orders.count(queue.account);
      // Checked before reading the queue: of 10,000 accounts, the first one is often the one to go.
      const isBehind = (sinceMs: number) =>
        best !== undefined &&
        (Number(best.queue.renewal) - Number(queue.renewal) || had - best.had || sinceMs - best.order.sinceMs) >= 0;
      if (isBehind(queue.sinceMs) || !hasRoom(had, room)) continue;
      const order = this.#firstOf(queue);
      if (order && !isBehind(order.sinceMs)) best = {order, queue, had};
    }
    return best;
  }

  /** All orders of a queue belong to one account: if one new host of a domain finds no room, no other does. */
  #firstOf(queue: Queue): WaitingOrder | undefined {
    let full: Set<string> | undefined;
    return queue.orders.find(order => {
      if (full?.has(order.domain) && this.isNewHost(order)) return false;
      const shortage = this.shortageOf(order);
      if (shortage === 'domain') full = (full ?? new Set()).add(order.domain);
      return shortage === undefined;
    });
  }

  isNewHost({renewal, host}: WaitingOrder): boolean {
    return !renewal && this.#newHosts.count(`host ${host}`) === 0;
  }

  hasTriedEnough({host}: WaitingOrder): boolean {
    return this.#hosts.count(`host ${host}`) >= this.#ordersOfHost;
  }

  shortageOf(order: WaitingOrder): Shortage | undefined {
    const {account, domain} = order;
    if (this.hasTriedEnough(order)) return 'host';
    if (!this.#hasAccountRoom(order)) return 'orders';
    if (!this.isNewHost(order)) return undefined;
    const free = this.#budget.newHostsPerDomain - this.#newHosts.count(`domain ${domain}`);
    return hasRoom(this.#newHosts.count(`domain ${domain} account ${account}`), free) ? undefined : 'domain';
  }

  /** Beyond the horizon: the earliest possible time, as far as it is known without simulating further. */
  notBeforeMs(order: WaitingOrder): number {
    switch (this.shortageOf(order)) {
      case 'host':
        return this.#hosts.nextExitMs(`host ${order.host}`);
      case 'domain':
        return this.#newHosts.nextExitMs(`domain ${order.domain}`);
      default:
        return this.nowMs;
    }
  }

  #hasAccountRoom({account, renewal}: WaitingOrder): boolean {
    return hasRoom(this.#orders.count(`account ${account}`), this.free(renewal));
  }

  /** Renewals use their reserve first. Otherwise, a few that keep failing would leave nothing for new hosts. */
  free(renewal: boolean): number {
    const {orders, renewalReserve} = this.#budget;
    const reserved = renewal ? 0 : Math.max(0, renewalReserve - this.#orders.count('renewals'));
    return orders - reserved - this.#orders.count('all');
  }
}

/** An account that has had nothing yet may take the last one. */
function hasRoom(had: number, free: number): boolean {
  return had === 0 ? free > 0 : had < SHARE * (free - 1);
}
