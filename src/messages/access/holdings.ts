/** What requests in progress hold, and how they wait for it: limited in total and per account. */

import {isFairShare} from '../../fairness/fair-queue.ts';
import type {Clock} from '../../time/clock.ts';

export interface HoldLimits {
  /** Limit for all accounts together. */
  readonly totalBytes: number;
  readonly totalRequests: number;
  /** Limit for each account. */
  readonly accountBytes: number;
  readonly accountRequests: number;
}

/** Whose limit was reached. */
export type Bound = 'account' | 'total';

/** The cost of an account's turn. */
interface Taken {
  /** How long it has kept the event loop busy. */
  readonly busyMs: number;
  /** How long the bytes take at the account's full average rate. */
  readonly rateMs: number;
}

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

interface Account {
  readonly name: string;
  requests: number;
  bytes: number;
  /** First in, first out. */
  readonly waitingForRoom: Set<Waiter>;
  readonly waitingForTurn: Set<Waiter>;
  /** One of its requests has the turn, or the account pauses after it. */
  isBusy: boolean;
}

/** Accounts without requests are dropped once there are more of them than of the others, and more than this. */
const IDLE_ACCOUNTS = 1024;
/**
 * The longest that a request waits: longer than the default time limits for a body to arrive and for a response to be
 * read, after which there is room.
 */
const WAIT_MS = 60_000;
/** Why a wait is over; Node would create an exception for each. */
const OVER = 'over';
/** An account pauses this many times as long as its last turn kept the event loop busy. */
const PAUSE_FACTOR = 4;
/** An account with more work waiting gets its average rate divided by this, in each process. */
const RATE_FACTOR = 2;

/** A request has waited for too long, or its client has left. */
export class WaitError extends Error {
  override readonly name = 'WaitError';
  /** What it has waited for; undefined if its client has left. */
  readonly bound: Bound | undefined;

  constructor(bound: Bound | undefined) {
    super('The request has waited for too long, or its client has left.');
    this.bound = bound;
  }
}

export class Holdings {
  readonly #limits: HoldLimits;
  readonly #clock: Pick<Clock, 'sleep'>;
  /**
   * Includes accounts that hold nothing now, because a Map that changed with every request would keep the requests; see
   * app.ts.
   */
  readonly #accounts = new Map<string, Account>();
  #busyAccounts = 0;
  /** Accounts with requests that wait for room, in the order in which they are served. */
  readonly #queue = new Set<Account>();
  #bytes = 0;
  #requests = 0;

  constructor(limits: HoldLimits, clock: Pick<Clock, 'sleep'>) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Bytes that all accounts hold now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of accounts that hold anything now. */
  get accounts(): number {
    return this.#busyAccounts;
  }

  /** Begins one more request, or returns the limit that prevents it. */
  enter(name: string): Hold | Bound {
    const {accountRequests, totalRequests} = this.#limits;
    const known = this.#accounts.get(name);
    const had = known?.requests ?? 0;
    const fits = had < accountRequests && isFairShare(had + 1, totalRequests - this.#requests - 1);
    if (!fits) return had > 0 ? 'account' : 'total';
    const account = known ?? this.#add(name);
    if (account.requests === 0) this.#busyAccounts += 1;
    account.requests += 1;
    this.#requests += 1;
    return new Hold(this, account, this.#clock);
  }

  /** An account that holds something can itself make room, so the limit is reported as its own. */
  boundOf({bytes: held}: Account, bytes: number): Bound | undefined {
    const {accountBytes, totalBytes} = this.#limits;
    const fits = held + bytes <= accountBytes && isFairShare(held + bytes, totalBytes - this.#bytes - bytes);
    if (fits) return undefined;
    return held > 0 || bytes > accountBytes ? 'account' : 'total';
  }

  /** Negative bytes are given back. */
  take(account: Account, bytes: number): void {
    account.bytes += bytes;
    this.#bytes += bytes;
    if (bytes < 0) this.grant();
  }

  /** A request of the account waits for room. */
  enqueue(account: Account): void {
    this.#queue.add(account);
  }

  leave(account: Account): void {
    account.requests -= 1;
    this.#requests -= 1;
    if (account.requests === 0) this.#busyAccounts -= 1;
  }

  /** Call this when one that waited for room has given up, too: it may have kept smaller requests waiting. */
  grant(): void {
    for (const account of this.#queue) {
      const {waitingForRoom: line} = account;
      const [waiter] = line;
      const bound = waiter && this.boundOf(account, waiter.bytes);
      if (bound === 'total') return; // No overtaking, or a large response could wait forever.
      if (bound === 'account') continue;
      this.#queue.delete(account);
      if (waiter) line.delete(waiter);
      if (line.size > 0) this.#queue.add(account); // Back to the end of the queue.
      waiter?.begin();
    }
  }

  #add(name: string): Account {
    const idle = this.#accounts.size - this.#busyAccounts;
    if (idle > Math.max(IDLE_ACCOUNTS, this.#busyAccounts)) {
      for (const {name, requests} of this.#accounts.values()) if (requests === 0) this.#accounts.delete(name);
    }
    const waiting = {waitingForRoom: new Set<Waiter>(), waitingForTurn: new Set<Waiter>()};
    const account = {name, requests: 0, bytes: 0, ...waiting, isBusy: false};
    this.#accounts.set(name, account);
    return account;
  }
}

/**
 * One request's share, and how it waits for more. An unsuccessful wait rejects with a WaitError. Release every hold
 * exactly once, when its response was sent or its client is gone.
 */
export class Hold {
  readonly #holdings: Holdings;
  readonly #account: Account;
  readonly #clock: Pick<Clock, 'sleep'>;
  #bytes = 0;
  #patience: AbortController | undefined;
  #hasTurn = false;
  #hasLeft = false;

  constructor(holdings: Holdings, account: Account, clock: Pick<Clock, 'sleep'>) {
    this.#holdings = holdings;
    this.#account = account;
    this.#clock = clock;
  }

  /** Takes this many more bytes, or takes nothing and returns the limit that prevents it. */
  grow(bytes: number): Bound | undefined {
    const bound = this.#holdings.boundOf(this.#account, bytes);
    if (bound === undefined) this.#take(bytes);
    return bound;
  }

  /** Changes the hold to this many bytes. */
  keep(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more !== 0) this.#take(more);
  }

  /**
   * Waits for room for a response of at most this many bytes, no more than an account may hold. Accounts are served in
   * turn. The body has been read, so the request no longer holds it; otherwise, waiting holds could deadlock.
   */
  async room(bytes: number): Promise<void> {
    this.keep(0);
    const {waitingForRoom: line} = this.#account;
    if (line.size === 0 && this.grow(bytes) === undefined) return;
    this.#holdings.enqueue(this.#account);
    await this.#wait(line, bytes, () => this.#take(bytes));
  }

  /**
   * Waits for the account's turn at work that keeps the event loop busy, which ends with `end`. An account has one turn
   * at a time, and pauses after it if it has more work waiting, so that it never takes more than a part of the loop. It
   * also takes no more than half of its average rate then, because most of the cost of a long response comes later:
   * garbage, and copies in the kernel. An account without more work does not pause: its next turn comes only after it
   * has received a response.
   */
  async turn(): Promise<void> {
    if (this.#hasTurn) return;
    const account = this.#account;
    if (account.isBusy) await this.#wait(account.waitingForTurn, 0);
    account.isBusy = true;
    this.#hasTurn = true;
  }

  /** From now on, the request waits for at most this long. */
  limit(ms: number): void {
    const patience = this.#patienceOf();
    this.#clock.sleep(ms, patience.signal).then(
      () => patience.abort(OVER),
      () => undefined,
    );
  }

  /** The client has left. */
  abandon(): void {
    this.#hasLeft = true;
    this.#patience?.abort(OVER);
  }

  /** The response was sent, or there is none. `taken`: the cost of a long one; without it, the account does not pause. */
  end(taken: Taken = {busyMs: 0, rateMs: 0}): void {
    this.#patience?.abort(OVER);
    if (this.#hasTurn) void this.#endTurn(taken);
  }

  release(): void {
    this.#holdings.leave(this.#account);
    this.keep(0);
  }

  async #endTurn({busyMs, rateMs}: Taken): Promise<void> {
    const {waitingForTurn: line} = this.#account;
    const pauseMs = Math.max(PAUSE_FACTOR * busyMs, RATE_FACTOR * rateMs);
    if (line.size > 0 && pauseMs > 0) await this.#clock.sleep(pauseMs);
    const [next] = line;
    if (next === undefined) this.#account.isBusy = false;
    else {
      line.delete(next);
      next.begin();
    }
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#holdings.take(this.#account, bytes);
  }

  #wait(line: Set<Waiter>, bytes: number, onBegin = () => {}): Promise<void> {
    const {signal} = this.#patienceOf();
    return new Promise((resolve, reject) => {
      const begin = () => {
        onBegin();
        resolve();
      };
      const waiter = {bytes, begin};
      const giveUp = () => {
        if (!line.delete(waiter)) return; // It has begun.
        const bound = this.#holdings.boundOf(this.#account, bytes) ?? 'account';
        reject(new WaitError(this.#hasLeft ? undefined : bound));
        this.#holdings.grant();
      };
      line.add(waiter);
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp);
    });
  }

  #patienceOf(): AbortController {
    if (this.#patience === undefined) {
      this.#patience = new AbortController();
      if (this.#hasLeft) this.#patience.abort(OVER);
      this.limit(WAIT_MS);
    }
    return this.#patience;
  }
}
