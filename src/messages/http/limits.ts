/** The limits of an account, as responses. */
import type {Clock} from '../../time/clock.ts';
import type {Bound, Hold} from '../access/holdings.ts';
import type {AccountLimiter, Allowance} from '../access/limiter.ts';
import type {Pacer, Taken} from '../access/pacer.ts';
import {type Answer, problem} from './answer.ts';
import type {Admission} from './body.ts';

export interface Limits {
  readonly limiter: AccountLimiter;
  readonly clock: Clock;
}

/** Checks both limits before the body is read, because a check after the work would protect nothing. */
export function admission(account: string, hold: Hold, limits: Limits, sendContinue: () => void): Admission {
  const {limiter, clock} = limits;
  return {
    begin: (length, limitBytes) => {
      const refused =
        refusal(limiter.takeBytes(account, length ?? 0, clock.monotonic())) ??
        overBound(hold.grow(length ?? limitBytes));
      if (refused === undefined) sendContinue();
      return refused;
    },
    worked: bytes => limiter.spend(account, 'bytes', bytes, clock.monotonic()),
  };
}

/**
 * A request that an account begins: 429, with the fields of draft-ietf-httpapi-ratelimit-headers-10; undefined while the
 * account is within its limits.
 */
export function overLimit(account: string, {limiter, clock}: Limits): Answer | undefined {
  return refusal(limiter.take(account, clock.monotonic()));
}

/** A request without a valid key. */
export function strangerOverLimit(allowance: Allowance): Answer | undefined {
  if (allowance.ok) return undefined;
  const seconds = Math.ceil(allowance.retryAfterMs / 1000);
  const detail = `Too many requests without a valid key. Send a valid key, or retry after ${seconds} s.`;
  return {...problem(429, 'rate_limited', detail, {headers: {'retry-after': String(seconds)}}), isHeldBack: true};
}

function refusal(allowance: Allowance): Answer | undefined {
  if (allowance.ok) return undefined;
  const {limit, perSecond, retryAfterMs} = allowance;
  const seconds = Math.ceil(retryAfterMs / 1000);
  const [verb, unit] = limit === 'answers' ? ['receive', 'bytes of responses'] : ['send', limit];
  const detail = `The account may ${verb} ${perSecond} ${unit} per second. Retry after ${seconds} s.`;
  const policy = limit === 'answers' ? 'answer-bytes' : limit;
  const headers = {
    'retry-after': String(seconds),
    'ratelimit-policy': `"${policy}";q=${perSecond};w=1`,
    ratelimit: `"${policy}";r=0;t=${seconds}`,
  };
  return {...problem(429, 'rate_limited', detail, {headers}), isHeldBack: true};
}

/** In addition to the rates, limits what requests hold at the same time. */
function overBound(bound: Bound | undefined): Answer | undefined {
  return bound && boundAnswer(bound);
}

export function boundAnswer(bound: Bound): Answer {
  const headers = {'retry-after': '1'};
  switch (bound) {
    case 'account':
      return problem(
        429,
        'concurrency_limited',
        'The account has reached its limit of concurrent requests, or of the bytes that their bodies and responses hold. Wait for earlier requests and read their responses, then retry.',
        {headers},
      );
    case 'total':
      return problem(
        503,
        'store_busy',
        'Requests in progress already use all the memory reserved for them. Retry after 1 s.',
        {
          headers,
        },
      );
  }
}

/**
 * Longer than the default time limits for bodies to arrive and for responses to be read, which make room in the end.
 */
const WAIT_MS = 60_000;

/** Why a wait is over; Node would create an exception for each. */
const OVER = 'over';

/** A request has waited for too long. `answer` is undefined if its client has left. */
export class WaitError extends Error {
  override readonly name = 'WaitError';
  readonly answer: Answer | undefined;

  constructor(answer: Answer | undefined) {
    super('The request has waited for too long, or its client has left.');
    this.answer = answer;
  }
}

/** How a request waits for others. An unsuccessful wait rejects with a WaitError. */
export class Waits {
  readonly #account: string;
  readonly #hold: Hold;
  readonly #pacer: Pacer;
  readonly #clock: Clock;
  #patience: AbortController | undefined;
  #hasTurn = false;
  #hasLeft = false;

  constructor(account: string, hold: Hold, pacer: Pacer, clock: Clock) {
    this.#account = account;
    this.#hold = hold;
    this.#pacer = pacer;
    this.#clock = clock;
  }

  /**
   * Waits for room for a response of at most this many bytes. The body has been read, so the request no longer holds
   * it.
   */
  async room(bytes: number): Promise<void> {
    this.#hold.keep(0);
    const bound = await this.#hold.room(bytes, this.#patienceOf);
    if (bound !== undefined) throw new WaitError(this.#hasLeft ? undefined : overBound(bound));
  }

  /** Waits for the account's turn at a long response (see Pacer), which ends with `end`. */
  async turn(): Promise<void> {
    this.#hasTurn ||= await this.#pacer.begin(this.#account, this.#patienceOf);
    if (!this.#hasTurn) throw new WaitError(this.#hasLeft ? undefined : overBound('account'));
  }

  /** From now on, the request waits for at most this long. */
  limit(ms: number): void {
    const signal = this.#patienceOf();
    this.#clock.sleep(ms, signal).then(
      () => this.#patience?.abort(OVER),
      () => undefined,
    );
  }

  /** The client has left. */
  leave(): void {
    this.#hasLeft = true;
    this.#patience?.abort(OVER);
  }

  /** The response was sent. `taken`: what a long one took. */
  end(taken?: Taken): void {
    this.#patience?.abort(OVER);
    if (this.#hasTurn) void this.#pacer.end(this.#account, taken);
  }

  readonly #patienceOf = (): AbortSignal => {
    if (this.#patience === undefined) {
      const patience = new AbortController();
      this.#patience = patience;
      if (this.#hasLeft) patience.abort(OVER);
      const tooLong = this.#clock.sleep(WAIT_MS, patience.signal);
      tooLong.then(() => patience.abort(OVER)).catch(() => undefined);
    }
    return this.#patience.signal;
  };
}
