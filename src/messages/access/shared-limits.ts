/** Shares the rate limits of accounts among pods, so that several pods allow an account no more than one would. */
import type {Clock} from '../../time/clock.ts';
import type {RateUsages} from '../store/store.ts';
import type {AccountLimiter} from './limiter.ts';

interface ShareOptions {
  readonly limiter: AccountLimiter;
  /**
   * Adds what this pod has allowed to what the others have. Returns in how many milliseconds each bucket will be full
   * again, or undefined if that is not known now.
   */
  readonly exchange: (used: RateUsages) => Promise<RateUsages | undefined>;
  readonly clock: Clock;
}

/**
 * A pod does not know for this long what the others allow. If together they allow more than the burst in that time, the
 * account must wait longer afterwards, so the average rate is that of one pod.
 */
const INTERVAL_MS = 100;

/**
 * Runs until the signal is aborted. While the exchange fails, each pod applies the limits to its own requests, and
 * tells the others later: twice, if only the answer was lost.
 */
export async function shareLimits({limiter, exchange, clock}: ShareOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const used = limiter.unshared();
    const untilFull = used.size === 0 ? used : await exchange(used);
    const now = clock.monotonic();
    if (untilFull === undefined) limiter.keep(used);
    else for (const [account, each] of untilFull) limiter.share(account, each, now);
    await clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
  }
}
