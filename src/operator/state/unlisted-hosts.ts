/**
 * Whether the API server, too, has no Project that lists a host. This takes a read of all Projects of the namespace,
 * and a tenant may create any number of them. If there are many, one reconcile at a time reads them, and then rests.
 */
import {TtlCache} from '../../base/ttl-cache.ts';
import {PROJECT, type Project} from '../model/kinds.ts';
import {listedHost} from '../model/project-hosts.ts';
import type {ApiAccess, Operator} from './context.ts';
import {BEHIND_MS} from './fresh.ts';
import {INDEX} from './stores.ts';

/** As many as fit in a page of the API server's answer. */
const FEW = 500;
/** A rest takes this many times as long as the read before it. */
const REST = 4;
/** Longer than a read may take. */
const READ_MS = 120_000;
const NAMESPACES = 10_000;

type Parts = Pick<Operator, 'stores' | 'clock'>;

export class UnlistedHosts {
  readonly #parts: Parts;
  /** Until when the Projects of a namespace are not read again, on the monotonic clock. */
  readonly #restsUntilMs: TtlCache<number>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#restsUntilMs = new TtlCache(parts.clock, NAMESPACES);
  }

  /** 0: no Project lists the host, apart from those known to have no place. Otherwise, when to ask again. */
  async waitMs(api: ApiAccess, key: string): Promise<number> {
    const {stores, clock} = this.#parts;
    const [namespace = ''] = key.split('/');
    if (stores.projectAges.count([namespace]) <= FEW) return (await this.#isUnlisted(api, key)) ? 0 : BEHIND_MS;
    const startMs = clock.monotonic();
    const restsUntilMs = this.#restsUntilMs.get(namespace);
    if (restsUntilMs !== undefined) return Math.min(restsUntilMs - startMs, BEHIND_MS);
    this.#rest(namespace, READ_MS);
    try {
      return (await this.#isUnlisted(api, key)) ? 0 : BEHIND_MS;
    } finally {
      this.#rest(namespace, REST * (clock.monotonic() - startMs));
    }
  }

  #rest(namespace: string, ms: number): void {
    this.#restsUntilMs.set(namespace, this.#parts.clock.monotonic() + ms, ms);
  }

  async #isUnlisted({client, signal}: ApiAccess, key: string): Promise<boolean> {
    const [namespace = '', host = ''] = key.split('/');
    const placeless = new Set(this.#parts.stores.projects.byIndex(INDEX.host, key).map(({metadata}) => metadata.uid));
    const lists = (project: Project) =>
      !project.metadata.deletionTimestamp &&
      !placeless.has(project.metadata.uid) &&
      listedHost(project, host) !== undefined;
    for await (const {items} of client.list(PROJECT, {namespace, signal})) if (items.some(lists)) return false;
    return true;
  }
}
