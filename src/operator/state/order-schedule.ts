/** What there is too little of: orders of the CA account, new hosts of the registrable domain, attempts of the host. */
export type Shortage = 'orders' | 'domain' | 'host';

export interface Turn {
  /** Now: at once. Later: not before; and then, if nobody comes who has had less. */
  readonly atMs: number;
  /** What keeps it from being now. */
  readonly shortage?: Shortage;
}

/** The turns of those that wait, as last planned. Domains read it as they read a cache. */
export class OrderBoard {
  /** By CA account; then by "namespace/host". */
  readonly #turns = new Map<string, ReadonlyMap<string, Turn>>();
  readonly #handlers = new Set<(key: string) => void>();

  /** Undefined: it waits for no order. 'unknown': nothing has been planned since the start of the process. */
  get(caAccount: string, key: string): Turn | 'unknown' | undefined {
    const turns = this.#turns.get(caAccount);
    return turns ? turns.get(key) : 'unknown';
  }

  /** Takes the place of what was planned before for the account. */
  publish(caAccount: string, turns: ReadonlyMap<string, Turn>): void {
    const before = this.#turns.get(caAccount) ?? new Map<string, Turn>();
    this.#turns.set(caAccount, turns);
    const changed = [...before.keys(), ...turns.keys()].filter(key => before.has(key) !== turns.has(key));
    for (const key of changed) for (const handler of this.#handlers) handler(key);
  }

  /** Calls `handler` with each "namespace/host" that begins or ceases to wait. */
  subscribe(handler: (key: string) => void): void {
    this.#handlers.add(handler);
  }
}
