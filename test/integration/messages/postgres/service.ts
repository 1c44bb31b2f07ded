import {until} from '../../../cluster/wait.ts';
import {type Service, type ServiceOptions, startService, temporaryFolder} from '../service.ts';
import {type Postgres, uriFile} from './server.ts';

export interface PostgresServiceOptions extends Pick<ServiceOptions, 'config' | 'wrapper'> {
  readonly database: string;
  /** Replaces the URI that all tests use. */
  readonly uri?: string;
  /** Overrides in store.postgres. */
  readonly postgres?: Readonly<Record<string, unknown>>;
}

/** Starts a pod of the messages API with a database, without waiting for readiness. */
export async function startPod(server: Postgres, options: PostgresServiceOptions): Promise<Service> {
  const {config = {}, database, uri = server.uri(database), postgres = {}, wrapper = []} = options;
  const file = await uriFile(await temporaryFolder(), uri);
  const store = {kind: 'postgres', ...(config.store as object), postgres: {uriFile: file, tls: 'disable', ...postgres}};
  return startService({config: {...config, store}, wrapper});
}

export async function startReadyPod(server: Postgres, options: PostgresServiceOptions): Promise<Service> {
  const service = await startPod(server, options);
  await until('the pod is ready', async () => (await service.operations('/readyz')).status === 200, {intervalMs: 20});
  return service;
}
