/** The limits of an account, as responses. */
import type {Clock} from '../../base/clock.ts';
import type {Bound, Hold} from '../access/holdings.ts';
import type {AccountLimiter, Allowance} from '../access/limiter.ts';
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
    begin: (length = 0) => {
      const refused = overLimit(account, length, limits) ?? overBound(hold.grow(length));
      if (refused === undefined) sendContinue();
      return refused;
    },
    grow: (memory, work) =>
      refusal(limiter.takeBytes(account, work, clock.monotonic())) ?? overBound(hold.grow(memory)),
  };
}

/**
 * 429, with the fields of draft-ietf-httpapi-ratelimit-headers-10; undefined while the account is within its limits.
 */
export function overLimit(account: string, bytes: number, {limiter, clock}: Limits): Answer | undefined {
  return refusal(limiter.take(account, bytes, clock.monotonic()));
}

function refusal(allowance: Allowance): Answer | undefined {
  if (allowance.ok) return undefined;
  const {limit, perSecond, retryAfterMs} = allowance;
  const seconds = Math.ceil(retryAfterMs / 1000);
  const [verb, unit] = limit === 'answer bytes' ? ['receive', 'bytes of responses'] : ['send', limit];
  const detail = `The account may ${verb} ${perSecond} ${unit} per second. Retry after ${seconds} s.`;
  return problem(429, 'rate_limited', detail, {
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `"${limit.replace(' ', '-')}";q=${perSecond};w=1`,
      ratelimit: `"${limit.replace(' ', '-')}";r=0;t=${seconds}`,
    },
  });
}

/** In addition to the rates, limits what requests hold at the same time. */
export function overBound(bound: Bound | undefined): Answer | undefined {
  const headers = {'retry-after': '1'};
  switch (bound) {
    case undefined:
      return undefined;
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
