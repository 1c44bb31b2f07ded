/**
 * Upgrades the last release to this one with Helm, rolls back, and upgrades again, under continuous requests, in a new
 * cluster.
 */
import {randomBytes} from 'node:crypto';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {LABEL} from '../../src/api/names.ts';
import {INGRESS, type Ingress, SERVICE} from '../../src/operator/kinds/kinds.ts';
import {imageReference} from '../cluster/images.ts';
import {extractLastRelease, LAST_RELEASE, LAST_RELEASE_IMAGE} from '../cluster/last-release.ts';
import {until} from '../cluster/wait.ts';
import {jsonPost, newKey, type TenantKey} from '../e2e/tenant-key.ts';
import {admin, cluster, newClusterTenant, visitor} from '../e2e/world.ts';
import type {Attempts, ClusterTenant} from '../support/cluster-tenant.ts';
import {failuresOf} from '../support/http.ts';
import {leaderPod, MESSAGES_HOST, RELEASE} from '../support/install.ts';
import {applyPlatformIssuer} from '../support/issuers.ts';
import {listAll} from '../support/kube.ts';

const ROOT = join(import.meta.dirname, '../..');
const {name, namespace} = RELEASE;
const SETTINGS = [
  'messages.enabled=true',
  `messages.host=${MESSAGES_HOST}`,
  'messages.certificate.issuerRef.name=selfca',
  'messages.certificate.issuerRef.kind=ClusterIssuer',
].flatMap(setting => ['--set', setting]);
const HELM_WAIT = ['--wait', '--timeout', '600s'];
const WAIT = {intervalMs: 500};

let folder: string;
let tenant: ClusterTenant;
let key: TenantKey;
let hosts: readonly string[];
let urls: readonly string[];
let before: unknown;
let attempts: Attempts;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-upgrade-'));
  const last = join(folder, 'last');
  await extractLastRelease(last);
  const values = ['--values', join(last, RELEASE.values), ...imageOf(LAST_RELEASE_IMAGE), ...SETTINGS];
  await cluster.helm(
    'install',
    name,
    join(last, RELEASE.chart),
    '-n',
    namespace,
    '--create-namespace',
    ...values,
    ...HELM_WAIT,
  );
  await applyPlatformIssuer(admin, cluster.info, {}); // orders count for as long as in earnest

  tenant = await newClusterTenant('upgrade');
  const apex = tenant.zone;
  const subdomains = ['shop', 'store', 'www', 'old'].map(label => tenant.host(label));
  const [shop, store, www, old] = subdomains as [string, string, string, string];
  await tenant.goLive({
    primary: apex,
    aliases: [shop, store],
    redirects: [{from: www}, {from: old, to: store, status: 302}], // every kind that Traefik supports
  });
  hosts = [apex, ...subdomains];
  const defaultHost = await tenant.defaultHost();
  await visitor.untilServed(defaultHost);
  urls = [...hosts, defaultHost].map(host => `https://${host}/`);
  key = await newKey('upgrade-key');
  await key.until('', {status: 202}, jsonPost({message: 'from before'}));
  before = await facts();
  attempts = tenant.recordAttempts();
});

afterAll(async () => {
  await attempts?.stop();
  if (folder) await rm(folder, {recursive: true});
});

/** What an upgrade must not change. */
async function facts() {
  const {data, metadata} = JSON.parse(
    await cluster.kubectl('get', 'secret', `${name}-platform-key`, '-n', namespace, '-o', 'json'),
  );
  const ofHosts = hosts.map(async host => {
    const [certificate, claim, records] = await Promise.all([
      tenant.certificate(host),
      tenant.claim(host),
      tenant.records(host),
    ]);
    const {serial} = (await visitor.request(`https://${host}/`)).certificate ?? {};
    return {
      host,
      serial,
      revision: certificate?.status?.revision,
      claim: claim?.metadata.uid,
      since: claim?.spec.since,
      orders: claim?.spec.orders,
      records,
    };
  });
  return {key: {uid: metadata.uid, data}, hosts: await Promise.all(ofHosts), defaultHost: await tenant.defaultHost()};
}

/**
 * Changes the release while all hosts are requested, and returns the visitors' failures. It ends once all routes are as
 * the new leader wants them, and nothing of the former leader's is still in use.
 */
async function underRequests(change: () => Promise<unknown>): Promise<string[]> {
  const observing = visitor.observe(...urls);
  const former = await leaderPod(cluster);
  await change();
  await until('another pod leads', async () => (await leaderPod(cluster)) !== former, WAIT);
  // The new leader judges each host itself.
  await Promise.all(
    hosts.map(async host => {
      await tenant.reverify(host);
      await tenant.sees(host, {state: 'Live'});
    }),
  );
  await until('the routes are those of this version', shareOneService, WAIT);
  await seesNewProject();
  const {visits} = await observing.stop();
  expect(visits.length).toBeGreaterThan(urls.length);
  return [...new Set(failuresOf({visits}))];
}

/** Traefik reads routes in order: once it serves the newest Project, it has all earlier routes. */
async function seesNewProject(): Promise<void> {
  const project = `new-${randomBytes(3).toString('hex')}`;
  await tenant.applyProject(undefined, {name: project});
  await visitor.untilServed(await tenant.defaultHost(project));
  await tenant.deleteProject(project);
}

/** Whether all routes of the tenant have one Service, and no other is left. */
async function shareOneService(): Promise<boolean> {
  const ours = {namespace: tenant.namespace, labelSelector: `${LABEL.managedBy}=nameplate`};
  const [services, routes] = await Promise.all([listAll(admin, SERVICE, ours), listAll<Ingress>(admin, INGRESS, ours)]);
  const [only] = services;
  const backends = routes.map(({spec}) => spec.rules[0]?.http?.paths[0]?.backend.service?.name);
  return services.length === 1 && backends.every(name => name === only?.metadata.name);
}

async function seesNoChange(): Promise<void> {
  expect(await facts()).toEqual(before);
  const made = Object.values(attempts.names()).map(names => names.length);
  expect(made, "certificates, requests, and cert-manager's own orders").toEqual([hosts.length, hosts.length, 0]);
}

/** As docs/upgrading.md says, except for the image, whose version is not in the chart here. */
function upgrade(): Promise<string> {
  const options = ['--reset-then-reuse-values', ...imageOf('operator'), ...HELM_WAIT];
  return cluster.helm('upgrade', name, join(ROOT, RELEASE.chart), '-n', namespace, ...options);
}

function imageOf(image: string): string[] {
  return ['--set', `image.repository=${imageReference(image).replace(/:test$/, '')}`];
}

test(`an upgrade from ${LAST_RELEASE.version} interrupts nobody`, async () => {
  expect(await underRequests(upgrade)).toEqual([]);
  await seesNoChange();
  await key.until('', {status: 202}, jsonPost({message: 'from after'}));
});

test(`a rollback to ${LAST_RELEASE.version} interrupts nobody`, async () => {
  const rollback = () => cluster.helm('rollback', name, '1', '-n', namespace, ...HELM_WAIT);
  expect(await underRequests(rollback)).toEqual([]);
  await seesNoChange();
  await key.until('', {status: 202}, jsonPost({message: 'from after a rollback'}));
});

test('the next upgrade interrupts nobody', async () => {
  expect(await underRequests(upgrade)).toEqual([]);
  await seesNoChange();
  await key.until('', {status: 202}, jsonPost({message: 'from after the next upgrade'}));
});
