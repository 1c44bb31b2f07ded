/** What the Prometheus operator would do with a ServiceMonitor and a PrometheusRule. */
import {once} from 'node:events';
import {writeFile} from 'node:fs/promises';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import type {Cluster} from '../cluster/cluster.ts';
import {type Prometheus, startPrometheus} from '../integration/monitoring/prometheus.ts';

export interface Monitor {
  readonly selector: {readonly matchLabels: Readonly<Record<string, string>>};
  readonly endpoints: readonly [{readonly port: string; readonly path: string; readonly honorLabels: boolean}];
}
interface Rule {
  readonly alert: string;
  readonly for?: string;
}
export interface Rules {
  readonly groups: readonly {readonly name: string; readonly rules: readonly Rule[]}[];
}
interface Slice {
  readonly metadata: {readonly namespace: string; readonly labels: Readonly<Record<string, string>>};
  readonly ports: readonly {readonly name: string; readonly port: number}[];
  readonly endpoints?: readonly {readonly addresses: readonly string[]; readonly targetRef: {readonly name: string}}[];
}

/**
 * A Prometheus that each second scrapes what the ServiceMonitors in the namespace currently select, and evaluates the
 * rules.
 */
export async function watch(
  cluster: Cluster,
  folder: string,
  namespace: string,
  monitors: readonly Monitor[],
  rules: Rules,
): Promise<Prometheus> {
  const discovery = await serveJson(async index => {
    const monitor = monitors[index];
    if (!monitor) throw new Error(`there is no ServiceMonitor ${index}`);
    const {selector, endpoints} = monitor;
    const labels = Object.entries(selector.matchLabels).map(([name, value]) => `${name}=${value}`);
    const found = await cluster.kubectl('get', 'endpointslices', '-n', namespace, '-l', labels.join(), '-o', 'json');
    return (JSON.parse(found).items as Slice[]).flatMap(slice => targetsOf(slice, endpoints[0].port));
  });
  const file = join(folder, 'rules.json');
  await writeFile(file, JSON.stringify(rules)); // JSON is YAML
  const {port} = discovery.address() as AddressInfo;
  const prometheus = await startPrometheus(folder, {
    global: {scrape_interval: '1s', evaluation_interval: '1s'},
    rule_files: [file],
    scrape_configs: monitors.map(({endpoints: [endpoint]}, index) => ({
      job_name: `serviceMonitor/${index}`,
      metrics_path: endpoint.path,
      honor_labels: endpoint.honorLabels,
      http_sd_configs: [{url: `http://127.0.0.1:${port}/${index}`, refresh_interval: '1s'}],
    })),
  });
  return {...prometheus, stop: () => prometheus.stop().finally(() => discovery.close())};
}

/** The pods behind a Service, with the labels that the Prometheus operator adds. */
function targetsOf({metadata, ports, endpoints = []}: Slice, portName: string) {
  const service = metadata.labels['kubernetes.io/service-name'];
  const port = ports.find(({name}) => name === portName)?.port;
  return endpoints.map(({addresses, targetRef}) => ({
    targets: [`${addresses[0]}:${port}`],
    labels: {job: service, service, namespace: metadata.namespace, endpoint: portName, pod: targetRef.name},
  }));
}

/** `answer` gets the number in the path. */
async function serveJson(answer: (index: number) => Promise<unknown>): Promise<Server> {
  const server = createServer(({url = '/'}, response) => {
    answer(Number(url.slice(1))).then(
      found => response.setHeader('content-type', 'application/json').end(JSON.stringify(found)),
      error => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
