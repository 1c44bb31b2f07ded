/**
 * Every version of every object of some kinds, in the order in which etcd stored them, so that a test can check every
 * moment, not only the final state.
 */
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {type KubeObject, keyOf, type ResourceType, resourceName} from '../../../src/runtime/kube/object.ts';
import {Hopeless, until} from '../../cluster/wait.ts';

export interface Version<T extends KubeObject = KubeObject> {
  readonly resource: ResourceType;
  readonly key: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  /** The resourceVersion, which is one counter for all kinds, because they share one etcd. */
  readonly at: number;
}

interface Kind {
  readonly resource: ResourceType;
  readonly versions: Version[];
  readonly current: Map<string, KubeObject>;
  /** The newest version of each key, deletions included. */
  readonly newest: Map<string, number>;
  readonly handlers: ((version: Version) => void)[];
}

export class History {
  readonly #client: KubeClient;
  readonly #kinds = new Map<string, Kind>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #newestOnly: boolean;
  #failure: Hopeless | undefined;

  /** `newestOnly`: forgets earlier versions, for tests that follow thousands of objects. */
  constructor(client: KubeClient, {newestOnly = false}: {newestOnly?: boolean} = {}) {
    this.#client = client;
    this.#newestOnly = newestOnly;
  }

  /** Resolves once the existing objects are known. A kind that was just installed may need a moment. */
  async follow(resource: ResourceType, options: {metadataOnly?: boolean} = {}): Promise<void> {
    await until(`${resource.plural} can be watched`, () => this.#canBeWatched(resource));
    const kind: Kind = {resource, versions: [], current: new Map(), newest: new Map(), handlers: []};
    this.#kinds.set(resourceName(resource), kind);
    await new Promise<void>((resolve, reject) => {
      const running = this.#watch(resource, kind, options, resolve).catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#failure ??= new Hopeless(`the history of ${resource.plural} has a gap`, {cause: error});
        reject(this.#failure);
      });
      this.#running.push(running);
    });
  }

  /** All versions of an object, or of all objects of a kind. */
  versions<T extends KubeObject>(resource: ResourceType<T>, key?: string): Version<T>[] {
    const {versions} = this.#kind(resource);
    return (key === undefined ? versions : versions.filter(version => version.key === key)) as Version<T>[];
  }

  get<T extends KubeObject>(resource: ResourceType<T>, key: string): T | undefined {
    return this.#kind(resource).current.get(key) as T | undefined;
  }

  list<T extends KubeObject>(resource: ResourceType<T>, namespace?: string): T[] {
    const objects = [...this.#kind(resource).current.values()] as T[];
    return objects.filter(object => namespace === undefined || object.metadata.namespace === namespace);
  }

  /**
   * Waits until this history contains everything that exists in a namespace now, by default in all of them. Each kind
   * has its own watch, and one may lag behind another: a status can arrive before the route that it describes.
   */
  async catchUp(namespace?: string, resources?: readonly ResourceType[]): Promise<void> {
    const kinds = resources?.map(resource => this.#kind(resource)) ?? [...this.#kinds.values()];
    await Promise.all(kinds.map(kind => this.#catchUp(kind, namespace)));
  }

  /** Calls `handler` with each version from now on. */
  subscribe<T extends KubeObject>(resource: ResourceType<T>, handler: (version: Version<T>) => void): void {
    this.#kind(resource).handlers.push(handler as (version: Version) => void);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async #catchUp({resource, current, newest}: Kind, namespace: string | undefined): Promise<void> {
    const standing = new Map<string, number>();
    let listedAt = 0;
    const within = resource.namespaced && namespace !== undefined ? {namespace} : undefined;
    for await (const {items, resourceVersion} of this.#client.list(resource, {...within, metadataOnly: true})) {
      listedAt = Number(resourceVersion);
      for (const object of items) standing.set(keyOf(object), Number(object.metadata.resourceVersion));
    }
    const isOlder = ({metadata}: KubeObject) => Number(metadata.resourceVersion) < listedAt;
    const isCaughtUp = () => {
      if (this.#failure) return true; // the next read throws it
      const isGone = (object: KubeObject) => !standing.has(keyOf(object)) && isOlder(object);
      const mine = [...current.values()].filter(
        ({metadata}) => within === undefined || metadata.namespace === within.namespace,
      );
      return !mine.some(isGone) && [...standing].every(([key, at]) => (newest.get(key) ?? 0) >= at);
    };
    await until(`the history of ${resource.plural} has caught up`, isCaughtUp, {intervalMs: 5});
  }

  async #canBeWatched(resource: ResourceType): Promise<boolean> {
    const seen = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, seen.signal]);
    const limits = {timeoutMs: 5_000, idleTimeoutMs: 5_000, signal, metadataOnly: true};
    try {
      await this.#client.watch(resource, limits, event => {
        if (event.type === 'BOOKMARK' && event.initialEventsEnd) seen.abort();
      });
    } catch (error) {
      if (!seen.signal.aborted) throw error;
    }
    return seen.signal.aborted;
  }

  #kind(resource: ResourceType): Kind {
    if (this.#failure) throw this.#failure;
    const kind = this.#kinds.get(resourceName(resource));
    if (!kind) throw new Error(`nobody follows ${resource.plural}`);
    return kind;
  }

  async #watch(
    resource: ResourceType,
    {versions, current, newest, handlers}: Kind,
    options: {metadataOnly?: boolean},
    caughtUp: () => void,
  ): Promise<void> {
    const {signal} = this.#stop;
    const limits = {timeoutMs: 3_600_000, idleTimeoutMs: 3_600_000}; // in a bench nothing happens for minutes
    // The API server may end a watch at any time, for example if the reader is briefly slow.
    for (let last: string | undefined; !signal.aborted; ) {
      const from = last === undefined ? {} : {resourceVersion: last};
      await this.#client.watch(resource, {...options, ...limits, ...from, signal}, event => {
        if (event.type === 'BOOKMARK') {
          last = event.resourceVersion;
          if (event.initialEventsEnd) caughtUp();
          return;
        }
        const {type, object} = event;
        const key = keyOf(object);
        const version = {resource, key, type, object, at: Number(object.metadata.resourceVersion)};
        // The initial events are unordered, so only their bookmark says where to continue.
        if (last !== undefined) last = object.metadata.resourceVersion;
        if (!this.#newestOnly) versions.push(version);
        newest.set(key, version.at);
        if (type === 'DELETED') current.delete(key);
        else current.set(key, object);
        for (const handler of handlers) handler(version);
      });
      if (last === undefined) throw new Error('the watch ended before all that existed had arrived');
    }
  }
}
