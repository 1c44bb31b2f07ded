/**
 * What the chart offers to Prometheus and Grafana: every query and every alert, with data that a real Prometheus
 * scrapes from the real programs as the ServiceMonitors say.
 */
import {readFileSync} from 'node:fs';
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {parseAllDocuments} from 'yaml';
import {ACME_ISSUER} from '../../../src/operator/kinds/kinds.ts';
import type {Child} from '../../cluster/children.ts';
import {run} from '../../cluster/children.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import {startWebhook} from '../approval/webhook.ts';
import {type Client, createClient} from '../messages/client.ts';
import {type Postgres, startPostgres} from '../messages/postgres/server.ts';
import {startReadyPod} from '../messages/postgres/service.ts';
import {removeFolders, type Service, startService} from '../messages/service.ts';
import {installCertManagerCrds} from '../operator/cert-manager.ts';
import {newDomainTenant, newLiveTenant} from '../operator/domain-tenant.ts';
import {installIngressClass, type OperatorWorld, startOperatorWorld} from '../operator/operator-world.ts';
import {type AlertRow, alertRows} from './alerts.rows.ts';
import {drawDashboard, type Line, type Panel} from './draw.ts';
import {ensurePrometheus, type Prometheus, startPrometheus} from './prometheus.ts';
import {filled, jobsOf, type Templating} from './variables.ts';

const ROOT = join(import.meta.dirname, '../../..');
const DASHBOARDS = join(ROOT, 'charts/nameplate/files/dashboards');
const PICTURE_SECONDS = 120;

interface KubeObject {
  readonly kind: string;
  readonly metadata: {readonly name: string; readonly labels: Readonly<Record<string, string>>};
  readonly spec: Readonly<Record<string, never>>;
  readonly data: Readonly<Record<string, string>>;
}
interface Monitor {
  readonly selector: {readonly matchLabels: Readonly<Record<string, string>>};
  readonly endpoints: readonly {readonly port: string; readonly path: string; readonly honorLabels?: boolean}[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}
interface Dashboard extends Templating {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** `postgres`: two pods of the messages API with PostgreSQL, one of which counts the backlog. */
const PROGRAMS = ['operator', 'messages', 'postgres'] as const;
type Program = (typeof PROGRAMS)[number];

/** The dashboards in the chart's files. Another test checks that the chart renders these unchanged. */
function dashboardOf(program: Program): Dashboard {
  const file = program === 'postgres' ? 'messages.json' : `${program}.json`;
  return JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as Dashboard;
}

const queries = PROGRAMS.flatMap(program =>
  dashboardOf(program).panels.flatMap(({title, targets = []}) => targets.map(({expr}) => ({program, title, expr}))),
);

let world: OperatorWorld;
let webhook: Child;
let service: Service;
let client: Client;
let server: Postgres;
let pods: readonly Service[];
let podClient: Client;
let prometheus: Prometheus;
/** Separate, because most queries have no job. */
let prometheusOfPods: Prometheus;
let objects: readonly KubeObject[];
let rules: readonly Rule[];
/** The Prometheus operator names a job after its Service. */
const jobs: Readonly<Record<string, string>> = {
  operator: `${RELEASE.name}-metrics`,
  messages: `${RELEASE.name}-messages`,
  postgres: `${RELEASE.name}-messages`,
};
let isOver = false;
let traffic: Promise<unknown>;

beforeAll(async () => {
  objects = await renderChart();
  rules = (named('PrometheusRule').spec as unknown as {groups: {rules: Rule[]}[]}).groups.flatMap(({rules}) => rules);
  [world, service, pods] = await Promise.all([
    startOperatorWorld({operatorApproves: true}),
    startService(),
    startPods(),
  ]);
  await installCertManagerCrds(world.api);
  webhook = await startWebhook(world.api, world.folder);
  await world.certManager.start();
  await installIngressClass(world.client);
  await world.client.apply(ACME_ISSUER, {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'ACMEIssuer',
    metadata: {name: 'unreachable'},
    spec: {server: 'https://127.0.0.1:1/dir'},
  });
  const operator = await world.startOperator('watched', {metrics: {perDomain: true}});
  prometheus = await startPrometheus(world.folder, {
    global: {scrape_interval: '1s'},
    scrape_configs: [scrapeOf('operator', operator.address), scrapeOf('messages', service.operationsAddress)],
  });
  const aside = join(world.folder, 'postgres');
  await mkdir(aside);
  prometheusOfPods = await startPrometheus(aside, {
    global: {scrape_interval: '1s'},
    scrape_configs: [scrapeOf('messages', ...pods.map(pod => pod.operationsAddress))],
  });
  // Prometheus sees no increase in what happens before the first scrape.
  for (const each of [prometheus, prometheusOfPods]) {
    await until('two processes are scraped', async () => (await each.query('sum(up)'))[0]?.value === 2);
  }
  [client, podClient] = await Promise.all([createClient(service.url), createClient(pods[0]?.url ?? '')]);
  traffic = Promise.all([client, podClient].map(useMessages));
  await world.certManager.installIssuer();
  await Promise.all([loseRecord(), moveHost(), wait()]);
});
afterAll(async () => {
  isOver = true;
  await traffic;
  client?.close();
  podClient?.close();
  const services = [service, ...(pods ?? [])].map(each => each?.stop());
  await Promise.all([prometheus?.stop(), prometheusOfPods?.stop(), ...services, webhook?.kill()]);
  await server?.remove();
  await removeFolders();
  await world?.stop();
});

async function startPods(): Promise<readonly Service[]> {
  server = await startPostgres();
  const database = await server.createDatabase();
  const start = () => startReadyPod(server, {database, postgres: {durability: 'storage'}});
  return Promise.all([start(), start()]);
}

function prometheusOf(program: Program): Prometheus {
  return program === 'postgres' ? prometheusOfPods : prometheus;
}

async function renderChart(): Promise<readonly KubeObject[]> {
  const {path} = await ensurePrograms([HELM]);
  const enabled = ['serviceMonitor', 'prometheusRule', 'dashboards'].map(each => `metrics.${each}.enabled=true`);
  const values = ['messages.enabled=true', 'messages.host=api.nameplate.test', 'challenges.enabled=false', ...enabled];
  const chart = [RELEASE.name, join(ROOT, RELEASE.chart), '-n', RELEASE.namespace];
  const text = await run([
    path('helm'),
    'template',
    ...chart,
    '-f',
    join(ROOT, 'examples/values.yaml'),
    '--set',
    values.join(),
  ]);
  return parseAllDocuments(text).flatMap(document => (document.toJS() as KubeObject | null) ?? []);
}

function named(kind: string, name: string = RELEASE.name): KubeObject {
  const found = objects.find(object => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`the chart does not render ${kind} ${name}`);
  return found;
}

/** The scrape configuration that the Prometheus operator writes for the ServiceMonitor. */
function scrapeOf(program: 'operator' | 'messages', ...addresses: readonly string[]) {
  const monitor = named('ServiceMonitor', program === 'operator' ? RELEASE.name : jobs.messages).spec;
  const {selector, endpoints} = monitor as unknown as Monitor;
  const services = objects.filter(
    ({kind, metadata, spec}) =>
      kind === 'Service' &&
      Object.entries(selector.matchLabels).every(([label, value]) => metadata.labels[label] === value) &&
      (spec.ports as unknown as {name: string}[]).some(({name}) => name === endpoints[0]?.port),
  );
  expect(services.map(({metadata}) => metadata.name)).toEqual([jobs[program]]);
  const [{port: endpoint = '', path = '', honorLabels = false} = {}] = endpoints;
  const labels = {namespace: RELEASE.namespace, service: jobs[program], container: program, endpoint};
  const targets = addresses.map((address, index) => ({
    targets: [new URL(address).host],
    labels: {...labels, pod: `${RELEASE.name}-${program}-${index}`},
  }));
  return {
    job_name: jobs[program],
    metrics_path: path,
    honor_labels: honorLabels,
    static_configs: targets,
  };
}

async function loseRecord(): Promise<void> {
  const {tenant, host} = await newLiveTenant(world, 'drifting');
  await world.dns.set(host, 'CNAME', []);
  await tenant.becomes(host, {state: 'Degraded', DNSVerified: 'Drifted'});
}

async function moveHost(): Promise<void> {
  const {host} = await newLiveTenant(world, 'former');
  const next = await newDomainTenant(world, 'next');
  await next.deployedProject({primary: host});
  await next.live(host);
}

async function wait(): Promise<void> {
  const tenant = await newDomainTenant(world, 'waiting');
  await tenant.deployedProject({primary: tenant.host('shop')});
  await tenant.becomes(tenant.host('shop'), {state: 'Unverified'});
}

/** Uses the API until the test is over. */
async function useMessages(to: Client): Promise<void> {
  const {key, readKey} = service.account();
  while (!isOver) {
    for (let n = 0; n < 3; n++) await to.submit(key, `message ${n}`);
    await to.submit(readKey, 'refused');
    for (const {id, lease} of (await to.post(key, '/messages/claim', {limit: 2})).body.messages) {
      await to.post(key, `/messages/${id}/ack`, {lease});
    }
    await pause(200); // a few per second are enough
  }
}

/** The query with the job that Grafana selects. */
async function queryOf(program: Program, expr: string): Promise<string> {
  const [job = ''] = await jobsOf(dashboardOf(program), prometheusOf(program));
  return filled(expr, job);
}

describe.concurrent('the dashboards', () => {
  test.each(PROGRAMS)('%s: the variable offers its job, and no other', async program => {
    expect(await jobsOf(dashboardOf(program), prometheusOf(program))).toEqual([jobs[program]]);
  });

  test.each(queries)('$program: $title: $expr', async ({program, expr}) => {
    const query = await queryOf(program, expr);
    expect(query).not.toContain('$');
    await until(`${query} has a value`, async () => {
      const found = await prometheusOf(program).query(query);
      return found.some(({value}) => Number.isFinite(value));
    });
  });
});

// `make pictures`, for docs/operations.md.
if (process.env.PICTURES) {
  test.each(['operator', 'messages'] as const)('draws the dashboard of %s', async program => {
    const {title, panels} = dashboardOf(program);
    const recorded = `min(count_over_time(up[${PICTURE_SECONDS}s]))`;
    const isLong = async () => ((await prometheus.query(recorded))[0]?.value ?? 0) > PICTURE_SECONDS - 5;
    await until('there is enough to draw', isLong, {timeoutMs: 2 * PICTURE_SECONDS * 1000});
    const drawn = await Promise.all(panels.map(async panel => ({panel, lines: await linesOf(program, panel)})));
    await writeFile(join(ROOT, `docs/images/dashboard-${program}.svg`), drawDashboard(title, drawn, PICTURE_SECONDS));
  });
}

async function linesOf(program: Program, {targets = []}: Panel): Promise<readonly Line[]> {
  const found = await Promise.all(
    targets.map(async ({expr, legendFormat = ''}) => {
      const series = await prometheus.queryRange(await queryOf(program, expr), PICTURE_SECONDS);
      return series.map(({labels, points}) => {
        const legend = legendFormat.replace(/{{\s*(\w+)\s*}}/g, (_, label: string) => labels[label] ?? '');
        return {legend, points: points.filter(([, value]) => Number.isFinite(value))};
      });
    }),
  );
  return found.flat().filter(({points}) => points.length > 0);
}

test('the ConfigMaps contain the dashboards', () => {
  for (const program of ['operator', 'messages'] as const) {
    const {metadata, data} = named('ConfigMap', `${RELEASE.name}-dashboard-${program}`);
    expect(metadata.labels.grafana_dashboard).toBe('1');
    expect(JSON.parse(data[`nameplate-${program}.json`] ?? '')).toEqual(dashboardOf(program));
  }
});

test('`helm test` succeeds if both programs are ready, and fails if one is not', async () => {
  const pod = named('Pod', `${RELEASE.name}-test`).spec as unknown as {containers: {command: string[]}[]};
  const [, ...command] = pod.containers[0]?.command ?? [];
  const check = (operator: string) => {
    const services = {[`${jobs.operator}.${RELEASE.namespace}.svc:8080`]: new URL(operator).host};
    services[`${jobs.messages}.${RELEASE.namespace}.svc:8081`] = new URL(service.operationsAddress).host;
    const here = (text: string) =>
      Object.entries(services).reduce((all, [name, host]) => all.replace(name, host), text);
    return run([process.execPath, ...command.map(here)]);
  };
  const output = await check(world.operator().address);
  expect(output.match(/\/readyz: 200/g)).toHaveLength(2);
  await expect(check('http://127.0.0.1:1')).rejects.toThrow(/ended \(1\)/);
});

test('a series of a Domain keeps its namespace, besides that of the pod', async () => {
  const found = await until('a Domain is Degraded in Prometheus', async () => {
    const series = await prometheus.query('nameplate_domain_info{state="Degraded"}');
    return series.length > 0 ? series : undefined;
  });
  expect(found.map(({labels}) => labels.namespace)).toEqual([expect.stringMatching(/^drifting-/)]);
});

/** The alerts of the messages API with both stores. */
const firing = alertRows.flatMap((row): readonly (AlertRow & {readonly program: Program})[] => {
  if (!row.metric.startsWith('nameplate_messages_')) return [{...row, program: 'operator'}];
  const isOfBoth = row.metric !== 'nameplate_messages_store_rows';
  return [...(isOfBoth ? [{...row, program: 'messages'} as const] : []), {...row, program: 'postgres'}];
});

describe('the alerts', () => {
  test('each has a runbook that says what it means, and no runbook is left over', () => {
    const headings = ['operator', 'messages'].flatMap(page => {
      const text = readFileSync(join(ROOT, `docs/runbooks/${page}.md`), 'utf8');
      return [...text.matchAll(/^## (\w+)$/gm)].map(([, heading = '']) => [heading, page] as const);
    });
    const links = rules.map(({alert, annotations}) => [alert, annotations.runbook_url] as const);
    expect(links).toEqual(headings.map(([alert, page]) => [alert, `docs/runbooks/${page}.md#${alert.toLowerCase()}`]));
  });

  test('promtool accepts them', async () => {
    const file = await rulesFile();
    await expect(run([(await ensurePrometheus()).promtool, 'check', 'rules', file])).resolves.toContain('SUCCESS');
  });

  test('there is a row for each', () => {
    expect([...new Set(alertRows.map(({alert}) => alert))]).toEqual(rules.map(({alert}) => alert));
  });

  test.each(firing)('$program: $alert fires if $metric is $values', async ({program, ...row}) => {
    const rule = rules.find(({alert}) => alert === row.alert);
    const metrics = [...new Set(rule?.expr.match(/\b(nameplate|leader|controller|reflector)_\w+/g))];
    expect(metrics).toContain(row.metric);
    const series = await until(`there is each of ${metrics.join(', ')}`, async () => {
      const found = (await Promise.all(metrics.map(metric => prometheusOf(program).query(metric)))).flat();
      return metrics.every(metric => found.some(({labels}) => labels.__name__ === metric)) ? found : undefined;
    });
    const isChanged = ({__name__, ...labels}: Readonly<Record<string, string>>) =>
      __name__ === row.metric && Object.entries(row.labels ?? {}).every(([name, value]) => labels[name] === value);
    expect(series.filter(({labels}) => isChanged(labels))).not.toEqual([]);
    const input = series.map(({labels, value}) => ({
      series: selectorOf(labels),
      values: isChanged(labels) ? row.values : `${value}x200`,
    }));
    await expect(testRules(row, input)).resolves.toContain('SUCCESS');
  });
});

async function rulesFile(): Promise<string> {
  const file = join(world.folder, 'rules.json');
  await writeFile(file, JSON.stringify(named('PrometheusRule').spec)); // JSON is YAML
  return file;
}

function selectorOf({__name__, ...labels}: Readonly<Record<string, string>>): string {
  return `${__name__}{${Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')}}`;
}

async function testRules(row: AlertRow, input: readonly object[]): Promise<string> {
  const file = join(world.folder, `test-${row.alert}-${row.metric}.json`);
  const fires = (minute: number, isFiring: boolean) => ({
    expr: `count(ALERTS{alertname="${row.alert}",alertstate="firing"}) or vector(0)`,
    eval_time: `${minute}m`,
    exp_samples: [{labels: '{}', value: isFiring ? 1 : 0}],
  });
  const tests = [
    {
      interval: '1m',
      input_series: input,
      promql_expr_test: [
        ...row.fires.map(minute => fires(minute, true)),
        ...row.rests.map(minute => fires(minute, false)),
      ],
    },
  ];
  await writeFile(file, JSON.stringify({rule_files: [await rulesFile()], evaluation_interval: '1m', tests}));
  return run([(await ensurePrometheus()).promtool, 'test', 'rules', file]);
}
