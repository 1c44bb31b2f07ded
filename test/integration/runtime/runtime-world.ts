import {pino} from 'pino';
import {Registry} from 'prom-client';
import {NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import {Reflector, type ReflectorOptions} from '../../../src/runtime/cache/reflector.ts';
import type {Delta, Store} from '../../../src/runtime/cache/store.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {PATIENCE_MS, until} from '../../cluster/wait.ts';

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export const CONFIG_MAP: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};

export const logger = pino({level: process.env.TEST_LOG_LEVEL ?? 'silent'});

export function configMap(namespace: string, name: string, data: Record<string, string> = {}): ConfigMap {
  return {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace, name}, data};
}

/** Waits until the cache equals the server's content, by name and resourceVersion. */
export async function equalToServer(direct: KubeClient, namespace: string, store: Store<ConfigMap>): Promise<void> {
  const shown = ({metadata}: {readonly metadata: {readonly name: string; readonly resourceVersion?: string}}) =>
    `${metadata.name}@${metadata.resourceVersion}`;
  const list = async (): Promise<string[]> => {
    const names: string[] = [];
    for await (const page of direct.list(CONFIG_MAP, {namespace})) names.push(...page.items.map(shown));
    return names.sort();
  };
  await until('the cache equals the server', async () => {
    const held = [...store.list()].map(shown).sort();
    return JSON.stringify(held) === JSON.stringify(await list());
  });
}

/** Records what a subscriber gets from now on, as "added x". */
export function record(store: Store<ConfigMap>): string[] {
  const told: string[] = [];
  store.subscribe((delta: Delta<ConfigMap>) => {
    if (delta.object.metadata.name !== 'kube-root-ca.crt') told.push(`${delta.type} ${delta.object.metadata.name}`);
  });
  return told;
}

/** Opens clients and caches, and closes them all at the end of a test. */
export class RuntimeWorld {
  readonly #end = new AbortController();
  readonly #running: Promise<unknown>[] = [];
  readonly #clients: KubeClient[] = [];

  /** Aborts when the test is over. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  client(kubeconfig: string, userAgent = 'test', registry = new Registry()): KubeClient {
    const client = createKubeClient({kubeconfig, userAgent, fieldManager: 'test', registry, logger});
    this.#clients.push(client);
    return client;
  }

  /** A new namespace, so that tests on one API server do not see each other. */
  async namespace(client: KubeClient, name: string): Promise<string> {
    await client.create(NAMESPACE, {apiVersion: 'v1', kind: 'Namespace', metadata: {name}});
    return name;
  }

  /** A settled cache, with a backoff short enough to observe. */
  async cache<T extends KubeObject>(
    client: KubeClient,
    resource: ResourceType<T>,
    options: Partial<ReflectorOptions<T>> = {},
  ): Promise<Store<T>> {
    const backoff = {initialMs: 50, maxMs: 1_000, factor: 2, jitter: 0.5};
    const common = {client, resource, clock: systemClock, logger, registry: new Registry(), backoff};
    const reflector = new Reflector<T>({...common, ...options});
    this.#running.push(reflector.run(this.signal));
    await reflector.store.settled(AbortSignal.any([this.signal, AbortSignal.timeout(PATIENCE_MS)]));
    return reflector.store;
  }

  /** Background work that ends with the test. */
  background(work: Promise<unknown>): void {
    this.#running.push(work);
  }

  async end(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#running);
    await Promise.all(this.#clients.map(client => client.close()));
  }
}
