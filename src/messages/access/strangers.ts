import {networkOf} from '../../operations/connections.ts';
import {AccountLimiter, type Allowance} from './limiter.ts';

interface StrangerLimits {
  /** Of all addresses together. */
  readonly requestsPerSecond: number;
  readonly addressRequestsPerSecond: number;
}

const BURST_SECONDS = 5;
/** Of bodies that are dropped, per address. */
const ADDRESS_BYTES_PER_SECOND = 4 << 20;
/** Not an address. */
const ALL = 'all';

/**
 * The limits on work for requests without a valid key: one per address (IPv6: per /64), and one for all. A request
 * with a valid key never counts here, so nobody can use up what an account needs. Behind a proxy, all addresses are the
 * proxy's, so strangers share its limit.
 */
export class Strangers {
  readonly #addresses: AccountLimiter;
  readonly #total: AccountLimiter;

  constructor({requestsPerSecond, addressRequestsPerSecond}: StrangerLimits) {
    const limiter = (requests: number, bytesPerSecond: number) =>
      new AccountLimiter({
        requestsPerSecond: requests,
        bytesPerSecond,
        answerBytesPerSecond: 1,
        burstSeconds: BURST_SECONDS,
      });
    this.#addresses = limiter(addressRequestsPerSecond, ADDRESS_BYTES_PER_SECOND);
    this.#total = limiter(requestsPerSecond, 2 * ADDRESS_BYTES_PER_SECOND);
  }

  /** `now` is monotonic, in milliseconds. */
  take(address: string, now: number): Allowance {
    const own = this.#addresses.take(networkOf(address), now);
    return own.ok ? this.#total.take(ALL, now) : own;
  }

  /** Whether this many bytes of a body may be read and dropped. */
  takeBytes(address: string, bytes: number, now: number): boolean {
    return this.#addresses.takeBytes(networkOf(address), bytes, now).ok && this.#total.takeBytes(ALL, bytes, now).ok;
  }
}
