/**
 * The setup that these tests share. Importing this gives a file its own API server behind a fault proxy, and each test
 * its own world, clients, and namespace.
 */
import {afterAll, afterEach, beforeAll, beforeEach, expect} from 'vitest';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {type FaultProxy, startFaultProxy} from './fault-proxy.ts';
import {RuntimeWorld} from './runtime-world.ts';

export let api: ApiServer;
export let proxy: FaultProxy;
export let world: RuntimeWorld;
/** Connects directly to the API server. */
export let direct: KubeClient;
/** Connects through the proxy. */
export let client: KubeClient;
export let namespace: string;
let count = 0;

beforeAll(async () => {
  api = await startApiServer();
  proxy = await startFaultProxy(api);
});

afterAll(async () => {
  await proxy?.stop();
  await api?.stop();
});

beforeEach(async () => {
  world = new RuntimeWorld();
  direct = world.client(api.kubeconfig);
  client = world.client(proxy.kubeconfig);
  proxy.intercept = () => undefined;
  namespace = await world.namespace(direct, `test-${++count}`);
  proxy.seen.length = 0;
});

afterEach(() => world.end());

/** The error with which the call fails. */
export async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => expect.unreachable('the call should fail'),
    (error: unknown) => error,
  );
}
