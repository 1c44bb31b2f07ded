/**
 * What the alternatives to two decisions (docs/decisions) would do, on a real API server:
 *
 * - claims-by-put: two writers with one field manager race for a record, by POST and PUT, or by server-side apply;
 * - no-finalizers: deletions with and without a finalizer, and a namespace whose finalizers nobody removes.
 *
 *     node bench/decisions/bench.ts      2 minutes on 2 cores
 */
import {join} from 'node:path';
import {DOMAIN_CLAIM} from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {type KubeObject, resourceType} from '../../src/runtime/kube/object.ts';
import {startApiServer} from '../../test/cluster/apiserver.ts';
import {createTestClient} from '../../test/support/kube.ts';
import {median} from '../statistics.ts';

const RACES = 200;
const DELETIONS = 200;
const HANGS_MS = 30_000;
const CONFIG_MAP = resourceType<KubeObject>('v1', 'ConfigMap', 'configmaps');
const NAMESPACE = 'tenant';
const FINALIZER = 'nameplate.dev/bench';

let made = 0;
const named = (kind: 'ConfigMap' | 'Service', rest: object = {}, namespace = NAMESPACE) => {
  const {metadata = {}, ...fields} = rest as {metadata?: object};
  return {apiVersion: 'v1', kind, metadata: {namespace, name: `made-${made++}`, ...metadata}, ...fields} as KubeObject;
};

/** Counts the races in which both writers, for two accounts, succeed. */
async function race(client: KubeClient): Promise<void> {
  const claimOf = (name: string, account: string, resourceVersion?: string) => ({
    ...{apiVersion: 'nameplate.dev/v1alpha1', kind: 'DomainClaim'},
    metadata: {name, ...(resourceVersion !== undefined && {resourceVersion})},
    spec: {account, namespace: account, since: '2026-11-24T00:00:00Z', accountSince: '2026-11-24T00:00:00Z'},
  });
  /** Each writes an account that the record does not have yet: a PUT that changes nothing writes nothing. */
  const isTwo = async (write: (account: string) => Promise<unknown>, ...accounts: string[]) => {
    const results = await Promise.allSettled(accounts.map(write));
    return results.every(({status}) => status === 'fulfilled') ? 1 : 0;
  };
  const two = {create: 0, replace: 0, applyNew: 0, applyExisting: 0};
  for (let index = 0; index < RACES; index++) {
    const [posted, applied] = [`a${index}.example.com`, `b${index}.example.com`];
    two.create += await isTwo(account => client.create(DOMAIN_CLAIM, claimOf(posted, account)), 'a', 'b');
    const version = (await client.get(DOMAIN_CLAIM, {name: posted}))?.metadata.resourceVersion;
    two.replace += await isTwo(account => client.replace(DOMAIN_CLAIM, claimOf(posted, account, version)), 'c', 'd');
    two.applyNew += await isTwo(account => client.apply(DOMAIN_CLAIM, claimOf(applied, account)), 'a', 'b');
    two.applyExisting += await isTwo(account => client.apply(DOMAIN_CLAIM, claimOf(applied, account)), 'c', 'd');
  }
  console.log(
    `claims-by-put: of ${RACES} races each, both writers succeeded in ${two.create} by POST, ${two.replace} by PUT, ${two.applyNew} by apply of a new record, ${two.applyExisting} by apply of an existing one`,
  );
}

type Kubectl = (...args: string[]) => Promise<string>;

async function end(client: KubeClient, kubectl: Kubectl): Promise<void> {
  const finalizers = [FINALIZER];
  const msOf = async (metadata: object, remove: (object: KubeObject) => Promise<unknown>) => {
    const times: number[] = [];
    for (let index = 0; index < DELETIONS; index++) {
      const object = await client.create(CONFIG_MAP, named('ConfigMap', {metadata}));
      const startedAt = performance.now();
      await remove(object);
      times.push(performance.now() - startedAt);
    }
    return median(times).toFixed(2);
  };
  const keyOf = ({metadata: {namespace, name}}: KubeObject) => ({...(namespace && {namespace}), name});
  const plain = await msOf({}, object => client.delete(CONFIG_MAP, keyOf(object)));
  const kept = await msOf({finalizers}, async object => {
    await client.delete(CONFIG_MAP, keyOf(object));
    await client.patch(CONFIG_MAP, keyOf(object), {metadata: {finalizers: null}});
  });
  const namespaceEnds = async (namespace: string, metadata: object) => {
    await kubectl('create', 'namespace', namespace);
    for (let index = 0; index < 20; index++) await client.create(CONFIG_MAP, named('ConfigMap', {metadata}, namespace));
    const startedAt = performance.now();
    try {
      await kubectl('delete', 'namespace', namespace, `--timeout=${HANGS_MS / 1000}s`);
      return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    } catch {
      return `not within ${HANGS_MS / 1000} s`;
    }
  };
  const [without, hangs] = [await namespaceEnds('plain', {}), await namespaceEnds('hanging', {finalizers})];
  console.log(
    `no-finalizers: a deletion takes ${plain} ms in one request, ${kept} ms in two with a finalizer; a namespace of 20 objects is gone after ${without}, and, if nobody removes the finalizers, ${hangs}`,
  );
}

const api = await startApiServer({crds: [join(import.meta.dirname, '../../crds')]});
const client = createTestClient(api.kubeconfig, 'bench');
const kubectl: Kubectl = (...args) => api.kubectl(...args);
try {
  await kubectl('create', 'namespace', NAMESPACE);
  await race(client);
  await end(client, kubectl);
} finally {
  await client.close();
  await api.stop();
}
