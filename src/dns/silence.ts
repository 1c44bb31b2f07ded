import type {Clock} from './clock.ts';
import {registrableDomain} from './names.ts';
import {TtlCache} from './ttl-cache.ts';

/** After so many questions in a row without an answer, no more are asked for a while: the line must not stand still. */
const SILENT_AFTER = 8;
const SILENT_MS = 10_000;
/** How long it is remembered that a server has answered anything. */
const ALIVE_MS = 300_000;
const ENTRIES = 10_000;

/**
 * Which questions have lately been left without an answer. A server that answers nobody is left alone as a whole, so that
 * many domains on one dead server cost no more than one. Of a server that answers others, only questions about the
 * domain that it keeps silent on: else whoever delegates a domain to a provider that drops such questions, or to a
 * server that makes a resolver wait, would make it seem dead to everybody.
 */
export class Silence {
  readonly #ours: boolean;
  readonly #alive: TtlCache<true>;
  readonly #unanswered: TtlCache<number>;

  /**
   * `ours`: the servers are our own resolvers. They answer for everybody, so their silence is laid to the domain alone: after
   * a start, when they have answered nobody yet, whoever comes first with silent domains would cut all others off.
   */
  constructor(clock: Clock, ours = false) {
    this.#ours = ours;
    this.#alive = new TtlCache<true>(clock, ENTRIES);
    this.#unanswered = new TtlCache<number>(clock, ENTRIES);
  }

  /** Whether a question about the name is not worth asking now. */
  holds(server: string, name: string): boolean {
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
