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
  /** The same by registrable domain. */
  readonly #ofDomain: SlidingWindow;
  /** By host. */
  readonly #tries: SlidingWindow;
  /** One entry for each new host, no matter how often it tried. */
  readonly #newHosts: SlidingWindow;
  /** The same, keyed only by host: no key must be joined, and looking up 20,000 hosts takes half the time. */
  readonly #knownHosts: SlidingWindow;
  /** How long an order counts, except as a new host. */
  readonly #countingMs: number;

  constructor({orderBudget, failureBudget}: Budgets) {
    this.#budget = orderBudget;
    this.#ordersOfHost = failureBudget.failures;
    this.#orders = new SlidingWindow(orderBudget.windowSeconds * 1000);
    this.#ofDomain = new SlidingWindow(orderBudget.windowSeconds * 1000);
    this.#tries = new SlidingWindow(failureBudget.windowSeconds * 1000);
    this.#newHosts = new SlidingWindow(orderBudget.domainWindowSeconds * 1000);
    this.#knownHosts = new SlidingWindow(orderBudget.domainWindowSeconds * 1000);
    this.#countingMs = 1000 * Math.max(orderBudget.windowSeconds, failureBudget.windowSeconds);
  }

  /**
   * Adds the orders before `nowMs`, in short steps. An older one counts only for its registrable domain, so it matters
   * only if one of those in `domains` is the same: of a week's orders, few.
   */
  *addAll(made: readonly MadeOrder[], nowMs: number, domains: ReadonlySet<string>): Generator<void, void> {
    const countsSinceMs = nowMs - this.#countingMs;
    const matters = made.filter(({atMs, domain}) => atMs > countsSinceMs || domains.has(domain));
    for (const order of matters.sort((a, b) => a.atMs - b.atMs)) {
      this.#knownHosts.advance(order.atMs);
      if (order.atMs > countsSinceMs) this.#count(order);
      this.#addHost(order);
      yield;
    }
    this.goTo(nowMs);
  }

  add(order: MadeOrder): void {
    this.#count(order);
    this.#addHost(order);
  }

  #count({host, account, domain, renewal, atMs}: MadeOrder): void {
    this.#orders.add(atMs, ['all', `account ${account}`, ...(renewal ? ['renewals'] : [])]);
    this.#ofDomain.add(atMs, [domain]);
    this.#tries.add(atMs, [host]);
  }

  #addHost({host, account, domain, renewal, atMs}: MadeOrder): void {
    if (renewal || this.#knownHosts.count(host) > 0) return;
    this.#knownHosts.add(atMs, [host]);
    this.#newHosts.add(atMs, [`domain ${domain}`, `domain ${domain} account ${account}`]);
  }

  hadOf(key: string): number {
    return this.#orders.count(key);
  }

  hadOfDomain(domain: string): number {
    return this.#ofDomain.count(domain);
  }

  goTo(ms: number, onExit?: (key: string) => void): void {
    this.nowMs = ms;
    for (const window of [this.#orders, this.#newHosts]) window.advance(ms, onExit);
    this.#ofDomain.advance(ms, domain => onExit?.(`domain ${domain}`));
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

  /** `isRoom`: the same for all renewals of an account, and for all its new hosts. */
  shortageOf(order: WaitingOrder, isRoom = this.hasAccountRoom(order)): Shortage | undefined {
    const {account, domain} = order;
    if (this.hasTriedEnough(order)) return 'host';
    if (!isRoom) return 'orders';
    if (!this.isNewHost(order)) return undefined;
    const free = this.#budget.newHostsPerDomain - this.#newHosts.count(`domain ${domain}`);
    return hasRoom(this.#newHosts.count(`domain ${domain} account ${account}`), free) ? undefined : 'domain';
  }

  /** When the shortage of a host or a domain may end, as far as it is known without simulating further. */
  endMs({host, domain}: WaitingOrder, shortage: Shortage | undefined): number | undefined {
    if (shortage === 'host') return this.#tries.nextExitMs(host);
    return shortage === 'domain' ? this.#newHosts.nextExitMs(`domain ${domain}`) : undefined;
  }

  hasAccountRoom({account, renewal}: WaitingOrder): boolean {
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
