import type {Endpoint} from './addresses.ts';
import type {QueryType} from './codec.ts';
import type {Reply, Transport} from './transport.ts';

/** A set of servers that answer for a name: those of its zone, or recursives that answer for all names. */
export interface Authority {
  /** The zone's own name; `.` for recursives. */
  readonly zone: string;
  readonly servers: readonly NameServer[];
  readonly recursive: boolean;
}

export interface NameServer {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** It has no endpoints because nobody answered for its name: it may well have addresses. */
  readonly unresolved?: true;
}

export interface SessionOptions {
  readonly transport: Transport;
  /** Questions that may be asked. A repeated datagram and a change to TCP are part of their question. */
  readonly budget: number;
  readonly signal: AbortSignal;
}

/** What one verdict may spend, and what it has learned about zone cuts on its way. */
export class Session {
  readonly #transport: Transport;
  readonly signal: AbortSignal;
  #remaining: number;
  #heard = false;
  /** For each name whose zone is known: the authority. Fresh in every verdict, so that a mended delegation shows at once. */
  readonly authorities = new Map<string, Authority>();
  /** Zones whose servers have let a question about cuts time out: they are not asked another one. */
  readonly mute = new Set<string>();

  constructor(options: SessionOptions) {
    this.#transport = options.transport;
    this.#remaining = options.budget;
    this.signal = options.signal;
  }

  get remaining(): number {
    return this.#remaining;
  }

  /** Whether any server at all has answered anything: if not, the trouble is on our side. */
  get heard(): boolean {
    return this.#heard;
  }

  grant(questions: number): void {
    this.#remaining += questions;
  }

  async ask(
    endpoint: Endpoint,
    name: string,
    type: QueryType,
    flags = {recursionDesired: false, checkingDisabled: false},
  ): Promise<Reply> {
    if (this.#remaining <= 0)
      return {ok: false, failure: 'budget', detail: 'not asked: too many questions for one check'};
    this.#remaining--;
    const reply = await this.#transport.query({endpoint, name, type, ...flags}, this.signal);
    if (reply.ok) this.#heard = true;
    return reply;
  }
}
