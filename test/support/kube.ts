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

const WATCH_LIMITS = {timeoutMs: 600_000, idleTimeoutMs: 600_000};

/**
 * Waits until `describe` has nothing to complain of in the object; undefined: it does not exist. Costs the API server one
 * watch, however long it takes. Throws after `timeoutMs`, with the last complaint.
 */
export async function untilObject<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  {namespace, name}: {readonly namespace: string; readonly name: string},
  describe: (object: T | undefined) => string | undefined,
  timeoutMs: number,
): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  let complaint = describe(undefined);
  try {
    for (;;) {
      for await (const event of client.watch(resource, {namespace, signal, ...WATCH_LIMITS})) {
        if (event.type === 'BOOKMARK' || event.object.metadata.name !== name) continue;
        complaint = describe(event.type === 'DELETED' ? undefined : event.object);
        if (complaint === undefined) return event.object;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`${namespace}/${name}: not within ${timeoutMs / 1000} s; ${complaint}`, {cause: error});
  }
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
    try {
      for await (const event of client.watch(resource, {namespace, signal, ...WATCH_LIMITS})) {
        if (event.type !== 'BOOKMARK') this.#uids.set(event.object.metadata.uid ?? '', event.object.metadata.name);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
