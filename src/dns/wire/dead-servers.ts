import type {Clock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {registrableDomain} from '../names/hosts.ts';

/** After this many unanswered queries in a row, we send no more for a while. Other queries would wait behind them. */
const SILENT_AFTER = 8;
const SILENT_MS = 10_000;
/** How long we remember that a server answered anything. */
const ALIVE_MS = 300_000;
const ENTRIES = 10_000;

/**
 * Remembers which queries recently got no answer. We stop querying a server that answers nothing, so many domains on
 * one dead server cost no more than one. If a server answers about other domains, we stop querying it only about the
 * domain that it does not answer for. Otherwise, an account could make a server seem dead to every account: by
 * delegating a domain to a provider that drops such queries, or to a server that makes a resolver wait.
 */
export class DeadServerCache {
  readonly #ours: boolean;
  readonly #alive: TtlCache<true>;
  readonly #unanswered: TtlCache<number>;

  /**
   * `ours`: the servers are our own resolvers, which answer for every domain. So only the domain counts as dead, even
   * just after a start, when they have not answered anything yet and the first dead domains would block all others.
   */
  constructor(clock: Clock, ours = false) {
    this.#ours = ours;
    this.#alive = new TtlCache<true>(clock, ENTRIES);
    this.#unanswered = new TtlCache<number>(clock, ENTRIES);
  }

  /** Whether a query about the name is not worth sending now. */
  isDead(server: string, name: string): boolean {
    return this.#count(server, name) >= SILENT_AFTER;
  }

  answered(server: string, name: string): void {
    this.#alive.set(server, true, ALIVE_MS);
    this.#unanswered.set(this.#key(server, name), 0, SILENT_MS);
  }

  unanswered(server: string, name: string): void {
    this.#unanswered.set(this.#key(server, name), this.#count(server, name) + 1, SILENT_MS);
  }

  #count(server: string, name: string): number {
    return this.#unanswered.get(this.#key(server, name)) ?? 0;
  }

  #key(server: string, name: string): string {
    return this.#ours || this.#alive.get(server) ? `${server} ${registrableDomain(name) ?? ''}` : server;
  }
}
