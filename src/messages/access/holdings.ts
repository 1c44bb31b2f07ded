/** The resources that requests in progress hold: limited in total and per account. */
import {isFairShare} from '../../fairness/fair-queue.ts';

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

interface Waiter {
  readonly bytes: number;
  readonly grant: () => void;
}

interface Account {
  readonly name: string;
  requests: number;
  bytes: number;
  readonly waiting: Waiter[];
}

/** One request's share. Release every hold exactly once, when its response was sent or its client is gone. */
export interface Hold {
  /** Takes this many more bytes, or takes nothing and returns the limit that prevents it. */
  grow(bytes: number): Bound | undefined;
  /**
   * Takes this many bytes as soon as there is room. Accounts are served in turn. The hold must be empty, and the
   * bytes at most what an account may hold; otherwise, waiting holds could deadlock. If the signal is aborted first,
   * takes nothing and returns the limit that prevented it.
   */
  room(bytes: number, patience: () => AbortSignal): Promise<Bound | undefined>;
  /** Changes the hold to this many bytes. */
  keep(bytes: number): void;
  release(): void;
}

/** Accounts without requests are dropped once there are more of them than of the others, and more than this. */
const IDLE_ACCOUNTS = 1024;

export class Holdings {
  readonly #limits: HoldLimits;
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

  constructor(limits: HoldLimits) {
    this.#limits = limits;
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
    return new Held(this, account);
  }

  /** An account that holds something can itself make room, so the limit is reported as its own. */
  boundOf({bytes: held}: Account, bytes: number): Bound | undefined {
    const {accountBytes, totalBytes} = this.#limits;
    const fits = held + bytes <= accountBytes && isFairShare(held + bytes, totalBytes - this.#bytes - bytes);
    if (fits) return undefined;
    return held > 0 || bytes > accountBytes ? 'account' : 'total';
  }

  take(account: Account, bytes: number): void {
    account.bytes += bytes;
    this.#bytes += bytes;
  }

  wait(account: Account, waiter: Waiter): void {
    account.waiting.push(waiter);
    this.#queue.add(account);
  }

  /** Ends a wait. If it was unsuccessful, returns the limit that prevented it. */
  giveUp(account: Account, waiter: Waiter): Bound | undefined {
    const place = account.waiting.indexOf(waiter);
    if (place === -1) return undefined;
    account.waiting.splice(place, 1);
    const bound = this.boundOf(account, waiter.bytes) ?? 'account';
    if (account.waiting.length === 0) this.#queue.delete(account);
    this.#grant(); // It may have kept smaller requests waiting.
    return bound;
  }

  giveBack(account: Account, bytes: number): void {
    this.take(account, -bytes);
    if (this.#queue.size > 0) this.#grant();
  }

  leave(account: Account): void {
    account.requests -= 1;
    this.#requests -= 1;
    if (account.requests === 0) this.#busyAccounts -= 1;
  }

  #add(name: string): Account {
    const idle = this.#accounts.size - this.#busyAccounts;
    if (idle > Math.max(IDLE_ACCOUNTS, this.#busyAccounts)) {
      for (const {name, requests} of this.#accounts.values()) if (requests === 0) this.#accounts.delete(name);
    }
    const account = {name, requests: 0, bytes: 0, waiting: []};
    this.#accounts.set(name, account);
    return account;
  }

  #grant(): void {
    for (const account of this.#queue) {
      const [waiter] = account.waiting;
      const bound = waiter && this.boundOf(account, waiter.bytes);
      if (bound === 'total') return; // No overtaking, or a large response could wait forever.
      if (bound === 'account') continue;
      account.waiting.shift();
      this.#queue.delete(account);
      if (account.waiting.length > 0) this.#queue.add(account); // Back to the end of the queue.
      waiter?.grant();
    }
  }
}

class Held implements Hold {
  readonly #holdings: Holdings;
  readonly #account: Account;
  #bytes = 0;

  constructor(holdings: Holdings, account: Account) {
    this.#holdings = holdings;
    this.#account = account;
  }

  grow(bytes: number): Bound | undefined {
    const bound = this.#holdings.boundOf(this.#account, bytes);
    if (bound === undefined) this.#take(bytes);
    return bound;
  }

  room(bytes: number, patience: () => AbortSignal): Promise<Bound | undefined> {
    if (this.#account.waiting.length === 0 && this.grow(bytes) === undefined) return Promise.resolve(undefined);
    return new Promise(resolve => {
      const grant = () => {
        this.#take(bytes);
        resolve(undefined);
      };
      const waiter = {bytes, grant};
      const giveUp = () => resolve(this.#holdings.giveUp(this.#account, waiter));
      this.#holdings.wait(this.#account, waiter);
      const signal = patience();
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp);
    });
  }

  keep(bytes: number): void {
    const surplus = this.#bytes - bytes;
    if (surplus === 0) return;
    this.#bytes = bytes;
    this.#holdings.giveBack(this.#account, surplus);
  }

  release(): void {
    this.#holdings.leave(this.#account);
    this.#holdings.giveBack(this.#account, this.#bytes);
    this.#bytes = 0;
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#holdings.take(this.#account, bytes);
  }
}
