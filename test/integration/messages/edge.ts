/** Traefik in front of the messages API: it takes connections to the API from a pool that all its clients share. */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {type Service, temporaryFolder} from './service.ts';

export interface Edge {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startEdge(service: Pick<Service, 'url'>): Promise<Edge> {
  const {path} = await ensurePrograms(['traefik']);
  const folder = await temporaryFolder();
  const [port = 0] = await freePorts(1);
  const http = {
    routers: {all: {rule: 'PathPrefix(`/`)', service: 'api', entryPoints: ['web']}},
    services: {api: {loadBalancer: {servers: [{url: service.url}]}}},
  };
  const file = join(folder, 'routes.json');
  await writeFile(file, JSON.stringify({http}));
  const child = startChild(
    'traefik',
    [
      path('traefik'),
      `--entrypoints.web.address=127.0.0.1:${port}`,
      `--providers.file.filename=${file}`,
      '--global.checknewversion=false',
      '--global.sendanonymoususage=false',
      '--log.level=ERROR',
    ],
    {log: join(folder, 'log')},
  );
  const isReady = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/openapi.json`).catch(() => undefined);
    await response?.arrayBuffer();
    return response?.status === 200;
  };
  await until('the edge serves the API', isReady, {timeoutMs: 60_000});
  return {port, stop: child.stop};
}
