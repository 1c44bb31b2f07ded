/**
 * Which objects of an account have a place in its plan: the oldest, and those that hold what they got earlier. Tenants
 * may create any number of objects. So an account that is within its plan is not ranked at all, and one that is beyond
 * it is ranked as a whole after changes, and then rests for many times as long as that took.
 */
import type {Clock} from '../../base/clock.ts';
import type {APIKey} from '../../keys/apikey.ts';
import {letGoMs} from '../../keys/validity.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {accountId, accountOf} from '../model/account.ts';
import type {OperatorConfig, PlanConfig} from '../model/config.ts';
import type {CachedProject, Domain, DomainClaim} from '../model/kinds.ts';
import {accountIn, INDEX, type Stores} from './stores.ts';

/** So an account beyond its plan takes at most a hundredth of a core for each kind. */
const REST = 100;
/** How often to look whether the caches are filled. */
const FILLING_MS = 1000;

interface Parts<T extends KubeObject> {
  readonly store: ReadonlyStore<T>;
  readonly namespaces: ReadonlyStore<KubeObject>;
  readonly config: OperatorConfig;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly max: (plan: PlanConfig) => number;
  /** Whether the object keeps its place, whatever its age. */
  readonly holds: (object: DeepReadonly<T>, account: string) => boolean;
  /** The other stores that `holds` reads. */
  readonly reads: readonly ReadonlyStore<KubeObject>[];
}

interface Rank {
  /** The keys of those with a place. */
  readonly placed: ReadonlySet<string>;
  /** On the monotonic clock. */
  readonly restsUntilMs: number;
}

/**
 * Of one kind. What it says about an account that rests is what it last found; an object that is new since then has no
 * place yet.
 */
export class Places<T extends KubeObject> {
  readonly #parts: Parts<T>;
  /** Of accounts that are beyond their plan. */
  readonly #ranks = new Map<string, Rank>();
  /** Accounts that have changed since they were ranked. */
  readonly #stale = new Set<string>();
  readonly #onStale = new Set<(account: string) => void>();
  readonly #onMove = new Set<(key: string) => void>();

  /** Create it before any controller subscribes, so that it is up to date when the controllers are called. */
  constructor(parts: Parts<T>) {
    this.#parts = parts;
    parts.store.subscribe(({type, object}) => {
      if (type !== 'updated') this.touch(accountIn(parts, object.metadata.namespace));
    });
    parts.namespaces.subscribe(({object, old = object}) => {
      for (const account of new Set([old, object].map(accountId))) this.touch(account);
    });
  }

  /** Calls the handler with an account that `refresh` should rank. */
  onStale(handler: (account: string) => void): void {
    this.#onStale.add(handler);
  }

  /** Calls the handler with the key of an object that got or lost its place because others changed. */
  onMove(handler: (key: string) => void): void {
    this.#onMove.add(handler);
  }

  has(object: DeepReadonly<T>): boolean {
    return this.#placedIn(object.metadata.namespace ?? '')?.has(keyOf(object)) ?? true;
  }

  /** The objects of a namespace that have a place. */
  in(namespace: string): readonly DeepReadonly<T>[] {
    const {store} = this.#parts;
    const placed = this.#placedIn(namespace);
    if (!placed) return store.byIndex(INDEX.namespace, namespace);
    return [...placed].filter(key => key.startsWith(`${namespace}/`)).flatMap(key => store.get(key) ?? []);
  }

  /** Something in the account has changed that decides about places. */
  touch(account: string | undefined): void {
    if (account === undefined) return; // its namespace is not cached yet
    this.#stale.add(account);
    for (const handler of this.#onStale) handler(account);
  }

  /** Ranks the account if that is due. Returns in how many milliseconds to call again; 0: not before it is stale. */
  refresh(account: string): number {
    const {store, namespaces, reads, clock} = this.#parts;
    if (!this.#stale.has(account)) return 0;
    if ([store, namespaces, ...reads].some(({state}) => state === 'syncing')) return FILLING_MS;
    const startsAt = clock.monotonic();
    const before = this.#ranks.get(account);
    const restMs = (before?.restsUntilMs ?? 0) - startsAt;
    if (restMs > 0) return restMs;
    this.#stale.delete(account);
    const placed = this.#rank(account);
    const endsAt = clock.monotonic();
    if (placed) this.#ranks.set(account, {placed, restsUntilMs: endsAt + REST * (endsAt - startsAt)});
    else this.#ranks.delete(account);
    const moved = before ? this.#moved(account, before.placed, placed) : [];
    for (const key of moved) for (const handler of this.#onMove) handler(key);
    return 0;
  }

  /** The keys of those with a place; undefined if that is all of the namespace. */
  #placedIn(namespace: string): ReadonlySet<string> | undefined {
    const account = accountIn(this.#parts, namespace);
    if (account === undefined) return undefined;
    const {own, count} = this.#countIn(account);
    if (own.some(({name, limit}) => name === namespace && count <= limit)) return undefined;
    this.refresh(account);
    return this.#ranks.get(account)?.placed;
  }

  #countIn(account: string) {
    const {store, namespaces, config, max} = this.#parts;
    const own = namespaces
      .byIndex(INDEX.account, account)
      .map(namespace => ({name: namespace.metadata.name, limit: max(accountOf(namespace, config).plan)}));
    return {own, count: own.reduce((sum, {name}) => sum + store.countByIndex(INDEX.namespace, name), 0)};
  }

  /** Undefined if all have a place. */
  #rank(account: string): ReadonlySet<string> | undefined {
    const {store, holds} = this.#parts;
    const {own, count} = this.#countIn(account);
    if (own.every(({limit}) => count <= limit)) return undefined;
    const limits = new Map(own.map(({name, limit}) => [name, limit]));
    const all = own.flatMap(({name}) => store.byIndex(INDEX.namespace, name));
    const {true: held = [], false: others = []} = Object.groupBy(all, object => `${holds(object, account)}`);
    const oldest = others
      .sort(compareAges)
      .filter(({metadata: {namespace = ''}}, older) => held.length + older < (limits.get(namespace) ?? 0));
    return new Set([...held, ...oldest].map(keyOf));
  }

  #moved(account: string, before: ReadonlySet<string>, placed: ReadonlySet<string> | undefined): readonly string[] {
    const {store, namespaces} = this.#parts;
    if (placed) return [...before.symmetricDifference(placed)].filter(key => store.get(key));
    const own = namespaces.byIndex(INDEX.account, account);
    const all = own.flatMap(({metadata}) => store.byIndex(INDEX.namespace, metadata.name).map(keyOf));
    return all.filter(key => !before.has(key));
  }
}

/** The name decides between objects of the same second. */
function compareAges({metadata: a}: DeepReadonly<KubeObject>, {metadata: b}: DeepReadonly<KubeObject>): number {
  const ages = compareTexts(a.creationTimestamp, b.creationTimestamp);
  return ages || compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name);
}

function compareTexts(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export interface PlacesOfKinds {
  /** Only these Projects are published and get new Domains. */
  readonly projects: Places<CachedProject>;
  /** Only these Domains are set up. */
  readonly domains: Places<Domain>;
  /** Only these APIKeys get a key. */
  readonly apiKeys: Places<APIKey>;
}

export function createPlaces(stores: Stores, config: OperatorConfig, clock: Clock): PlacesOfKinds {
  const {namespaces, claims, keyClaims} = stores;
  const routes = stores.routes.map(({store}) => store);
  const domains = new Places({
    ...{store: stores.domains, namespaces, config, clock, max: ({maxDomains}) => maxDomains, reads: [claims]},
    holds: ({metadata, spec}, account) => {
      const holder = claims.get(spec.host)?.spec;
      return (
        holder !== undefined && isHeld(holder) && holder.account === account && holder.namespace === metadata.namespace
      );
    },
  });
  claims.subscribe(delta => {
    if (freesPlace(delta)) domains.touch((delta.old ?? delta.object).spec.account);
  });
  return {
    domains,
    projects: new Places({
      ...{store: stores.projects, namespaces, config, clock, max: ({maxProjects}) => maxProjects, reads: routes},
      // Only the operator creates routes: its objects are found by their names, too.
      holds: project => {
        const key = keyOf(project);
        return routes.some(store => store.countByIndex(INDEX.defaultHost, key) > 0);
      },
    }),
    apiKeys: new Places({
      ...{store: stores.apiKeys, namespaces, config, clock, max: ({maxApiKeys}) => maxApiKeys, reads: [keyClaims]},
      holds: apiKey =>
        keyClaims.byIndex(INDEX.apiKey, keyOf(apiKey)).some(({spec}) => letGoMs(spec, clock.now()) === undefined),
    }),
  };
}

function isHeld({releasedAt, project}: DeepReadonly<DomainClaim['spec']>): boolean {
  return releasedAt === undefined && project === undefined;
}

/** The holder has lost or released the host. */
function freesPlace({type, object, old = object}: Delta<DomainClaim>): boolean {
  if (!isHeld(old.spec)) return false;
  const isSame = old.spec.account === object.spec.account && old.spec.namespace === object.spec.namespace;
  return type === 'deleted' || !isHeld(object.spec) || !isSame;
}
