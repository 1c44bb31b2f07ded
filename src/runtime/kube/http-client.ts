import {type Logger, pino} from 'pino';
import {Registry} from 'prom-client';
import {ApiConnection} from './api-connection.ts';
import {KubeClient} from './client.ts';
import {type ClusterAccess, loadClusterAccess} from './kubeconfig.ts';
import {kubeMetrics} from './metrics.ts';
import {Transport} from './transport.ts';

interface KubeClientOptions {
  /** The path of a kubeconfig. Default: KUBECONFIG, ~/.kube/config, then the pod's service account. */
  readonly kubeconfig?: string | undefined;
  /** The API server and the credentials, instead of those of a kubeconfig. */
  readonly access?: ClusterAccess;
  readonly userAgent: string;
  /** The only field manager that this program uses. */
  readonly fieldManager: string;
  /** The default deadline of a call; 15 000 if absent. */
  readonly requestTimeoutMs?: number;
  readonly registry: Registry;
  readonly logger: Logger;
}

const DEFAULT_TIMEOUT_MS = 15_000;

/** For a program that a person runs: without metrics and logs. */
export function createToolClient(name: string, kubeconfig: string | undefined): KubeClient {
  const logger = pino({level: 'silent'});
  return createKubeClient({kubeconfig, userAgent: name, fieldManager: name, registry: new Registry(), logger});
}

export function createKubeClient(options: KubeClientOptions): KubeClient {
  const access = options.access ?? loadClusterAccess(options.kubeconfig);
  options.logger.debug({server: access.server}, 'using the API server');
  const common = {
    host: new URL(access.server).host,
    userAgent: options.userAgent,
    timeoutMs: options.requestTimeoutMs ?? DEFAULT_TIMEOUT_MS,
    metrics: kubeMetrics(options.registry),
  };
  const connection = new ApiConnection({...common, transport: new Transport(access)});
  const leaseConnection = new ApiConnection({...common, transport: new Transport(access)});
  return new KubeClient(connection, {fieldManager: options.fieldManager, gated: true, leaseConnection});
}
