/**
 * Whether the API server, too, has no Project that lists a host, apart from Projects without a place in the plan. This
 * takes a read of all Projects of the namespace, and a tenant may create any number of them, of any size. If there are
 * many, one reconcile at a time reads them. After a read that took long, the namespace rests.
 */
import {TtlCache} from '../../base/ttl-cache.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {accountOf} from '../model/account.ts';
import {NAMESPACE, PROJECT, type Project} from '../model/kinds.ts';
import {desiredDomain, listedHost} from '../model/project-hosts.ts';
import type {ApiAccess, Operator} from './context.ts';
import {BEHIND_MS, readFresh} from './fresh.ts';
import {INDEX} from './stores.ts';

/** As many as fit in a page of the API server's answer, unless they are large. */
const FEW = 500;
/** A rest takes this many times as long as the read before it. */
const REST = 4;
/** After a shorter read of a few Projects, there is no rest. */
const SHORT_MS = 200;
/** Longer than a read may take. */
const READ_MS = 120_000;
const NAMESPACES = 10_000;

type Parts = Pick<Operator, 'stores' | 'places' | 'config' | 'clock'>;

export class UnlistedHosts {
  readonly #parts: Parts;
  /** Until when the Projects of a namespace are not read again, on the monotonic clock. */
  readonly #restsUntilMs: TtlCache<number>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#restsUntilMs = new TtlCache(parts.clock, NAMESPACES);
  }

  /** 0: no Project lists the host, apart from those without a place. Otherwise, when to ask again. */
  async waitMs(api: ApiAccess, key: string): Promise<number> {
    const {stores, clock} = this.#parts;
    const [namespace = ''] = key.split('/');
    const startMs = clock.monotonic();
    const restsUntilMs = this.#restsUntilMs.get(namespace);
    if (restsUntilMs !== undefined) return Math.max(Math.min(restsUntilMs - startMs, BEHIND_MS), 1);
    const areMany = stores.projectAges.count([namespace]) > FEW;
    if (areMany) this.#rest(namespace, READ_MS);
    try {
      return (await this.#isUnlisted(api, key)) ? 0 : BEHIND_MS;
    } finally {
      const tookMs = clock.monotonic() - startMs;
      if (areMany || tookMs >= SHORT_MS) this.#rest(namespace, REST * tookMs);
    }
  }

  #rest(namespace: string, ms: number): void {
    this.#restsUntilMs.set(namespace, this.#parts.clock.monotonic() + ms, ms);
  }

  async #isUnlisted(api: ApiAccess, key: string): Promise<boolean> {
    const {stores, places} = this.#parts;
    const [namespace = '', host = ''] = key.split('/');
    const listing = () => stores.projects.byIndex(INDEX.host, key).filter(({metadata}) => !metadata.deletionTimestamp);
    const isByPlan = listing().length > 0;
    if (isByPlan && !(await this.#isPlanConfirmed(api, namespace))) return false;
    // Judges by the caches that the API server has just confirmed; they may have changed since the caller did.
    if (desiredDomain(host, places.listing(key))) return false;
    const placeless = uidsOf(listing());
    const placed = uidsOf(isByPlan ? places.in(namespace) : []);
    const lists = (project: Project) =>
      !project.metadata.deletionTimestamp &&
      !placeless.has(project.metadata.uid) &&
      listedHost(project, host) !== undefined;
    for await (const {items} of api.client.list(PROJECT, {namespace, signal: api.signal})) {
      if (items.some(lists)) return false;
      for (const {metadata} of items) placed.delete(metadata.uid);
    }
    return placed.size === 0;
  }

  async #isPlanConfirmed(api: ApiAccess, name: string): Promise<boolean> {
    const {stores, config} = this.#parts;
    const fresh = await readFresh(api, NAMESPACE, {name}, {metadataOnly: true});
    const cached = stores.namespaces.get(name); // after the read, as everything that is judged by it
    if (!cached || !fresh) return false;
    const [known, current] = [accountOf(cached, config), accountOf(fresh, config)];
    return known.id === current.id && known.planName === current.planName;
  }
}

function uidsOf(projects: readonly DeepReadonly<Project>[]): Set<string | undefined> {
  return new Set(projects.map(({metadata}) => metadata.uid));
}
