/**
 * Finds the account of an API key in a cache of the KeyClaims, which only the operator writes. No request waits for the
 * API server, and it reads no Secret and trusts nothing that a tenant's role may write.
 */
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {Reflector} from '../runtime/cache/reflector.ts';
import type {ReadonlyStore} from '../runtime/cache/store.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';
import type {Clock} from '../time/clock.ts';
import {endOf, KEY_CLAIM, type KeyClaim, letGoMs} from './apikey.ts';
import type {Authenticator, Principal, Refusal} from './authenticator.ts';
import {digestOf, isKey} from './format.ts';

interface KeyAuthenticatorOptions {
  /** Keyed by the hash of the key. */
  readonly keyClaims: ReadonlyStore<KeyClaim>;
  /** Since when (in monotonic milliseconds) the cache may be stale; undefined while it is current. */
  readonly lostSince: () => number | undefined;
  readonly clock: Clock;
  /**
   * How long the last known records are trusted while the API server is unavailable. A key that is revoked during
   * that time keeps working.
   */
  readonly graceMs: number;
}

export class KeyAuthenticator implements Authenticator {
  readonly #options: KeyAuthenticatorOptions;

  constructor(options: KeyAuthenticatorOptions) {
    this.#options = options;
  }

  authenticate(key: string): Principal | Refusal {
    if (!isKey(key)) return {refused: 'invalid', detail: 'This is not a valid API key for this service.'};
    if (this.problem() !== undefined) return {refused: 'unavailable'};
    // By hash, which clients cannot control, so the lookup time reveals nothing about the existing keys.
    const claim = this.#options.keyClaims.get(digestOf(key));
    return claim ? judge(claim, this.#options.clock.now()) : {refused: 'invalid'};
  }

  problem(): string | undefined {
    const {keyClaims, lostSince, clock, graceMs} = this.#options;
    if (keyClaims.state === 'syncing') return 'the API keys have not been loaded yet';
    if (keyClaims.state === 'missing') return 'the kind KeyClaim is not installed';
    const lostMs = clock.monotonic() - (lostSince() ?? clock.monotonic());
    if (lostMs <= graceMs) return undefined;
    return `the API server has been unreachable for ${Math.round(lostMs / 1000)} s, longer than keys.graceSeconds`;
  }
}

function judge({spec}: DeepReadonly<KeyClaim>, nowMs: number): Principal | Refusal {
  switch (endOf({spec}, nowMs)) {
    case 'revoked':
      return {refused: 'invalid', detail: 'This key was revoked.'};
    case 'expired':
      return {refused: 'invalid', detail: `This key expired at ${spec.expiresAt}.`};
    case undefined:
      break;
  }
  if (letGoMs(spec, nowMs) !== undefined) {
    return {refused: 'invalid', ...(spec.validUntil && {detail: 'This key was replaced by a new one.'})};
  }
  const {account, namespace, name, scopes} = spec;
  return {account, keyId: `${namespace}/${name}`, scopes: new Set(scopes)};
}

interface WatchKeysOptions {
  /** Needs only the rights to list and watch KeyClaims. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly graceMs: number;
}

/** After this time, an API server that drops packets is noticed. Bookmarks arrive every minute. */
const IDLE_TIMEOUT_MS = 90_000;
/** Reconnects soon after the API server is back, because a revocation may have been missed. */
const BACKOFF = {initialMs: 200, maxMs: 2_000, factor: 2, jitter: 0.5};

/** An authenticator for all keys in the cluster. `run` watches them until the signal aborts, and never rejects. */
export function watchKeys({graceMs, ...options}: WatchKeysOptions): {
  readonly authenticator: KeyAuthenticator;
  run(signal: AbortSignal): Promise<void>;
} {
  const reflector = new Reflector<KeyClaim>({
    ...options,
    resource: KEY_CLAIM,
    transform: slim,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    backoff: BACKOFF,
  });
  const lostSince = () => reflector.lostSince;
  const authenticator = new KeyAuthenticator({keyClaims: reflector.store, lostSince, clock: options.clock, graceMs});
  return {authenticator, run: signal => reflector.run(signal)};
}

/** The part of a record that a request needs. */
function slim({apiVersion, kind, metadata: {name, uid = '', resourceVersion = ''}, spec}: KeyClaim): KeyClaim {
  return {apiVersion, kind, metadata: {name, uid, resourceVersion}, spec};
}
