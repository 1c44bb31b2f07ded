/** Responses to requests that are refused whatever their operation: because of the key, a limit, or the store. */
import type {Refusal, Scope} from '../../apikey/authenticator.ts';
import type {Bound} from '../access/holdings.ts';
import type {Excess} from '../access/limiter.ts';
import type {StoreRefusal} from '../store/store.ts';
import {type Answer, type ProblemCode, problem} from './answer.ts';

/** RFC 6750, section 3. `refusal`: that of the key, if there is one. */
export function unauthorized(refusal: Refusal | undefined): Answer {
  if (refusal === undefined) {
    const detail = 'Send an API key in the header: Authorization: Bearer <API_KEY>.';
    return problem(401, 'unauthorized', detail, {headers: {'www-authenticate': 'Bearer'}});
  }
  if (refusal.refused === 'unavailable') {
    return retryable(503, 'unavailable', refusal.detail ?? 'Keys cannot be checked at the moment. Retry later.', 5);
  }
  return problem(401, 'unauthorized', refusal.detail ?? 'The key is not valid.', {
    headers: {'www-authenticate': 'Bearer error="invalid_token"'},
  });
}

export function outOfScope(scope: Scope): Answer {
  return problem(403, 'insufficient_scope', `The key does not have the scope ${scope}.`, {
    headers: {'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`},
  });
}

/** With the fields of draft-ietf-httpapi-ratelimit-headers-10. */
export function overLimit({limit, perSecond, retryAfterMs}: Excess): Answer {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const [verb, unit] = limit === 'answers' ? ['receive', 'bytes of responses'] : ['send', limit];
  const detail = `The account may ${verb} ${perSecond} ${unit} per second. Retry after ${seconds} s.`;
  const policy = limit === 'answers' ? 'answer-bytes' : limit;
  return {
    ...retryable(429, 'rate_limited', detail, seconds, {
      'ratelimit-policy': `"${policy}";q=${perSecond};w=1`,
      ratelimit: `"${policy}";r=0;t=${seconds}`,
    }),
    isHeldBack: true,
  };
}

/** A request without a valid key that is allowed after `waitMs`. */
export function strangerOverLimit(waitMs: number): Answer {
  const seconds = Math.ceil(waitMs / 1000);
  const detail = `Too many requests without a valid key. Send a valid key, or retry after ${seconds} s.`;
  return {...retryable(429, 'rate_limited', detail, seconds), isHeldBack: true};
}

/** In addition to the rates, limits what requests hold at the same time. */
export function overBound(bound: Bound): Answer {
  if (bound === 'total') {
    const detail = 'Requests in progress already use all the memory reserved for them. Retry after 1 s.';
    return retryable(503, 'store_busy', detail, 1);
  }
  return retryable(
    429,
    'concurrency_limited',
    'The account has reached its limit of concurrent requests, or of the bytes that their bodies and responses hold. Wait for earlier requests and read their responses, then retry.',
    1,
  );
}

/** Details about the store's disk go to the log, not to clients. */
export function storeFailed(refusal: StoreRefusal): Answer {
  switch (refusal) {
    case 'full':
      return retryable(503, 'store_full', 'The store is full. Retry later.', 30);
    case 'busy':
      return retryable(503, 'store_busy', 'Too many operations are waiting to be stored. Retry later.', 1);
    case 'down':
      return retryable(503, 'unavailable', 'Messages cannot be stored or read at the moment. Retry later.', 5);
    case 'unknown':
      return retryable(
        503,
        'outcome_unknown',
        'The request may or may not have taken effect. Repeat it; to submit a message once, use the same Idempotency-Key.',
        1,
      );
  }
}

function retryable(
  status: 429 | 503,
  code: ProblemCode,
  detail: string,
  seconds: number,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return problem(status, code, detail, {headers: {'retry-after': String(seconds), ...headers}});
}
