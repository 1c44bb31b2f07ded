/**
 * Which waiting orders may be placed now: a pure function of the orders placed so far, of those that wait, of the CA's
 * limits, and of the time. Windows slide, so the limits hold at every moment.
 * https://letsencrypt.org/docs/rate-limits/
 */
import {counted} from '../../api/conditions.ts';
import type {ACMEIssuerSpec} from '../../api/generated/acmeissuer.ts';
import {registrableDomain} from '../../dns/dns.ts';
import {isFairShare} from '../../fairness/fair-queue.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {Heap} from '../../time/heap.ts';

/** With the defaults of the CRD. */
export type CaLimits = Required<Omit<NonNullable<ACMEIssuerSpec['limits']>, 'exemptRenewals'>>;

/** The budgets on which an order draws. */
interface Draw {
  readonly host: string;
  readonly account: string;
  /** The registrable domain of the host. */
  readonly domain: string;
  /** It replaces a certificate that is due: it may use the reserve, and its host does not count as new. */
  readonly renewal: boolean;
  /** The CA does not count it, because it names the certificate that it replaces. Only the host's own limit applies. */
  readonly exempt?: boolean;
  /** Its host has a certificate that is not due, for example from another issuer: new hosts go first. */
  readonly canWait?: boolean;
}

export interface PlacedOrder extends Draw {
  readonly atMs: number;
}

export interface WaitingOrder extends Draw {
  /** Unique among the waiting orders. */
  readonly key: string;
  readonly sinceMs: number;
}

/**
 * The budget that is used up: orders of the account at the CA, new hosts of the registrable domain, or orders of the
 * host.
 */
export type Shortage = 'orders' | 'domain' | 'host';

export interface PlannedOrder {
  /** An estimate, from the place in line: other orders come and go. */
  readonly atMs: number;
  /** Why it is not now. */
  readonly shortage: Shortage;
}

interface OrderDecision {
  readonly now: readonly WaitingOrder[];
  /** By key. */
  readonly later: ReadonlyMap<string, PlannedOrder>;
  readonly left: {readonly forNew: number; readonly forRenewals: number};
}

/**
 * A tenant's share is at most this many times what it leaves: one tenant alone gets four fifths, and two get four
 * ninths each, so there is something left for the first host of the next one.
 */
const SHARE = 4;
const STEP = 256;

/** Who goes first. */
const RANKS = ['renewal', 'new', 'canWait'] as const;
type Rank = (typeof RANKS)[number];
/** Of the orders for new hosts, this part is left to them by those that can wait. */
const LEFT_TO_NEW = 1 / 4;

/** The orders of one account and rank, the longest-waiting first. */
interface Line {
  readonly account: string;
  readonly orders: readonly WaitingOrder[];
  next: number;
  /** Orders of the account in the window, when the line was last put in the queue. */
  had: number;
}

/** In short steps, between which other work may run: tens of thousands of orders may wait. */
export function* decideOrders(
  placed: readonly PlacedOrder[],
  waiting: readonly WaitingOrder[],
  limits: CaLimits,
  nowMs: number,
): Generator<void, OrderDecision> {
  const counts = yield* countsOf(placed, limits, nowMs);
  const now: WaitingOrder[] = [];
  const later = new Map<string, PlannedOrder>();
  let steps = 0;
  const [exempt, counted] = partition(waiting);
  for (const order of exempt.sort(byAge)) {
    if (++steps % STEP === 0) yield;
    const shortage = counts.shortageOf(order);
    if (shortage !== undefined) later.set(order.key, counts.postponed(order, shortage));
    else {
      now.push(order);
      counts.add({...order, atMs: nowMs});
    }
  }
  for (const rank of RANKS) {
    const lines = new Heap<Line>(isBefore);
    for (const line of linesOf(counted, rank)) lines.add({...line, had: counts.ofAccount(line.account)});
    let [isFull, place] = [false, 0];
    for (let line = lines.removeFirst(); line; line = lines.removeFirst()) {
      const order = line.orders[line.next];
      if (!order) continue;
      if (++steps % STEP === 0) yield;
      // The others had as many orders, or more, so once one finds no room, none does.
      isFull ||= !hasRoom(counts.ofAccount(line.account), counts.free(rank));
      line.next += 1;
      const shortage = counts.shortageOf(order);
      if (shortage !== undefined) later.set(order.key, counts.postponed(order, shortage));
      else if (isFull) later.set(order.key, counts.inLine(place++, rank));
      else {
        now.push(order);
        counts.add({...order, atMs: nowMs});
      }
      lines.add({...line, had: line.had + Number(shortage === undefined)});
    }
  }
  return {now, later, left: counts.left()};
}

/** The orders that the account could place now, if nothing waited. */
export function* ordersLeft(placed: readonly PlacedOrder[], limits: CaLimits, nowMs: number) {
  return (yield* countsOf(placed, limits, nowMs)).left();
}

/** The account with the fewest orders goes first; of several, the one that has waited longest. */
function isBefore(a: Line, b: Line): boolean {
  return (a.had - b.had || byAge(a.orders[a.next], b.orders[b.next])) < 0;
}

function byAge(a: WaitingOrder | undefined, b: WaitingOrder | undefined): number {
  if (!a || !b) return Number(!a) - Number(!b);
  return a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1);
}

function partition(waiting: readonly WaitingOrder[]): readonly [WaitingOrder[], WaitingOrder[]] {
  const {exempt = [], counted = []} = Object.groupBy(waiting, ({exempt}) => (exempt ? 'exempt' : 'counted'));
  return [exempt, counted];
}

function linesOf(waiting: readonly WaitingOrder[], rank: Rank): Omit<Line, 'had'>[] {
  const byAccount = Map.groupBy(
    waiting.filter(order => rankOf(order) === rank),
    ({account}) => account,
  );
  return [...byAccount].map(([account, orders]) => ({account, orders: orders.sort(byAge), next: 0}));
}

function rankOf({renewal, canWait}: WaitingOrder): Rank {
  if (renewal) return 'renewal';
  return canWait ? 'canWait' : 'new';
}

function* countsOf(placed: readonly PlacedOrder[], limits: CaLimits, nowMs: number): Generator<void, Counts> {
  const counts = new Counts(limits, nowMs);
  const inOrder = [...placed].sort((a, b) => a.atMs - b.atMs);
  for (const [index, order] of inOrder.entries()) {
    counts.add(order);
    if (index % STEP === 0) yield;
  }
  return counts;
}

/** The orders in each window that ends now. */
class Counts {
  readonly #limits: CaLimits;
  readonly #nowMs: number;
  /** When each order was placed, oldest first: all, and by host, and the first of each new host by domain. */
  readonly #all: number[] = [];
  readonly #ofHost = new Map<string, number[]>();
  readonly #newOfDomain = new Map<string, number[]>();
  #renewals = 0;
  readonly #ofAccount = new Map<string, number>();
  readonly #newOfDomainAndAccount = new Map<string, number>();
  /** Ordered in the domain's window: its next order is not for a new host. */
  readonly #known = new Set<string>();
  /** How many orders of a domain were postponed so far. */
  readonly #postponed = new Map<string, number>();

  constructor(limits: CaLimits, nowMs: number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Times must not decrease from one call to the next. A recorded time may come from a clock that is ahead. */
  add({host, account, domain, renewal, exempt, atMs: recordedMs}: PlacedOrder): void {
    const {windowSeconds, hostWindowSeconds, domainWindowSeconds} = this.#limits;
    const atMs = Math.min(recordedMs, this.#nowMs);
    const isIn = (seconds: number) => atMs > this.#nowMs - seconds * 1000;
    if (isIn(windowSeconds) && !exempt) {
      this.#all.push(atMs);
      increase(this.#ofAccount, account);
      if (renewal) this.#renewals += 1;
    }
    if (isIn(hostWindowSeconds)) append(this.#ofHost, host, atMs);
    if (renewal || !isIn(domainWindowSeconds) || this.#known.has(host)) return;
    this.#known.add(host);
    append(this.#newOfDomain, domain, atMs);
    increase(this.#newOfDomainAndAccount, `${domain} ${account}`);
  }

  ofAccount(account: string): number {
    return this.#ofAccount.get(account) ?? 0;
  }

  /** Renewals use their reserve first. Otherwise, a few that keep failing would leave nothing for new hosts. */
  free(rank: Rank): number {
    const {orders, renewalReserve} = this.#limits;
    const reserved = rank === 'renewal' ? 0 : Math.max(0, renewalReserve - this.#renewals);
    return orders - reserved - this.#leftToNew(rank) - this.#all.length;
  }

  #leftToNew(rank: Rank): number {
    const {orders, renewalReserve} = this.#limits;
    return rank === 'canWait' ? Math.floor((orders - renewalReserve) * LEFT_TO_NEW) : 0;
  }

  left(): OrderDecision['left'] {
    return {forNew: Math.max(0, this.free('new')), forRenewals: Math.max(0, this.free('renewal'))};
  }

  /** Apart from the limit of the account at the CA. */
  shortageOf({host, domain, account, renewal}: Draw): Shortage | undefined {
    const {ordersPerHost, newHostsPerDomain} = this.#limits;
    if ((this.#ofHost.get(host)?.length ?? 0) >= ordersPerHost) return 'host';
    if (renewal || this.#known.has(host)) return undefined;
    const free = newHostsPerDomain - (this.#newOfDomain.get(domain)?.length ?? 0);
    const had = this.#newOfDomainAndAccount.get(`${domain} ${account}`) ?? 0;
    return hasRoom(had, free) ? undefined : 'domain';
  }

  postponed({host, domain}: WaitingOrder, shortage: Shortage): PlannedOrder {
    const {ordersPerHost, hostWindowSeconds, domainWindowSeconds} = this.#limits;
    if (shortage === 'host') {
      const times = this.#ofHost.get(host) ?? [];
      return {shortage, atMs: this.#exit(times, times.length - ordersPerHost, ordersPerHost, hostWindowSeconds)};
    }
    const place = this.#postponed.get(domain) ?? 0;
    this.#postponed.set(domain, place + 1);
    const times = this.#newOfDomain.get(domain) ?? [];
    return {shortage, atMs: this.#exit(times, place, this.#limits.newHostsPerDomain, domainWindowSeconds)};
  }

  inLine(place: number, rank: Rank): PlannedOrder {
    const {orders, renewalReserve, windowSeconds} = this.#limits;
    const limit = rank === 'canWait' ? orders - renewalReserve - this.#leftToNew(rank) : orders;
    return {shortage: 'orders', atMs: this.#exit(this.#all, place, limit, windowSeconds)};
  }

  /** When the order at this place leaves the window. If there are fewer, whole windows pass before. */
  #exit(times: readonly number[], place: number, limit: number, seconds: number): number {
    const windows = Math.floor(Math.max(place, 0) / limit);
    return (times[Math.max(place, 0) % limit] ?? this.#nowMs) + (windows + 1) * seconds * 1000;
  }
}

/** An account that has had nothing yet may take the last one. */
function hasRoom(had: number, free: number): boolean {
  return had === 0 ? free > 0 : isFairShare(had + 1, free - 1, SHARE);
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function append(times: Map<string, number[]>, key: string, atMs: number): void {
  const known = times.get(key);
  if (known) known.push(atMs);
  else times.set(key, [atMs]);
}

/** The API server fills in the defaults of the CRD. */
export function limitsOf({limits}: DeepReadonly<ACMEIssuerSpec>): CaLimits {
  return limits as CaLimits;
}

/** The limit that a host waits for, as a clause that follows a colon. */
export function explainShortage(shortage: Shortage, host: string, limits: CaLimits): string {
  const {orders, windowSeconds, newHostsPerDomain, domainWindowSeconds, ordersPerHost, hostWindowSeconds} = limits;
  switch (shortage) {
    case 'orders':
      return `the platform's limit at the certificate authority is ${counted(orders, 'order')} in ${spoken(windowSeconds)}, shared by all tenants.`;
    case 'domain':
      return `the limit for ${registrableDomain(host) ?? host} is ${counted(newHostsPerDomain, 'new host')} in ${spoken(domainWindowSeconds)}, across all accounts.`;
    case 'host':
      return `the limit for one host is ${counted(ordersPerHost, 'order')} in ${spoken(hostWindowSeconds)}.`;
  }
}

const UNITS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const;

function spoken(seconds: number): string {
  const unit = UNITS.find(([length]) => seconds >= 2 * length && seconds % length === 0);
  return unit ? counted(seconds / unit[0], unit[1]) : counted(seconds, 'second');
}
