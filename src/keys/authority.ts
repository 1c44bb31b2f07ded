/**
 * Says whose an API key is, from a cache of the APIKeys: no request waits for the API server, and no Secret is read.
 * It fits what the messages API wants of an authenticator (src/messages/auth.ts).
 */
import {timingSafeEqual} from 'node:crypto';
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {APIKeySpec} from '../api/generated/apikey.ts';
import type {Clock} from '../runtime/clock.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import {type DeepReadonly, keyOf} from '../runtime/kube/object.ts';
import {Reflector} from '../runtime/kube/reflector.ts';
import type {ReadonlyStore} from '../runtime/kube/store.ts';
import {API_KEY, type APIKey, hashesOf} from './apikey.ts';
import {digestOf, isKey} from './format.ts';
import {endOf, isOverlapOver} from './validity.ts';

export type KeyScope = APIKeySpec['scopes'][number];

export interface KeyHolder {
  readonly account: string;
  /** "namespace/name" of the APIKey. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<KeyScope>;
}

export interface KeyRefusal {
  readonly refused: 'invalid' | 'unavailable';
  /** A sentence for whoever sent the key. */
  readonly detail?: string;
}

export interface KeyAuthorityOptions {
  readonly apiKeys: ReadonlyStore<APIKey>;
  /** Since when (monotonic milliseconds) the cache may be behind the API server; undefined while it follows. */
  readonly lostSince: () => number | undefined;
  readonly clock: Clock;
  /** How long what was known last is trusted while the API server is away: a key revoked meanwhile works on for as long. */
  readonly graceMs: number;
}

const BY_HASH = 'sha256';

export class KeyAuthority {
  readonly #options: KeyAuthorityOptions;

  constructor(options: KeyAuthorityOptions) {
    this.#options = options;
    options.apiKeys.addIndex(BY_HASH, hashesOf);
  }

  /** Decides at once, from memory. */
  authenticate(key: string): KeyHolder | KeyRefusal {
    if (!isKey(key)) return {refused: 'invalid', detail: 'This is not an API key of this service.'};
    const problem = this.problem();
    if (problem !== undefined) return {refused: 'unavailable'};
    // By its hash, which nobody can steer: how long the look-up takes says nothing about the keys that there are.
    const sha256 = digestOf(key);
    const [holder, ...rivals] = this.#options.apiKeys.byIndex(BY_HASH, sha256);
    // The operator lets one APIKey have a key; where two show it all the same, neither is believed.
    if (!holder || rivals.length > 0) return {refused: 'invalid'};
    return this.#judge(holder, sha256);
  }

  /** Why no key can be judged now; undefined when all is well. */
  problem(): string | undefined {
    const {apiKeys, lostSince, clock, graceMs} = this.#options;
    if (apiKeys.state === 'syncing') return 'the API keys have not been read yet';
    if (apiKeys.state === 'missing') return 'the kind APIKey is not installed';
    const lostMs = clock.monotonic() - (lostSince() ?? clock.monotonic());
    if (lostMs <= graceMs) return undefined;
    return `the API server has been away for ${Math.round(lostMs / 1000)} s, longer than known keys are trusted`;
  }

  #judge(holder: DeepReadonly<APIKey>, sha256: string): KeyHolder | KeyRefusal {
    const {spec, status} = holder;
    const nowMs = this.#options.clock.now();
    switch (endOf(holder, nowMs)) {
      case 'revoked':
        return {refused: 'invalid', detail: 'This key was revoked.'};
      case 'expired':
        return {refused: 'invalid', detail: `This key expired at ${spec.expiresAt}.`};
      case undefined:
        break;
    }
    const {previous, account} = status ?? {};
    if (!isSame(status?.sha256, sha256) && (!previous || isOverlapOver(holder, previous.validUntil, nowMs))) {
      return {refused: 'invalid', detail: 'This key was replaced by a new one.'};
    }
    if (!account) return {refused: 'invalid'};
    return {account, keyId: keyOf(holder), scopes: new Set(spec.scopes)};
  }
}

function isSame(held: string | undefined, sha256: string): boolean {
  return held?.length === sha256.length && timingSafeEqual(Buffer.from(held), Buffer.from(sha256));
}

export interface WatchKeysOptions {
  /** Needs the rights list and watch on APIKeys, and no other. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly graceMs: number;
}

/** An API server that swallows packets is noticed after this time, and the grace begins; bookmarks come each minute. */
const IDLE_TIMEOUT_MS = 90_000;
/** An API server that is back should be followed again soon: a revocation may have been missed. */
const BACKOFF = {initialMs: 200, maxMs: 2_000, factor: 2, jitter: 0.5};

/** An authority over all APIKeys of the cluster; `run` follows them until the signal aborts, and never rejects. */
export function watchKeys({graceMs, ...options}: WatchKeysOptions): {
  readonly authority: KeyAuthority;
  run(signal: AbortSignal): Promise<void>;
} {
  const reflector = new Reflector<APIKey>({
    ...options,
    resource: API_KEY,
    transform: slim,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
    backoff: BACKOFF,
  });
  const lostSince = () => reflector.lostSince;
  const authority = new KeyAuthority({apiKeys: reflector.store, lostSince, clock: options.clock, graceMs});
  return {authority, run: signal => reflector.run(signal)};
}

/** What is asked of an APIKey at each request. */
function slim({apiVersion, kind, metadata, spec, status = {}}: APIKey): APIKey {
  const {name, namespace = '', uid = '', resourceVersion = ''} = metadata;
  const {account, sha256, previous} = status;
  return {
    apiVersion,
    kind,
    metadata: {name, namespace, uid, resourceVersion},
    spec,
    status: {...(account && {account}), ...(sha256 && {sha256}), ...(previous && {previous})},
  };
}
