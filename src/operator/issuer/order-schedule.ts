import type {PlannedOrder} from '../claim/order-windows.ts';

export interface QueuedOrder extends PlannedOrder {
  /** Its host has a certificate that is not due. */
  readonly canWait?: boolean;
}

/** When waiting orders may be placed, as last estimated. Domains read it like a cache. */
export class OrderSchedule {
  /** By ACMEIssuer; then by "namespace/host". */
  readonly #plans = new Map<string, ReadonlyMap<string, QueuedOrder>>();
  readonly #handlers = new Set<(key: string) => void>();

  /** Undefined: no order is waiting. 'unknown': nothing has been planned since the process started. */
  get(issuer: string, key: string): PlannedOrder | 'unknown' | undefined {
    const plan = this.#plans.get(issuer);
    return plan ? plan.get(key) : 'unknown';
  }

  /** How many hosts wait for an order; 0 on a standby. */
  waiting(issuer: string): number {
    return this.#plans.get(issuer)?.size ?? 0;
  }

  /** How many of them have a certificate that is not due, and when the last one is expected to have its order. */
  moving(issuer: string): {readonly hosts: number; readonly untilMs: number} {
    const times = [...(this.#plans.get(issuer)?.values() ?? [])].flatMap(({canWait, atMs}) => (canWait ? atMs : []));
    return {hosts: times.length, untilMs: times.reduce((last, atMs) => Math.max(last, atMs), 0)};
  }

  publish(issuer: string, plan: ReadonlyMap<string, QueuedOrder>): void {
    const before = this.#plans.get(issuer) ?? new Map<string, QueuedOrder>();
    this.#plans.set(issuer, plan);
    for (const key of before.keys()) if (!plan.has(key)) this.#report(key);
    for (const key of plan.keys()) if (!before.has(key)) this.#report(key);
  }

  /** Calls `handler` with each "namespace/host" that starts or stops waiting. */
  subscribe(handler: (key: string) => void): void {
    this.#handlers.add(handler);
  }

  #report(key: string): void {
    for (const handler of this.#handlers) handler(key);
  }
}
