/** The orders placed so far, in their sliding windows, and what they leave for others. */
import type {CertificatesConfig} from '../model/config.ts';
import type {Shortage} from '../state/order-schedule.ts';
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
 * A tenant's share is at most this many times what it leaves: one tenant alone gets four fifths, and two get four
 * ninths each, so there is something left for the first host of the next one.
 */
const SHARE = 4;

export class Ledger {
  nowMs = Number.NEGATIVE_INFINITY;
  readonly #budget: Budgets['orderBudget'];
  readonly #ordersOfHost: number;
  readonly #orders: SlidingWindow;
  /** By host. */
  readonly #tries: SlidingWindow;
  /** One entry for each new host, no matter how often it tried. */
  readonly #newHosts: SlidingWindow;
  /** The same, keyed only by host: no key must be joined, and looking up 20,000 hosts takes half the time. */
  readonly #knownHosts: SlidingWindow;

  constructor(made: readonly MadeOrder[], {orderBudget, failureBudget}: Budgets, nowMs: number) {
    this.#budget = orderBudget;
    this.#ordersOfHost = failureBudget.failures;
    this.#orders = new SlidingWindow(orderBudget.windowSeconds * 1000);
    this.#tries = new SlidingWindow(failureBudget.windowSeconds * 1000);
    this.#newHosts = new SlidingWindow(orderBudget.domainWindowSeconds * 1000);
    this.#knownHosts = new SlidingWindow(orderBudget.domainWindowSeconds * 1000);
    for (const order of made.toSorted((a, b) => a.atMs - b.atMs)) {
      this.goTo(order.atMs);
      this.add(order);
    }
    this.goTo(nowMs);
  }

  add({host, account, domain, renewal, atMs}: MadeOrder): void {
    this.#orders.add(atMs, ['all', `account ${account}`, `domain ${domain}`, ...(renewal ? ['renewals'] : [])]);
    this.#tries.add(atMs, [host]);
    if (renewal || this.#knownHosts.count(host) > 0) return;
    this.#knownHosts.add(atMs, [host]);
    this.#newHosts.add(atMs, [`domain ${domain}`, `domain ${domain} account ${account}`]);
  }

  hadOf(key: string): number {
    return this.#orders.count(key);
  }

  goTo(ms: number, onExit?: (key: string) => void): void {
    this.nowMs = ms;
    for (const window of [this.#orders, this.#newHosts]) window.advance(ms, onExit);
    for (const window of [this.#tries, this.#knownHosts]) window.advance(ms, host => onExit?.(`host ${host}`));
  }

  nextChangeMs(): number {
    return Math.min(this.#orders.nextExitMs(), this.#tries.nextExitMs(), this.#newHosts.nextExitMs());
  }

  /**
   * The first of these orders that may be placed, or what all of them wait for. All of them belong to one account: if
   * one new host of a domain finds no room, no other does.
   */
  nextReady(orders: readonly WaitingOrder[]): {readonly order?: WaitingOrder; readonly waitsFor: ReadonlySet<string>} {
    const waitsFor = new Set<string>();
    const order = orders.find(candidate => {
      const domain = `domain ${candidate.domain}`;
      if (waitsFor.has(domain) && this.isNewHost(candidate)) return false;
      const shortage = this.shortageOf(candidate);
      if (shortage !== undefined) waitsFor.add(shortage === 'host' ? `host ${candidate.host}` : domain);
      return shortage === undefined;
    });
    return {...(order && {order}), waitsFor};
  }

  isNewHost({renewal, host}: WaitingOrder): boolean {
    return !renewal && this.#knownHosts.count(host) === 0;
  }

  hasTriedEnough({host}: WaitingOrder): boolean {
    return this.#tries.count(host) >= this.#ordersOfHost;
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
        return this.#tries.nextExitMs(order.host);
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
export function hasRoom(had: number, free: number): boolean {
  return had === 0 ? free > 0 : had < SHARE * (free - 1);
}
