/**
 * Which objects of an account have a place in its plan: the oldest, and those that hold what they got earlier. Tenants
 * may create any number of objects. So an account that is within its plan is not ranked at all, and one that is beyond
 * it is ranked as a whole after changes, and then rests for many times as long as that took.
 */
import {isDeepStrictEqual} from 'node:util';
import {objectNameOf} from '../../api/host-names.ts';
import {type APIKey, letGoMs} from '../../apikey/apikey.ts';
import type {ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import type {OperatorConfig, PlanConfig} from '../config/config.ts';
import {accountId, accountOf, holderOf, waitsForPlan} from '../kinds/account.ts';
import type {CachedProject, Domain, DomainClaim} from '../kinds/kinds.ts';
import {accountIn, INDEX, type Stores} from './stores.ts';

/**
 * After a pass, an account rests this many times as long as the pass took: so it takes at most a hundredth of a core for
 * each kind, and all accounts together take at most a tenth, however many are beyond their plans.
 */
const REST = 100;
const REST_PER_ACCOUNT = 10;
/** How often to look whether the caches are filled. */
const FILLING_MS = 1000;
const NONE: ReadonlySet<string> = new Set();

/** Says in its status if it has no place. */
type Placed = KubeObject & Parameters<typeof waitsForPlan>[0];

interface Parts<T extends Placed> {
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
export class Places<T extends Placed> {
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
    const found: DeepReadonly<T>[] = [];
    for (const key of placed) {
      const object = key.startsWith(`${namespace}/`) ? store.get(key) : undefined;
      if (object) found.push(object);
    }
    return found;
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
    const moved = this.#moved(account, before?.placed, placed);
    const endsAt = clock.monotonic();
    const rest = Math.max(REST, REST_PER_ACCOUNT * this.#ranks.size);
    if (placed) this.#ranks.set(account, {placed, restsUntilMs: endsAt + rest * (endsAt - startsAt)});
    else this.#ranks.delete(account);
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
    return this.#ranks.get(account)?.placed ?? NONE;
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
    const places = Math.max(...limits.values()) - held.length;
    const oldest = oldestOf(others, places).filter(
      ({metadata: {namespace = ''}}, older) => held.length + older < (limits.get(namespace) ?? 0),
    );
    return new Set([...held, ...oldest].map(keyOf));
  }

  /**
   * The keys of those that got or lost a place. Undefined: all have one. What already says that it has none is not
   * reported when a process ranks the account for the first time: there may be any number.
   */
  #moved(account: string, before: ReadonlySet<string> | undefined, placed: ReadonlySet<string> | undefined) {
    const {store, namespaces} = this.#parts;
    if (before && placed) return [...before.symmetricDifference(placed)].filter(key => store.get(key));
    if (!before && !placed) return [];
    const own = namespaces.byIndex(INDEX.account, account);
    const all = own.flatMap(({metadata}) => store.byIndex(INDEX.namespace, metadata.name));
    const moved = all.filter(each => !(before?.has(keyOf(each)) || placed?.has(keyOf(each))));
    return moved.filter(each => before || !waitsForPlan(each)).map(keyOf);
  }
}

/**
 * The oldest first. Sorts only a few at a time: a tenant may create any number, with long names that differ only in
 * their last characters, which takes a second for 50,000 of them.
 */
function oldestOf<T extends KubeObject>(all: readonly DeepReadonly<T>[], count: number): DeepReadonly<T>[] {
  const oldest: DeepReadonly<T>[] = [];
  if (count <= 0) return oldest;
  let youngest: DeepReadonly<T> | undefined;
  for (const object of all) {
    if (youngest && compareAges(youngest, object) < 0) continue;
    oldest.push(object);
    if (oldest.length < 2 * count) continue;
    oldest.sort(compareAges).length = count;
    youngest = oldest.at(-1);
  }
  return oldest.sort(compareAges).slice(0, count);
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

/** For a function that only looks whether objects of these kinds have a place. */
export type Placing<Kinds extends keyof PlacesOfKinds> = {
  readonly [kind in Kinds]: Pick<PlacesOfKinds[kind], 'has'>;
};

export function createPlaces(stores: Stores, config: OperatorConfig, clock: Clock): PlacesOfKinds {
  const {namespaces, claims, keyClaims} = stores;
  const routes = stores.routes.map(({store}) => store);
  const domains = new Places({
    ...{store: stores.domains, namespaces, config, clock, max: ({maxDomains}) => maxDomains, reads: [claims]},
    holds: ({metadata: {namespace = ''}, spec}, account) =>
      holderOf(claims.get(objectNameOf(spec.host)), {id: account}, namespace) === 'us',
  });
  claims.subscribe(({type, object, old = object}) => {
    const before = type === 'added' ? undefined : holding(old);
    const now = type === 'deleted' ? undefined : holding(object);
    if (!isDeepStrictEqual(before, now)) for (const holder of [before, now]) domains.touch(holder?.account);
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

/** Undefined if the host is released, or is a default host. */
function holding({spec}: DeepReadonly<DomainClaim>) {
  const {account, namespace, releasedAt, project} = spec;
  return releasedAt === undefined && project === undefined ? {account, namespace} : undefined;
}
