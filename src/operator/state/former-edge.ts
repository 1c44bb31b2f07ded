/** Whether visitors may still reach a host through the edge that the platform is leaving, according to DNS. */
import {once} from 'node:events';
import type {Clock} from '../../base/clock.ts';
import {Deadline} from '../../base/deadline.ts';
import {Semaphore} from '../../base/semaphore.ts';
import {TtlCache} from '../../base/ttl-cache.ts';
import {canonicalAddress, type HostLookup} from '../../dns/dns.ts';

/**
 * - unknown: the addresses of the host have not been looked up yet, or its name servers do not answer.
 * - elsewhere: DNS returns `addresses`, not all of which belong to the next edge, or none.
 * - cached: DNS returns only addresses of the next edge, but resolvers may cache an earlier answer until `untilMs`.
 * - gone: visitors no longer reach the host at the former edge.
 *
 * `againMs`: when to look it up again.
 */
export type FormerAddresses = {readonly againMs: number} & (
  | {readonly kind: 'unknown'}
  | {readonly kind: 'elsewhere'; readonly addresses: readonly string[]}
  | {readonly kind: 'cached'; readonly untilMs: number}
  | {readonly kind: 'gone'}
);

interface FormerEdgeParts {
  /** The addresses of the next edge, as DNS returns them. All others count as the former edge. */
  readonly addresses: readonly string[];
  readonly lookUp: (host: string, signal: AbortSignal) => Promise<HostLookup>;
  readonly clock: Clock;
  /** The pause between two lookups of a host. */
  readonly pauseMs: number;
  /** How long resolvers may cache a record that pointed to the former edge. */
  readonly rememberedMs: number;
}

interface Seen {
  /** On the monotonic clock. */
  readonly checkedAtMs: number;
  /** Undefined if the last lookup failed. */
  readonly addresses: readonly string[] | undefined;
  /** Since when each successful lookup has returned only addresses of the next edge. */
  readonly since: {readonly onClockMs: number; readonly epochMs: number} | undefined;
}

const HOSTS = 100_000;
/** When to forget a host that no reconcile asks about. Its wait for resolvers then begins again. */
const FORGET_MS = 3 * 86_400_000;
/** Tenants choose the name servers of their hosts, so a lookup may take until its deadline. */
const LOOKUP_MS = 10_000;
const LOOKUPS_AT_ONCE = 16;
const LOOKUPS_OF_NAMESPACE = 4;
/** A lookup that has not ended is requested again this many times per pause. */
const IMPATIENCE = 10;

/** Looks up hosts in the background, on request. */
export class FormerEdge {
  readonly #parts: FormerEdgeParts;
  readonly #addresses: ReadonlySet<string>;
  readonly #seen: TtlCache<Seen>;
  readonly #inProgress = new Set<string>();
  readonly #lookups = new Semaphore(LOOKUPS_AT_ONCE);
  readonly #ofNamespace = new Map<string, Semaphore>();
  readonly #stop = new AbortController();

  constructor(parts: FormerEdgeParts) {
    this.#parts = parts;
    this.#addresses = new Set(parts.addresses.flatMap(address => canonicalAddress(address) ?? []));
    this.#seen = new TtlCache(parts.clock, HOSTS);
  }

  /** Ends all lookups when the signal aborts, so that a tenant's name servers delay no shutdown. */
  async run(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort');
    this.#stop.abort(signal.reason);
  }

  addressesOf(namespace: string, host: string): FormerAddresses {
    const {clock, pauseMs, rememberedMs} = this.#parts;
    const nowMs = clock.monotonic();
    const epochMs = clock.now();
    const seen = this.#seen.get(host);
    const isFresh = seen !== undefined && nowMs < seen.checkedAtMs + pauseMs;
    if (!isFresh) void this.#look(namespace, host);
    const againMs = epochMs + (isFresh ? seen.checkedAtMs + pauseMs - nowMs : pauseMs / IMPATIENCE);
    if (seen?.addresses === undefined) return {kind: 'unknown', againMs};
    const {addresses, since, checkedAtMs} = seen;
    if (since === undefined) return {kind: 'elsewhere', addresses, againMs};
    const untilMs = since.onClockMs + rememberedMs;
    if (nowMs < untilMs) {
      const soonMs = isFresh ? Math.min(againMs, epochMs + untilMs - nowMs) : againMs;
      return {kind: 'cached', untilMs: since.epochMs + rememberedMs, againMs: soonMs};
    }
    // Only an answer after the wait says that nothing has changed since.
    if (isFresh && checkedAtMs >= untilMs) return {kind: 'gone', againMs};
    void this.#look(namespace, host);
    return {kind: 'unknown', againMs: epochMs + pauseMs / IMPATIENCE};
  }

  async #look(namespace: string, host: string): Promise<void> {
    if (this.#inProgress.has(host)) return;
    this.#inProgress.add(host);
    const {signal} = this.#stop;
    const own = this.#ofNamespace.get(namespace) ?? new Semaphore(LOOKUPS_OF_NAMESPACE);
    this.#ofNamespace.set(namespace, own);
    try {
      const found = await own.run(() => this.#lookups.run(() => this.#ask(host), signal), signal);
      this.#seen.set(host, this.#next(this.#seen.get(host), found), FORGET_MS);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#inProgress.delete(host);
      if (own.idle) this.#ofNamespace.delete(namespace);
    }
  }

  async #ask(host: string): Promise<HostLookup> {
    using deadline = new Deadline(LOOKUP_MS, this.#stop.signal);
    return await this.#parts.lookUp(host, deadline.signal).catch((): HostLookup => ({known: false}));
  }

  #next(before: Seen | undefined, found: HostLookup): Seen {
    const {clock} = this.#parts;
    const checkedAtMs = clock.monotonic();
    if (!found.known) return {checkedAtMs, addresses: undefined, since: before?.since};
    const isOnNext = found.addresses.length > 0 && found.addresses.every(address => this.#addresses.has(address));
    const since = isOnNext ? (before?.since ?? {onClockMs: checkedAtMs, epochMs: clock.now()}) : undefined;
    return {checkedAtMs, addresses: found.addresses.toSorted(), since};
  }
}
