/** An edge in front of the messages API: it takes connections to the API from a pool that all its clients share. */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {startChild} from '../../cluster/children.ts';
import {ensureEnvoy} from '../../cluster/envoy.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {type Service, temporaryFolder} from './service.ts';

export const EDGES = ['Traefik', 'Envoy'] as const;

export interface Edge {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startEdge(kind: (typeof EDGES)[number], service: Pick<Service, 'url'>): Promise<Edge> {
  const folder = await temporaryFolder();
  const [port = 0] = await freePorts(1);
  const {program, config, args} = await (kind === 'Traefik' ? traefik : envoy)(port, service.url);
  const file = join(folder, 'edge.json');
  await writeFile(file, JSON.stringify(config));
  const child = startChild(kind, [program, ...args(file)], {log: join(folder, 'log')});
  const isReady = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/openapi.json`).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status === 200;
  };
  await until('the edge serves the API', isReady);
  return {port, stop: child.stop};
}

interface Program {
  readonly program: string;
  readonly config: object;
  readonly args: (file: string) => readonly string[];
}

async function traefik(port: number, url: string): Promise<Program> {
  const {path} = await ensurePrograms(['traefik']);
  const http = {
    routers: {all: {rule: 'PathPrefix(`/`)', service: 'api', entryPoints: ['web']}},
    services: {api: {loadBalancer: {servers: [{url}]}}},
  };
  return {
    program: path('traefik'),
    config: {http},
    args: file => [
      `--entrypoints.web.address=127.0.0.1:${port}`,
      `--providers.file.filename=${file}`,
      '--global.checknewversion=false',
      '--global.sendanonymoususage=false',
      '--log.level=ERROR',
    ],
  };
}

/** Alone, without Envoy Gateway, which only configures it: with no retries, as in a route without a policy. */
async function envoy(port: number, url: string): Promise<Program> {
  const {binary} = await ensureEnvoy(() => undefined);
  const address = (port: number) => ({socket_address: {address: '127.0.0.1', port_value: port}});
  const type = (name: string) => ({'@type': `type.googleapis.com/envoy.extensions.filters.${name}`});
  const route = {match: {prefix: '/'}, route: {cluster: 'api', timeout: '60s'}};
  const manager = {
    ...type('network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'edge',
    route_config: {virtual_hosts: [{name: 'all', domains: ['*'], routes: [route]}]},
    http_filters: [{name: 'envoy.filters.http.router', typed_config: type('http.router.v3.Router')}],
  };
  const filters = [{name: 'envoy.filters.network.http_connection_manager', typed_config: manager}];
  const endpoint = {address: address(Number(new URL(url).port))};
  const api = {
    name: 'api',
    type: 'STATIC',
    load_assignment: {cluster_name: 'api', endpoints: [{lb_endpoints: [{endpoint}]}]},
  };
  const resources = {listeners: [{address: address(port), filter_chains: [{filters}]}], clusters: [api]};
  return {
    program: binary,
    config: {static_resources: resources},
    args: file => ['--config-path', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'error'],
  };
}
