/**
 * What the alternatives to three decisions (docs/decisions) would do, on a real API server:
 *
 * - claims-by-put: two writers with one field manager race for a record, by POST and PUT, or by server-side apply;
 * - held-hosts: a create that a policy judges by its parameter, or that a webhook judges which accepts everything; and
 *   how many hosts a record takes;
 * - no-finalizers: deletions with and without a finalizer, and a namespace whose finalizers nobody removes.
 *
 *     node bench/decisions/bench.ts      3 minutes on 2 cores
 */
import {randomUUID} from 'node:crypto';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer} from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {DOMAIN_CLAIM, HELD_HOSTS, SERVICE} from '../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {type KubeObject, resourceType} from '../../src/runtime/kube/object.ts';
import {startApiServer} from '../../test/cluster/apiserver.ts';
import {createTestClient} from '../../test/support/kube.ts';
import {selfSigned} from '../../test/support/self-signed.ts';
import {median} from '../statistics.ts';

const RACES = 200;
const ROUNDS = 10;
const CREATES = 40;
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

/** Runs in a separate thread and accepts everything. */
function serveWebhook({cert, key}: {cert: string; key: string}): void {
  const server = createServer({cert, key}, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const {apiVersion, kind, request: given} = JSON.parse(text);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({apiVersion, kind, response: {uid: given.uid, allowed: true}}));
  });
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as {port: number}).port));
}

const RULES = [{apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services']}];
const meta = (kind: string) => ({apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: {name: 'bench'}});
const POLICY = {
  ...meta('ValidatingAdmissionPolicy'),
  spec: {
    paramKind: {apiVersion: 'v1', kind: 'ConfigMap'},
    matchConstraints: {resourceRules: RULES},
    validations: [{expression: '!has(params.data) || !(object.metadata.name in params.data)'}],
  },
};
const BINDING = {
  ...meta('ValidatingAdmissionPolicyBinding'),
  spec: {
    policyName: 'bench',
    paramRef: {name: 'held', parameterNotFoundAction: 'Deny'},
    validationActions: ['Deny'],
  },
};

async function judgeCreates(client: KubeClient, kubectl: Kubectl, apply: (text: string) => Promise<string>) {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-bench-'));
  const {cert, key} = await selfSigned(folder, 'webhook', 'IP:127.0.0.1');
  await rm(folder, {recursive: true});
  const worker = new Worker(import.meta.filename, {workerData: {cert: `${cert}`, key: `${key}`}});
  const port = await new Promise<number>(resolve => worker.once('message', resolve));
  const webhook = {
    ...meta('ValidatingWebhookConfiguration'),
    webhooks: [
      {
        ...{name: 'bench.nameplate.dev', rules: RULES, admissionReviewVersions: ['v1'], sideEffects: 'None'},
        clientConfig: {url: `https://127.0.0.1:${port}/`, caBundle: cert.toString('base64')},
      },
    ],
  };
  await client.create(CONFIG_MAP, named('ConfigMap', {metadata: {name: 'held'}}));
  const modes: Record<string, readonly object[]> = {neither: [], policy: [POLICY, BINDING], webhook: [webhook]};
  const medians: Record<string, number[]> = {neither: [], policy: [], webhook: []};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [mode, objects] of Object.entries(modes)) {
      for (const object of objects) await apply(JSON.stringify(object));
      await delay(2_000); // the API server reads them and compiles the policy
      const times: number[] = [];
      for (let index = 0; index < CREATES; index++) {
        const startedAt = performance.now();
        await client.create(SERVICE, named('Service', {spec: {clusterIP: 'None', ports: [{port: 80}]}}));
        times.push(performance.now() - startedAt);
      }
      medians[mode]?.push(median(times));
      for (const {kind} of objects as {kind: string}[]) await kubectl('delete', kind, 'bench');
    }
  }
  await worker.terminate();
  const shown = Object.entries(medians).map(([mode, of]) => {
    const ratios = of.map((ms, round) => ms / (medians.neither?.[round] ?? Number.NaN)).sort((a, b) => a - b);
    const [least, most] = [ratios.at(0), ratios.at(-1)].map(ratio => ratio?.toFixed(2));
    return `${mode} ${median(of).toFixed(2)} ms (ratio ${median(ratios).toFixed(2)}, ${least} to ${most})`;
  });
  console.log(`held-hosts: a create of a Service, medians of ${ROUNDS} rounds of ${CREATES}: ${shown.join(', ')}`);
}

/** Adds hosts to a record until the API server refuses it. */
async function fill(client: KubeClient): Promise<void> {
  const labels = Array.from({length: 4}, () => 'a'.repeat(59)).join('.');
  for (const {names, tail} of [
    {names: 'typical', tail: 'customer.example'},
    {names: 'longest', tail: `${labels}.a.test`},
  ]) {
    const metadata = {namespace: NAMESPACE, name: names};
    await client.create(HELD_HOSTS, {
      apiVersion: 'nameplate.dev/v1alpha1',
      kind: 'HeldHosts',
      metadata,
      spec: {hosts: {}},
    });
    const took: string[] = [];
    let count = 0;
    for (let step = 1000; step >= 10; ) {
      const added = Array.from({length: step}, (_, index) => `${100_000 + count + index}.${tail}`);
      const hosts = Object.fromEntries(added.map(host => [host, randomUUID()]));
      const startedAt = performance.now();
      try {
        await client.patch(HELD_HOSTS, metadata, {spec: {hosts}}, {metadataOnly: true});
        count += step;
        if (count % 5000 === 0) took.push(`${count}: ${(performance.now() - startedAt).toFixed(0)} ms`);
      } catch (error) {
        if (!String(error).includes('request is too large')) throw error;
        step /= 10;
      }
    }
    console.log(`held-hosts: a record takes ${count} hosts with ${names} names (writes with ${took.join(', ')})`);
  }
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

if (isMainThread) {
  const api = await startApiServer({crds: [join(import.meta.dirname, '../../crds')]});
  const client = createTestClient(api.kubeconfig, 'bench');
  const kubectl: Kubectl = (...args) => api.kubectl(...args);
  try {
    await kubectl('create', 'namespace', NAMESPACE);
    await race(client);
    await judgeCreates(client, kubectl, text => api.apply(text));
    await fill(client);
    await end(client, kubectl);
  } finally {
    await client.close();
    await api.stop();
  }
} else {
  serveWebhook(workerData);
}
