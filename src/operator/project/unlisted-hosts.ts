/**
 * Whether the API server, too, has no Project that lists a host, apart from those without a place in the plan that do
 * not own its Domain. This takes a read of all Projects of the namespace, and a tenant may create any number of them, of
 * any size. If there are many, one reconcile at a time reads them. After a read that took long, the namespace rests.
 */
import {hostNamed} from '../../api/host-names.ts';
import {keyOf} from '../../runtime/kube/object.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import type {ApiAccess} from '../caches/context.ts';
import {BEHIND_MS, readFresh} from '../caches/fresh.ts';
import {listing, owns} from '../caches/listing.ts';
import {INDEX} from '../caches/stores.ts';
import {accountOf} from '../kinds/account.ts';
import {NAMESPACE, PROJECT, type Project} from '../kinds/kinds.ts';
import {desiredDomain, listedHost} from '../kinds/project-hosts.ts';
import type {ProjectOperator} from './context.ts';

/** As many as fit in a page of the API server's answer, unless they are large. */
const FEW = 500;
/** A rest takes this many times as long as the read before it. */
const REST = 4;
/** After a shorter read of a few Projects, there is no rest. */
const SHORT_MS = 200;
/** Longer than a read may take. */
const READ_MS = 120_000;
const NAMESPACES = 10_000;

type Parts = Pick<ProjectOperator, 'stores' | 'places' | 'config' | 'clock'>;

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
    const areMany = stores.projects.countByIndex(INDEX.namespace, namespace) > FEW;
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
    const [namespace = '', name = ''] = key.split('/');
    const host = hostNamed(name);
    const isPlaceless = (project: Project) => {
      const cached = stores.projects.get(keyOf(project));
      const isKnown = cached !== undefined && cached.metadata.uid === project.metadata.uid;
      return isKnown && !places.projects.has(cached) && !owns(cached, stores.domains.get(key));
    };
    const found = new Set<string | undefined>();
    let isByPlan = false;
    for await (const {items} of api.client.list(PROJECT, {namespace, signal: api.signal})) {
      for (const project of items) {
        const {uid, deletionTimestamp} = project.metadata;
        found.add(uid);
        if (deletionTimestamp || listedHost(project, host) === undefined) continue;
        if (!isPlaceless(project)) return false;
        isByPlan = true;
      }
    }
    if (isByPlan) {
      // A place may have become free: by another plan, or by a Project that is gone.
      if (!(await this.#isPlanConfirmed(api, namespace))) return false;
      if (places.projects.in(namespace).some(({metadata}) => !found.has(metadata.uid))) return false;
    }
    // The caches may have changed since the caller judged by them.
    return desiredDomain(host, listing(this.#parts, key)) === undefined;
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
