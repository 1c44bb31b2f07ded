/** What there is too little of: orders of the CA account, new hosts of the registrable domain, attempts of the host. */
export type Shortage = 'orders' | 'domain' | 'host';

export interface PlannedOrder {
  /** Now: at once. Later: not before; and then, if nobody comes who has had less. */
  readonly atMs: number;
  /** What keeps it from being now. */
  readonly shortage?: Shortage;
}

/** When those that wait may order, as last planned. Domains read it as they read a cache. */
export class OrderSchedule {
  /** By CA account; then by "namespace/host". */
  readonly #plans = new Map<string, ReadonlyMap<string, PlannedOrder>>();
  readonly #handlers = new Set<(key: string) => void>();

  /** Undefined: it waits for no order. 'unknown': nothing has been planned since the start of the process. */
  get(caAccount: string, key: string): PlannedOrder | 'unknown' | undefined {
    const plan = this.#plans.get(caAccount);
    return plan ? plan.get(key) : 'unknown';
  }

  /** Takes the place of what was planned before for the account. */
  publish(caAccount: string, plan: ReadonlyMap<string, PlannedOrder>): void {
    const before = this.#plans.get(caAccount) ?? new Map<string, PlannedOrder>();
    this.#plans.set(caAccount, plan);
    const changed = [...before.keys(), ...plan.keys()].filter(key => before.has(key) !== plan.has(key));
    for (const key of changed) for (const handler of this.#handlers) handler(key);
  }

  /** Calls `handler` with each "namespace/host" that begins or ceases to wait. */
  subscribe(handler: (key: string) => void): void {
    this.#handlers.add(handler);
  }
}
