/**
 * Every version of every object of some kinds, in the order in which etcd stored them: so a test can say what stood at
 * each moment, not only what stands in the end.
 */
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {type KubeObject, keyOf, type ResourceType, resourceName} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';

export interface Version<T extends KubeObject = KubeObject> {
  readonly resource: ResourceType;
  readonly key: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: T;
  /** The resourceVersion: one counter over all kinds, as they share one etcd. */
  readonly at: number;
}

interface Kind {
  readonly versions: Version[];
  readonly current: Map<string, KubeObject>;
  readonly handlers: ((version: Version) => void)[];
}

export class History {
  readonly #client: KubeClient;
  readonly #kinds = new Map<string, Kind>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #newestOnly: boolean;
  #failure: Error | undefined;

  /** `newestOnly`: no memory of what stood before, for those who follow thousands of objects. */
  constructor(client: KubeClient, {newestOnly = false}: {newestOnly?: boolean} = {}) {
    this.#client = client;
    this.#newestOnly = newestOnly;
  }

  /** Resolves when the objects that exist are known; a kind that has just been installed may need a moment. */
  async follow(resource: ResourceType, options: {metadataOnly?: boolean} = {}): Promise<void> {
    await until(`${resource.plural} can be watched`, () => this.#canBeWatched(resource));
    const kind: Kind = {versions: [], current: new Map(), handlers: []};
    this.#kinds.set(resourceName(resource), kind);
    await new Promise<void>((resolve, reject) => {
      const running = this.#watch(resource, kind, options, resolve).catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#failure ??= new Error(`the history of ${resource.plural} has a gap`, {cause: error});
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

  /** Calls `handler` with each version from now on. */
  subscribe<T extends KubeObject>(resource: ResourceType<T>, handler: (version: Version<T>) => void): void {
    this.#kind(resource).handlers.push(handler as (version: Version) => void);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async #canBeWatched(resource: ResourceType): Promise<boolean> {
    const limits = {timeoutMs: 5_000, idleTimeoutMs: 5_000, signal: this.#stop.signal, metadataOnly: true};
    for await (const event of this.#client.watch(resource, limits)) {
      if (event.type === 'BOOKMARK' && event.initialEventsEnd) return true;
    }
    return false;
  }

  #kind(resource: ResourceType): Kind {
    if (this.#failure) throw this.#failure;
    const kind = this.#kinds.get(resourceName(resource));
    if (!kind) throw new Error(`nobody follows ${resource.plural}`);
    return kind;
  }

  async #watch(
    resource: ResourceType,
    {versions, current, handlers}: Kind,
    options: {metadataOnly?: boolean},
    caughtUp: () => void,
  ): Promise<void> {
    const {signal} = this.#stop;
    const limits = {timeoutMs: 3_600_000, idleTimeoutMs: 3_600_000}; // in a bench nothing happens for minutes
    for await (const event of this.#client.watch(resource, {...options, ...limits, signal})) {
      if (event.type === 'BOOKMARK') {
        if (event.initialEventsEnd) caughtUp();
        continue;
      }
      const {type, object} = event;
      const key = keyOf(object);
      const version = {resource, key, type, object, at: Number(object.metadata.resourceVersion)};
      if (!this.#newestOnly) versions.push(version);
      if (type === 'DELETED') current.delete(key);
      else current.set(key, object);
      for (const handler of handlers) handler(version);
    }
    if (!signal.aborted) throw new Error('the watch ended');
  }
}
