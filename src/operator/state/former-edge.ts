/** Whether visitors may still reach a host through the edge that the platform is leaving, as DNS says. */
import type {Clock} from '../../base/clock.ts';
import {Deadline} from '../../base/deadline.ts';
import {Semaphore} from '../../base/semaphore.ts';
import {TtlCache} from '../../base/ttl-cache.ts';
import type {HostLookup} from '../../dns/dns.ts';

/**
 * - unknown: the addresses of the host have not been looked up yet, or its name servers do not answer.
 * - returned: DNS returns these addresses of the former edge.
 * - cached: it no longer does, but resolvers may remember until `untilMs` what it returned before.
 * - gone: no visitor comes to the former edge.
 */
export type FormerAddresses =
  | {readonly kind: 'unknown'}
  | {readonly kind: 'returned'; readonly addresses: readonly string[]}
  | {readonly kind: 'cached'; readonly untilMs: number}
  | {readonly kind: 'gone'};

export interface FormerEdgeParts {
  /** Of the former edge, as DNS returns them. */
  readonly addresses: readonly string[];
  readonly lookUp: (host: string, signal: AbortSignal) => Promise<HostLookup>;
  readonly clock: Clock;
  /** Between two lookups of a host. */
  readonly pauseMs: number;
}

interface Seen {
  readonly checkedAtMs: number;
  /** Addresses of the former edge; undefined if the last lookup failed. */
  readonly former: readonly string[] | undefined;
  /** When it was first seen without one, and the longest TTL until then. */
  readonly withoutSinceMs: number | undefined;
  readonly ttlMs: number;
}

/** What nobody asks about for this long is forgotten. The wait for resolvers then begins again. */
const REMEMBER_MS = 3 * 86_400_000;
const HOSTS = 100_000;
/** Tenants choose the name servers of their hosts, so lookups may take as long as they want. */
const LOOKUPS_AT_ONCE = 16;
const LOOKUP_MS = 10_000;

/** Looks up hosts in the background, when somebody asks. */
export class FormerEdge {
  readonly #parts: FormerEdgeParts;
  readonly #addresses: ReadonlySet<string>;
  readonly #seen: TtlCache<Seen>;
  readonly #inProgress = new Set<string>();
  readonly #lookups = new Semaphore(LOOKUPS_AT_ONCE);

  constructor(parts: FormerEdgeParts) {
    this.#parts = parts;
    this.#addresses = new Set(parts.addresses);
    this.#seen = new TtlCache(parts.clock, HOSTS);
  }

  addressesOf(host: string): FormerAddresses {
    const nowMs = this.#parts.clock.now();
    const seen = this.#seen.get(host);
    if (!seen || seen.checkedAtMs + this.#parts.pauseMs <= nowMs) void this.#look(host, seen);
    if (seen?.former === undefined) return {kind: 'unknown'};
    const {former, withoutSinceMs, ttlMs} = seen;
    if (withoutSinceMs === undefined) return {kind: 'returned', addresses: former};
    const untilMs = withoutSinceMs + ttlMs;
    return nowMs < untilMs ? {kind: 'cached', untilMs} : {kind: 'gone'};
  }

  async #look(host: string, before: Seen | undefined): Promise<void> {
    if (this.#inProgress.has(host)) return;
    this.#inProgress.add(host);
    try {
      using deadline = new Deadline(LOOKUP_MS);
      const {signal} = deadline;
      const found = await this.#lookups
        .run(() => this.#parts.lookUp(host, signal), signal)
        .catch((): HostLookup => ({known: false}));
      this.#seen.set(host, this.#next(before, found), REMEMBER_MS);
    } finally {
      this.#inProgress.delete(host);
    }
  }

  #next(before: Seen | undefined, found: HostLookup): Seen {
    const checkedAtMs = this.#parts.clock.now();
    const known = {withoutSinceMs: before?.withoutSinceMs, ttlMs: before?.ttlMs ?? 0};
    if (!found.known) return {...known, checkedAtMs, former: undefined};
    const former = found.addresses.filter(address => this.#addresses.has(address)).sort();
    const ttlMs = Math.max(known.ttlMs, found.ttlSeconds * 1000);
    const withoutSinceMs = former.length > 0 ? undefined : (known.withoutSinceMs ?? checkedAtMs);
    return {checkedAtMs, former, withoutSinceMs, ttlMs};
  }
}
