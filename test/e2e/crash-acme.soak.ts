/**
 * The operator is killed at each of its writes, as in integration/crash, but on the full cluster: with ACME
 * certificates, DNS from the root down, and the chart's policies. Each life takes minutes, so only `make soak` runs
 * them.
 */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll} from 'vitest';
import {parse} from 'yaml';
import {MIDDLEWARE} from '../../src/operator/edge/traefik.ts';
import * as kinds from '../../src/operator/model/kinds.ts';
import {crashSuite} from '../integration/crash/crash.suite.ts';
import type {MortalOperatorWorld} from '../integration/crash/mortal-operator.ts';
import type {DomainTenant, DomainTenantWorld} from '../integration/operator/domain-tenant.ts';
import {History} from '../integration/operator/history.ts';
import {RELEASE} from '../support/install.ts';
import {issuerObjects} from '../support/issuers.ts';
import {scale} from '../support/pods.ts';
import {TENANT_LABEL} from '../support/workload.ts';
import {admin, cluster} from './world.ts';

const OPERATOR = {namespace: RELEASE.namespace, name: RELEASE.name};
const MINUTE_MS = 60_000;

let folder: string;
let history: History;
let world: DomainTenantWorld & MortalOperatorWorld;

beforeAll(async () => {
  await scale(admin, OPERATOR, 0); // the operators that die replace it
  folder = await mkdtemp(join(tmpdir(), 'nameplate-crash-'));
  history = new History(admin);
  const followed = [kinds.PROJECT, kinds.DOMAIN, kinds.DOMAIN_CLAIM, kinds.INGRESS, MIDDLEWARE, kinds.CERTIFICATE];
  for (const kind of [...followed, kinds.CERTIFICATE_REQUEST, kinds.NAMESPACE]) await history.follow(kind);
  await history.follow(kinds.SECRET, {metadataOnly: true});
  const {addZone, set} = cluster.zones;
  const dns: DomainTenantWorld['dns'] = {addZone, set: (name, type, values) => set(name, type, values)}; // at both servers
  world = {client: admin, history, dns, folder, ...(await access()), config: await installedConfig()};
});

afterAll(async () => {
  await history?.stop();
  await scale(admin, OPERATOR, 2);
  await rm(folder, {recursive: true, force: true});
});

// Four tests and a first life: 90 minutes at most.
crashSuite(() => world, {prepare, approves: true, patienceMs: 10 * MINUTE_MS, timeoutMs: 20 * MINUTE_MS});

/** How to reach the API server, and a kubeconfig for the chart's service account. */
async function access(): Promise<Pick<MortalOperatorWorld, 'api' | 'kubeconfig'>> {
  const config = JSON.parse(await cluster.kubectl('config', 'view', '--raw', '--minify', '--output', 'json'));
  const {server, 'certificate-authority-data': ca = ''} = config.clusters[0].cluster;
  const token = ['create', 'token', OPERATOR.name, '--namespace', OPERATOR.namespace, '--duration', '24h'];
  config.users[0].user = {token: (await cluster.kubectl(...token)).trim()};
  const kubeconfig = join(folder, 'operator.kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(config), {mode: 0o600});
  const api = {url: server, ca: Buffer.from(ca, 'base64').toString(), kubeconfig: cluster.info.kubeconfig};
  return {api, kubeconfig};
}

/** The configuration that the chart gave the operator, with the platform key in a file. */
async function installedConfig(): Promise<MortalOperatorWorld['config']> {
  const get = async (...what: string[]) =>
    JSON.parse(await cluster.kubectl('get', ...what, '--namespace', OPERATOR.namespace, '--output', 'json')).data;
  const {'nameplate.yaml': text} = await get('configmap', OPERATOR.name);
  const [key] = Object.values<string>(await get('secret', `${OPERATOR.name}-platform-key`));
  const keyFile = join(folder, 'platform.key');
  await writeFile(keyFile, Buffer.from(key ?? '', 'base64'), {mode: 0o600});
  const config = parse(text);
  // Released claims, with all orders of a life, must still exist when its end is checked.
  const claims = {...config.claims, lingerSeconds: 3600};
  const orderBudget = {orders: 10_000, windowSeconds: 3600, newHostsPerDomain: 10_000, domainWindowSeconds: 3600};
  const certificates = {...config.certificates, orderBudget};
  return {...config, claims, certificates, platform: {...config.platform, keyFile}};
}

async function prepare({namespace}: DomainTenant): Promise<void> {
  await admin.patch(kinds.NAMESPACE, {name: namespace}, {metadata: {labels: {[TENANT_LABEL]: 'true'}}});
  for (const {resource, object} of await issuerObjects(admin, cluster.info, namespace, 'acme')) {
    await admin.apply(resource, object);
  }
}
