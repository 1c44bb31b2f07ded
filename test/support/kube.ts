/** The tests' own access to the API server, with the operator's client. */
import {setTimeout as delay} from 'node:timers/promises';
import pino from 'pino';
import {Registry} from 'prom-client';
import type {WatchEvent} from '../../src/runtime/kube/calls.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {ApiError} from '../../src/runtime/kube/errors.ts';
import {createKubeClient} from '../../src/runtime/kube/http-client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import {PATIENCE_MS} from '../cluster/wait.ts';

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
 * Waits until `describe` has no complaint about the object, which is undefined if it does not exist. Costs the API
 * server only one watch, no matter how long it takes. Throws after three minutes, with the last complaint.
 */
export async function untilObject<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  {namespace, name}: {readonly namespace: string; readonly name: string},
  describe: (object: T | undefined) => string | undefined,
): Promise<T> {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const stopping = new AbortController();
  const options = {namespace, signal: AbortSignal.any([limit, stopping.signal]), ...WATCH_LIMITS};
  const {promise: found, resolve} = Promise.withResolvers<T>();
  let complaint = describe(undefined);
  const onEvent = (event: WatchEvent<T>): void => {
    if (event.type === 'BOOKMARK' || event.object.metadata.name !== name) return;
    complaint = describe(event.type === 'DELETED' ? undefined : event.object);
    if (complaint === undefined) resolve(event.object);
  };
  const watching = async (): Promise<never> => {
    for (;;) await client.watch(resource, options, onEvent);
  };
  try {
    return await Promise.race([found, watching()]);
  } catch (error) {
    if (!limit.aborted) throw error;
    throw new Error(`${namespace}/${name}: not within ${PATIENCE_MS / 1000} s; ${complaint}`, {cause: error});
  } finally {
    stopping.abort();
  }
}

/**
 * Calls back for each existing object and for each change from now on. The returned function stops this, and throws any
 * error.
 */
export function follow<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  selector: {readonly namespace?: string; readonly labelSelector?: string},
  onChange: (object: T, type: 'ADDED' | 'MODIFIED' | 'DELETED') => void,
): () => Promise<void> {
  const stopping = new AbortController();
  const {signal} = stopping;
  const run = async () => {
    try {
      // The server ends each watch after a while. The next one begins with all existing objects.
      while (!signal.aborted) {
        try {
          await client.watch(resource, {...selector, signal, ...WATCH_LIMITS}, event => {
            if (event.type !== 'BOOKMARK') onChange(event.object, event.type);
          });
        } catch (error) {
          // The API server answers 429 while it fills the cache of a new kind.
          if (!(error instanceof ApiError) || error.status !== 429) throw error;
          await delay(error.retryAfterMs ?? 1000, undefined, {signal});
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  const running = run();
  running.catch(() => {}); // the returned function throws it
  return () => {
    stopping.abort();
    return running;
  };
}
