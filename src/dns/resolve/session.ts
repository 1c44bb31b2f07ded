/** The limits of one verdict's queries, and their results so far. */
import type {Endpoint} from '../wire/addresses.ts';
import type {QueryType} from '../wire/codec.ts';
import type {DnsTransport, Reply} from '../wire/transport.ts';
import type {Authority} from './authority.ts';

interface VerdictSessionOptions {
  readonly transport: DnsTransport;
  /** Queries that may be sent. A repeated datagram and a change to TCP do not count as further queries. */
  readonly budget: number;
  readonly signal: AbortSignal;
}

/** A query that was sent. */
export interface Asked {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly type: QueryType;
  readonly reply: Reply;
}

/** The budget of one verdict, and the zone cuts that it has learned. */
export class VerdictSession {
  readonly #transport: DnsTransport;
  readonly signal: AbortSignal;
  #remaining: number;
  #answered = false;
  #unfinished = false;
  /** The authority of each name whose zone is known. New in every verdict, so a fixed delegation shows immediately. */
  readonly authorities = new Map<string, Authority>();
  /** Zones whose servers let a query about zone cuts time out: they get no other such query. */
  readonly mute = new Set<string>();
  /** In the order of their answers. */
  readonly asked: Asked[] = [];

  constructor(options: VerdictSessionOptions) {
    this.#transport = options.transport;
    this.#remaining = options.budget;
    this.signal = options.signal;
  }

  get remaining(): number {
    return this.#remaining;
  }

  /** Whether any server has answered anything. If not, the fault is on our side. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether a server was not queried to the end that should have been: what is missing may contradict the rest. */
  get unfinished(): boolean {
    return this.#unfinished;
  }

  grant(questions: number): void {
    this.#remaining += questions;
  }

  markUnfinished(): void {
    this.#unfinished = true;
  }

  async query(
    endpoint: Endpoint,
    name: string,
    type: QueryType,
    flags = {recursionDesired: false, checkingDisabled: false},
  ): Promise<Reply> {
    if (this.#remaining <= 0) return this.#unasked('not queried yet: one check sends a limited number of queries');
    if (this.signal.aborted) return this.#unasked('not queried yet: one check takes a limited time');
    this.#remaining--;
    const reply = await this.#transport.query({endpoint, name, type, ...flags}, this.signal);
    this.asked.push({endpoint, name, type, reply});
    if (reply.ok) this.#answered = true;
    else if (reply.failure === 'timeout' && this.signal.aborted)
      return this.#unasked('no answer in the time of one check');
    return reply;
  }

  #unasked(detail: string): Reply {
    this.#unfinished = true;
    return {ok: false, failure: 'budget', detail};
  }
}
