import type {ConnectionOptions} from 'node:tls';
import {KubeConfig} from '@kubernetes/client-node';

/** What a connection and a request need to be let in. Read anew for each request: tokens and certificates rotate. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

export type TlsMaterial = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
>;

export interface ClusterAccess {
  /** Base URL of the API server, without a slash at the end. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  /** The namespace of the context, in a pod its own. */
  readonly namespace: string | undefined;
  credentials(): Promise<Credentials>;
}

/**
 * Reads a kubeconfig (`path`; else KUBECONFIG, ~/.kube/config, the service account of the pod) and leaves to
 * client-node what it is good at: formats, exec plugins, token files (re-read each minute), client certificates.
 */
export function loadClusterAccess(path?: string): ClusterAccess {
  const config = new KubeConfig();
  if (path) config.loadFromFile(path);
  else config.loadFromDefault();
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`kubeconfig ${path ?? '(default)'}: the current context names no cluster`);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    proxyUrl: cluster.proxyUrl,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    credentials: shared(() => readCredentials(config)),
  };
}

/** `applyToHTTPSOptions` fills in what Node's https would need: TLS material, headers, and `auth` for basic. */
interface HttpsOptions extends TlsMaterial {
  headers?: Record<string, string>;
  auth?: string;
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: HttpsOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = value.trim();
  if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  const {ca, cert, key, pfx, passphrase, rejectUnauthorized, servername} = options;
  const tls = {ca, cert, key, pfx, passphrase, rejectUnauthorized, servername};
  return {headers, tls: Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined))};
}

/** Callers that come while a call is under way share it: an exec plugin is started once, not once a request. */
function shared<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= call().finally(() => {
      running = undefined;
    });
    return running;
  };
}
