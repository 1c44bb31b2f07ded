/**
 * Removals that the operator decides on itself: nobody requested them, and no host has moved. One of them may be right;
 * many in a short time are probably a fault, such as a CA that begins to add names to certificates. Beyond a limit, for
 * each account and in total, they are held back until a person allows them. What harms others while it stays is always
 * removed.
 */
import type {Logger} from 'pino';
import {Counter, Gauge, type Registry} from 'prom-client';
import {ANNOTATION} from '../../api/names.ts';
import type {Clock} from '../../base/clock.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../model/config.ts';
import type {Stores} from './stores.ts';

/** What is removed: the route of a Domain, the Domain itself, or the route of a default host. */
export type Removed = 'route' | 'domain' | 'default-route';

export interface Removal {
  readonly removed: Removed;
  /** "namespace/host". */
  readonly key: string;
  readonly account: string;
  /** The object shows that it was held back, maybe by a former leader. */
  readonly wasHeld: boolean;
}

interface RemovalsParts {
  readonly limits: OperatorConfig['controller']['ownRemovals'];
  readonly namespaces: Stores['namespaces'];
  /** The operator's namespace. Its annotation allows removals. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly events: Pick<EventRecorder, 'event'>;
  /** The object of the Event. */
  readonly regarding: DeepReadonly<KubeObject>;
}

/** An account counts for at most a tenth of the total, so that a few accounts do not stop removals for the others. */
const PARTS = 10;

const TOTAL = 'total';
type Scope = `account ${string}` | typeof TOTAL;

export class Removals {
  readonly #parts: RemovalsParts;
  readonly #concluded: Counter;
  /** Recent removals, by what was removed: the account, and when on the monotonic clock. */
  readonly #recent = new Map<string, {readonly atMs: number; readonly account: string}>();
  readonly #stopped = new Set<Scope>();
  readonly #held = new Map<string, {readonly removed: Removed; readonly key: string}>();
  readonly #handlers = new Set<(removed: Removed, key: string) => void>();

  constructor(parts: RemovalsParts) {
    this.#parts = parts;
    const {registry, namespaces, namespace} = parts;
    this.#concluded = new Counter({
      name: 'nameplate_own_removals_total',
      help: 'Removals of routes and Domains that nobody requested.',
      labelNames: ['removed'],
      registers: [registry],
    });
    const held = this.#held;
    new Gauge({
      name: 'nameplate_removals_held',
      help: 'Removals that nobody requested, which the operator holds back until a person allows them.',
      registers: [registry],
      collect() {
        this.set(held.size);
      },
    });
    namespaces.subscribe(({object}) => {
      if (object.metadata.name === namespace && this.#isAllowed()) this.#tell([...held.values()]);
    });
  }

  /** Calls `handler` when a removal is held back, is allowed, or is no longer needed. */
  subscribe(handler: (removed: Removed, key: string) => void): void {
    this.#handlers.add(handler);
  }

  /** Whether the removal may happen now. If so, it counts. */
  admit({removed, key, account, wasHeld}: Removal): boolean {
    const id = `${removed} ${key}`;
    const nowMs = this.#parts.clock.monotonic();
    if (this.#isAllowed()) {
      this.#recent.clear();
      this.#stopped.clear();
    } else {
      this.#forgetBefore(nowMs - this.#parts.limits.windowSeconds * 1000);
      if (this.#recent.has(id)) return true; // not complete yet
      const scope: Scope = `account ${account}`;
      if (wasHeld) this.#stop(scope);
      if (this.#isStopped(scope, account)) {
        this.#hold(id, {removed, key});
        return false;
      }
      this.#recent.set(id, {atMs: nowMs, account});
    }
    this.#held.delete(id);
    this.#concluded.inc({removed});
    return true;
  }

  /** The removal is not needed, or no longer needed. */
  forget(removed: Removed, key: string): void {
    if (this.#held.delete(`${removed} ${key}`)) this.#tell([{removed, key}]);
  }

  isHeld(removed: Removed, key: string): boolean {
    return this.#held.has(`${removed} ${key}`);
  }

  /** For the readiness check. */
  warning(): string | undefined {
    return this.#stopped.size === 0 ? undefined : this.#explain();
  }

  #isAllowed(): boolean {
    const {namespaces, namespace, clock} = this.#parts;
    const until = namespaces.get(namespace)?.metadata.annotations?.[ANNOTATION.allowRemovalsUntil];
    return until !== undefined && Date.parse(until) > clock.now();
  }

  #isStopped(scope: Scope, account: string): boolean {
    const {perAccount, total} = this.#parts.limits;
    const share = Math.ceil(total / PARTS);
    const counts = Map.groupBy(this.#recent.values(), removal => removal.account);
    if ((counts.get(account)?.length ?? 0) >= perAccount) this.#stop(scope);
    const all = [...counts.values()].reduce((sum, {length}) => sum + Math.min(length, share), 0);
    if (all >= total) this.#stop(TOTAL);
    return this.#stopped.has(TOTAL) || this.#stopped.has(scope);
  }

  #stop(scope: Scope): void {
    if (this.#stopped.has(scope)) return;
    const isFirst = this.#stopped.size === 0;
    this.#stopped.add(scope);
    const {logger, events, regarding} = this.#parts;
    logger.error({scope}, this.#explain());
    if (isFirst) events.event(regarding, 'Warning', 'RemovalsHeld', 'Remove', this.#explain());
  }

  #explain(): string {
    return `Nameplate is holding back removals of routes and Domains: too many became due that nobody requested. Find the cause in the conditions with the reason RemovalHeld. If the removals are right, allow them: kubectl annotate --overwrite namespace ${this.#parts.namespace} ${ANNOTATION.allowRemovalsUntil}=TIME, with a time in RFC 3339.`;
  }

  #hold(id: string, removal: {readonly removed: Removed; readonly key: string}): void {
    if (this.#held.has(id)) return;
    this.#held.set(id, removal);
    this.#tell([removal]);
  }

  #forgetBefore(ms: number): void {
    for (const [id, {atMs}] of this.#recent) if (atMs < ms) this.#recent.delete(id);
  }

  #tell(removals: readonly {readonly removed: Removed; readonly key: string}[]): void {
    for (const {removed, key} of removals) for (const handler of this.#handlers) handler(removed, key);
  }
}
