/** The tests' own access to the API server, through the client that the operator uses. */
import pino from 'pino';
import {Registry} from 'prom-client';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {createKubeClient} from '../../src/runtime/kube/http-client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';

export function createTestClient(kubeconfig: string, fieldManager = 'tests'): KubeClient {
  const logger = pino({level: 'silent'});
  return createKubeClient({kubeconfig, userAgent: 'nameplate-tests', fieldManager, registry: new Registry(), logger});
}

export async function listAll<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  selector: {namespace?: string; labelSelector?: string} = {},
): Promise<T[]> {
  const items: T[] = [];
  for await (const page of client.list(resource, selector)) items.push(...page.items);
  return items;
}

/** Every object of a kind that exists in the namespace or comes to be, also one that is soon gone again. */
export class Created {
  readonly #uids = new Map<string, string>();
  readonly #stopping = new AbortController();
  readonly #run: Promise<void>;

  constructor(client: KubeClient, resource: ResourceType, namespace: string) {
    this.#run = this.#watch(client, resource, namespace);
  }

  get names(): string[] {
    return [...this.#uids.values()];
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#run;
  }

  async #watch(client: KubeClient, resource: ResourceType, namespace: string): Promise<void> {
    const {signal} = this.#stopping;
    const limits = {timeoutMs: 600_000, idleTimeoutMs: 600_000};
    try {
      for await (const event of client.watch(resource, {namespace, signal, ...limits})) {
        if (event.type !== 'BOOKMARK') this.#uids.set(event.object.metadata.uid ?? '', event.object.metadata.name);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
