/**
 * A new user with only the folder of a release follows its README, command by command, to a live domain, filled
 * dashboards, and an alert that fires and resolves. The cluster is new, and only the release's own image is loaded.
 */
import {cp, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {run} from '../cluster/children.ts';
import {installPrometheusOperatorCrds} from '../cluster/crds.ts';
import {containerdSocket} from '../cluster/provider/node.ts';
import {ADDRESSES, stateFolder} from '../cluster/state.ts';
import {until} from '../cluster/wait.ts';
import {cluster, visitor} from '../e2e/world.ts';
import type {Prometheus} from '../integration/monitoring/prometheus.ts';
import {filled, jobsOf, type Templating} from '../integration/monitoring/variables.ts';
import {MESSAGES_HOST} from '../support/install.ts';
import {commandsOf, recordsIn} from './readme.ts';
import {type Monitor, type Rules, watch} from './watching.ts';

const {info, kubectl, apply, zones} = cluster;
const NAMESPACE = 'nameplate';
const TENANT = 'shop-team';
const SLOW = {intervalMs: 1000};

/** What the README says to edit. The examples' hosts are already in zones of the test cluster. */
const DOMAINS = {'apps.example.net': info.baseDomain, 'edge.example.net': info.targetDomain};
/** The internet of the test cluster. Its name servers have addresses that would be private elsewhere. */
const TEST_SETTINGS = [
  `config.dns.rootServers={${info.dns.root}}`,
  `config.dns.recursives={${info.dns.resolver}}`,
  'config.dns.allowAddresses={172.30.0.0/24}',
  'config.certificates.caaIdentities={pebble.test}',
];
/** Prometheus runs as a process on the node. */
const METRICS_FROM = `networkPolicy.metricsFrom[0].ipBlock.cidr=${ADDRESSES.node}/32`;

const MESSAGES = 'nameplate-messages.json';

/** Sends a message, as the README does. */
let send: string;
let folder: string;
let readme: string;
let commands: string[];
let prometheus: Prometheus | undefined;

beforeAll(async () => {
  if (info.provider !== 'namespaces') throw new Error('run this test with NAMEPLATE_PROVIDER=namespaces, as root');
  folder = await mkdtemp(join(tmpdir(), 'nameplate-adopt-'));
  await cp(join(import.meta.dirname, '../../dist/release'), folder, {recursive: true});
  readme = await readFile(join(folder, 'README.md'), 'utf8');
  commands = commandsOf(readme);
});

afterAll(async () => {
  await prometheus?.stop();
  if (folder) await rm(folder, {recursive: true});
});

/** Returns the next command of the README, which must begin with `start`. */
function next(start: string): string {
  const [command = ''] = commands.splice(0, 1);
  expect(command.slice(0, start.length)).toBe(start);
  return command;
}

function shell(command: string): Promise<string> {
  const env = {...process.env, CONTAINERD_ADDRESS: containerdSocket(stateFolder(info.name))};
  return run(['bash', '-e', '-c', command], {cwd: folder, env});
}

async function edit(file: string, edits: Readonly<Record<string, string>>): Promise<void> {
  let text = await readFile(join(folder, file), 'utf8');
  for (const [from, to] of Object.entries(edits)) {
    expect(text).toContain(from);
    text = text.replaceAll(from, to);
  }
  await writeFile(join(folder, file), text);
}

const set = (...settings: readonly string[]) => settings.map(each => ` --set '${each}'`).join('');

async function get<T>(...args: readonly string[]): Promise<T> {
  return JSON.parse(await kubectl('get', '-n', NAMESPACE, ...args, '-o', 'json')) as T;
}

test('the checksums are right, and the documentation unpacks', async () => {
  expect(await shell(next('sha256sum '))).toContain('README.md: OK');
  await shell(next('tar '));
  expect(await readdir(folder)).toEqual(expect.arrayContaining(['docs', 'examples']));
});

test('the image is in the node', async () => {
  next('skopeo copy '); // there is no registry
  await shell(next('ctr '));
  next('kind load '); // the node is not one of kind's
});

test('installs, and is ready', async () => {
  const {server, caBundle} = (await get<{spec: {acme: {server: string; caBundle: string}}}>('clusterissuer', 'pebble'))
    .spec.acme;
  await edit('examples/acme-issuer.yaml', {
    'certificates@example.net': 'certificates@nameplate.test',
    'https://acme-v02.api.letsencrypt.org/directory': `${server}\n  caBundle: ${caBundle}`,
  });
  await shell(next('kubectl apply '));
  // "Name its Service." The Traefik of the test cluster has none.
  const service = {selector: {app: 'traefik'}, ports: [{port: 443}]};
  await apply(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name: 'traefik', namespace: 'traefik'},
      spec: service,
    }),
  );
  const [, probes] = /`(--set 'config\.probes\.addresses=[^`]+')`/.exec(readme) ?? [];
  const install = Object.entries(DOMAINS).reduce(
    (command, [from, to]) => command.replaceAll(from, to),
    next('helm install ').replace(/ *--set image\.\S+/g, ''), // "if you loaded it into the nodes"
  );
  await shell(`${install} ${probes}${set(...TEST_SETTINGS)}`);
  await shell(next('kubectl rollout status '));
  expect(await shell(next('helm test '))).toMatch(/Phase: +Succeeded/);
  const {items} = await get<{items: {spec: {containers: {image: string}[]}}[]}>('pods');
  const images = items.flatMap(({spec}) => spec.containers.map(({image}) => image));
  expect([...new Set(images)]).toEqual([expect.stringMatching(/^nameplate:\d/)]);
  expect(await shell(next('kubectl get secret '))).toContain('platform.key: ');
});

test('a first domain is live', async () => {
  await edit('examples/project.yaml', {'nginxinc/nginx-unprivileged:stable-alpine': 'localhost/nameplate/web:test'});
  await shell(next('kubectl create namespace '));
  await shell(next('kubectl label namespace '));
  await shell(next('kubectl apply '));
  await createRecords(next('kubectl describe domain '), 'old.example.com', 'shop.example.com', 'www.shop.example.com');
  await shell(next('kubectl wait '));
  const answer = await shell('curl --fail --silent --show-error --location https://www.shop.example.com/');
  expect(answer).toContain('host=shop.example.com');
});

/** Creates the records of these hosts at their DNS provider, as `describe` shows them. */
async function createRecords(describe: string, ...hosts: readonly string[]): Promise<void> {
  const records = await until('the records to create are shown', async () => {
    const shown = recordsIn(await shell(describe)).filter(({name}) => hosts.includes(name));
    return shown.length === hosts.length ? shown : undefined;
  });
  for (const {name, type, value} of records) await zones.set(name, type, value);
}

test('a message is accepted', async () => {
  await zones.set(MESSAGES_HOST, 'A', ADDRESSES.ingress);
  await shell(next('helm upgrade ').replace('api.example.net', MESSAGES_HOST));
  await shell(next('kubectl rollout status '));
  await shell(next('kubectl wait '));
  await shell(next('kubectl apply '));
  await shell(next('kubectl wait '));
  send = `${next('KEY=')}\n${next('curl ').replace('api.example.net', MESSAGES_HOST)}`;
  const answer = await until('the edge has the certificate', () => shell(send));
  expect(JSON.parse(answer)).toMatchObject({message: 'Order 4711', status: 'queued'});
});

test('the dashboards are filled', async () => {
  await installPrometheusOperatorCrds(cluster);
  await shell(`${next('helm upgrade ')}${set(METRICS_FROM)}`);
  expect(commands).toEqual([]);
  await kubectl('rollout', 'status', 'deployment/nameplate', '-n', NAMESPACE, '--timeout=3m');

  const monitors = await get<{items: {spec: Monitor}[]}>('servicemonitors');
  const {spec} = await get<{spec: Rules}>('prometheusrule', 'nameplate');
  const specs = monitors.items.map(monitor => monitor.spec);
  prometheus = await watch(cluster, folder, NAMESPACE, specs, impatient(spec));
  const {query} = prometheus;
  await until('all pods are scraped', async () => (await query('sum(up)'))[0]?.value === 3, SLOW);

  // Prometheus shows no increase for earlier events, and a waiting domain needs a reason. One of these two has no
  // record.
  await shell(`kubectl apply --namespace ${TENANT} --filename examples/domain.yaml`);
  await createRecords(`kubectl describe domain --namespace ${TENANT}`, 'shop.example.org');
  await kubectl('wait', '-n', TENANT, '--for=condition=Ready', '--timeout=5m', 'domain/shop.example.org');

  const {items} = await get<{items: {data: Record<string, string>}[]}>('configmaps', '-l', 'grafana_dashboard=1');
  const dashboards = items.flatMap(({data}) => Object.entries(data));
  expect(dashboards.map(([name]) => name).sort()).toEqual([MESSAGES, 'nameplate-operator.json']);
  for (const [name, text] of dashboards) {
    const dashboard = JSON.parse(text) as Templating & {panels: {targets?: {expr: string}[]}[]};
    const [job = '', ...others] = await jobsOf(dashboard, prometheus, SLOW);
    expect(others).toEqual([]);
    const queries = dashboard.panels.flatMap(({targets = []}) => targets);
    expect(queries.length).toBeGreaterThan(15);
    for (const {expr} of queries) {
      const filledIn = filled(expr, job);
      const hasValue = async () => {
        if (name === MESSAGES) await useMessages();
        return (await query(filledIn)).some(({value}) => Number.isFinite(value));
      };
      await until(`${filledIn} has a value`, hasValue, SLOW);
    }
  }
});

/** Sends requests that are accepted and refused, each repeatedly: Prometheus shows no increase for a single event. */
async function useMessages(): Promise<void> {
  await shell(send);
  expect((await visitor.request(`https://${MESSAGES_HOST}/messages`)).status).toBe(401);
}

/** The rules, but alerts fire after 5 seconds instead of 5 minutes, so that the test need not wait. */
function impatient({groups}: Rules): Rules {
  const isShort = (rule: {alert: string}) => rule.alert === 'NameplateNoLeader';
  return {
    groups: groups.map(group => ({
      ...group,
      rules: group.rules.map(rule => (isShort(rule) ? {...rule, for: '5s'} : rule)),
    })),
  };
}

test('an alert fires and resolves', async () => {
  const active = async () => (await prometheus?.alerts())?.map(({labels, state}) => `${labels.alertname} ${state}`);
  const scale = (replicas: number) =>
    kubectl('scale', 'deployment/nameplate', '-n', NAMESPACE, `--replicas=${replicas}`);
  expect(await active()).toEqual([]);
  await scale(0);
  await until('it fires', async () => (await active())?.includes('NameplateNoLeader firing'), SLOW);
  await scale(2);
  await until('it is resolved', async () => (await active())?.length === 0, SLOW);
});

test('uninstalls, and hosts are still served', async () => {
  await shell(`helm uninstall nameplate --namespace ${NAMESPACE} --wait`);
  expect((await visitor.request('https://shop.example.com/')).status).toBe(200);
});
