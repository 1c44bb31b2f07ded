import {RateLimit} from '../fairness/rate-limit.ts';
import {networkOf} from './connections.ts';

interface StrangerLimits {
  /** Of all addresses together. */
  readonly requestsPerSecond: number;
  readonly addressRequestsPerSecond: number;
}

const BURST_MS = 5000;
/** Of bodies that are dropped, per address. */
const ADDRESS_BYTES_PER_SECOND = 4 << 20;
/** Not an address. */
const ALL = 'all';

/**
 * The limits on work for requests without a valid key: one per address (IPv6: per /64), and one for all. A request
 * with a valid key never counts here, so nobody can use up what an account needs. Behind a proxy, all addresses are the
 * proxy's, so strangers share its limit. Each method returns how many milliseconds to wait: 0 if it is allowed now.
 * `now` is monotonic, in milliseconds.
 */
export class Strangers {
  readonly #limits: StrangerLimits;
  readonly #requests = new RateLimit(BURST_MS);
  readonly #bytes = new RateLimit(BURST_MS);

  constructor(limits: StrangerLimits) {
    this.#limits = limits;
  }

  take(address: string, now: number): number {
    const {requestsPerSecond, addressRequestsPerSecond} = this.#limits;
    const own = [networkOf(address), 1000 / addressRequestsPerSecond] as const;
    return this.#requests.take([own, [ALL, 1000 / requestsPerSecond]], now);
  }

  /** To read and drop this many bytes of a body. */
  takeBytes(address: string, bytes: number, now: number): number {
    const ms = (1000 * bytes) / ADDRESS_BYTES_PER_SECOND;
    return this.#bytes.take(
      [
        [networkOf(address), ms],
        [ALL, ms / 2],
      ],
      now,
    );
  }
}
