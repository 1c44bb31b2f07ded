/** From the last release to this one with Helm, under continuous requests. The cluster is new. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {imageReference} from '../cluster/images.ts';
import {extractLastRelease, LAST_RELEASE, LAST_RELEASE_IMAGE} from '../cluster/last-release.ts';
import {until} from '../cluster/wait.ts';
import {jsonPost, newKey, type TenantKey} from '../e2e/tenant-key.ts';
import {cluster, newClusterTenant, visitor} from '../e2e/world.ts';
import type {Attempts, ClusterTenant} from '../support/cluster-tenant.ts';
import {leaderPod, MESSAGES_HOST, RELEASE} from '../support/install.ts';

const ROOT = join(import.meta.dirname, '../..');
const {name, namespace} = RELEASE;
const SETTINGS = [
  'messages.enabled=true',
  `messages.host=${MESSAGES_HOST}`,
  'messages.certificate.issuerRef.name=selfca',
  'messages.certificate.issuerRef.kind=ClusterIssuer',
].flatMap(setting => ['--set', setting]);
const WAIT = ['--wait', '--timeout', '600s'];

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
  const repository = imageReference(LAST_RELEASE_IMAGE).replace(/:test$/, '');
  const values = ['--values', join(last, RELEASE.values), '--set', `image.repository=${repository}`, ...SETTINGS];
  await cluster.helm(
    'install',
    name,
    join(last, RELEASE.chart),
    '-n',
    namespace,
    '--create-namespace',
    ...values,
    ...WAIT,
  );

  tenant = await newClusterTenant('upgrade', {issuer: 'none'});
  const [primary, alias, from] = ['shop', 'store', 'www'].map(label => tenant.host(label)) as [string, string, string];
  hosts = [primary, alias, from];
  await tenant.goLive({primary, aliases: [alias], redirects: [{from, status: 302}]});
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

/** What an upgrade must leave as it is. */
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
      records,
    };
  });
  return {key: {uid: metadata.uid, data}, hosts: await Promise.all(ofHosts), defaultHost: await tenant.defaultHost()};
}

/** Changes the release while all hosts are requested, and returns what went wrong for visitors. */
async function underRequests(change: () => Promise<void>): Promise<string[]> {
  const observing = visitor.observe(...urls);
  const former = await leaderPod(cluster);
  await change();
  await until('another pod leads', async () => (await leaderPod(cluster)) !== former, {
    timeoutMs: 120_000,
    intervalMs: 500,
  });
  // The new leader judges each host itself.
  await Promise.all(
    hosts.map(async host => {
      await tenant.reverify(host);
      await tenant.sees(host, {state: 'Live'});
    }),
  );
  const {visits} = await observing.stop();
  expect(visits.length).toBeGreaterThan(urls.length);
  return visits.flatMap(({url, outcome}) => {
    if (outcome instanceof Error) return [`${url}: ${outcome.message}`];
    return outcome.last.status === 200 ? [] : [`${url}: ${outcome.last.status}`];
  });
}

async function seesNoChange(): Promise<void> {
  expect(await facts()).toEqual(before);
  const made = Object.values(attempts.names()).map(names => names.length);
  expect(made, 'certificates, requests, and orders').toEqual([hosts.length, hosts.length, hosts.length]);
  await key.until('', {status: 202}, jsonPost({message: 'from after'}));
}

test(`an upgrade from ${LAST_RELEASE.version} interrupts nobody`, async () => {
  const upgrade = (...settings: readonly string[]) =>
    cluster.helm(
      'upgrade',
      name,
      join(ROOT, RELEASE.chart),
      '-n',
      namespace,
      '--values',
      join(ROOT, RELEASE.values),
      ...SETTINGS,
      ...settings,
      ...WAIT,
    );
  const failed = await underRequests(async () => {
    // As docs/upgrading.md says.
    await upgrade('--set', 'messages.keepPod=true');
    await cluster.kubectl('wait', '--for=create', 'keyclaim/complete', '--timeout=5m');
    await upgrade('--set', 'messages.keepPod=false');
  });
  expect(failed).toEqual([]);
  await seesNoChange();
});
