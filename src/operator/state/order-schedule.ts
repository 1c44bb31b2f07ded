/** Which limit is used up: orders of the CA account, new hosts of the registrable domain, or attempts of the host. */
export type Shortage = 'orders' | 'domain' | 'host';

export interface PlannedOrder {
  /** If it is later than now: the earliest time. An account with fewer orders can still go first. */
  readonly atMs: number;
  /** Why it is not now. */
  readonly shortage?: Shortage;
  /** Why the API server rejected the decision on the request. */
  readonly refusal?: string;
}

/** When waiting orders may be placed, as last planned. Domains read it like a cache. */
export class OrderSchedule {
  /** By CA account; then by "namespace/host". */
  readonly #plans = new Map<string, ReadonlyMap<string, PlannedOrder>>();
  readonly #handlers = new Set<(key: string) => void>();

  /** Undefined: no order is waiting. 'unknown': nothing has been planned since the process started. */
  get(caAccount: string, key: string): PlannedOrder | 'unknown' | undefined {
    const plan = this.#plans.get(caAccount);
    return plan ? plan.get(key) : 'unknown';
  }

  /** How many hosts wait for an order; 0 on a standby. */
  waiting(caAccount: string): number {
    const plan = this.#plans.get(caAccount)?.values() ?? [];
    return [...plan].filter(({refusal}) => refusal === undefined).length;
  }

  publish(caAccount: string, plan: ReadonlyMap<string, PlannedOrder>): void {
    const before = this.#plans.get(caAccount) ?? new Map<string, PlannedOrder>();
    this.#plans.set(caAccount, plan);
    for (const key of before.keys()) if (!plan.has(key)) this.#report(key);
    for (const [key, {refusal}] of plan) {
      if (!before.has(key) || before.get(key)?.refusal !== refusal) this.#report(key);
    }
  }

  /** Calls `handler` with each "namespace/host" that starts or stops waiting, or is rejected for another reason. */
  subscribe(handler: (key: string) => void): void {
    this.#handlers.add(handler);
  }

  #report(key: string): void {
    for (const handler of this.#handlers) handler(key);
  }
}
