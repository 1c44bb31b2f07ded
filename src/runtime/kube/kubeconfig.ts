import type {ConnectionOptions} from 'node:tls';
import {KubeConfig} from '@kubernetes/client-node';
import {sharedCall} from '../../time/shared-call.ts';

/** The credentials of a connection and a request, read for each request because tokens and certificates rotate. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

export type TlsMaterial = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
>;

export interface ClusterAccess {
  /** The base URL of the API server, without a trailing slash. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  /** The namespace of the context, or in a pod, of the pod. */
  readonly namespace: string | undefined;
  credentials(): Promise<Credentials>;
  /** The server did not accept them (401): the next call reads the kubeconfig and the token again. */
  refuse(credentials: Credentials): void;
}

/**
 * Reads a kubeconfig (`path`, or else KUBECONFIG, ~/.kube/config, or the pod's service account). client-node handles
 * the formats, exec plugins, token files (read again every minute), and client certificates.
 */
export function loadClusterAccess(path?: string): ClusterAccess {
  let config = load(path);
  let newest: Credentials | undefined;
  let isRefused = false;
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`kubeconfig ${path ?? '(default)'}: the current context names no cluster`);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    proxyUrl: cluster.proxyUrl,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    // An exec plugin starts once, not once per request.
    credentials: sharedCall(async () => {
      // client-node caches tokens in the KubeConfig: token files for a minute, those of exec plugins until they expire.
      if (isRefused) config = load(path);
      isRefused = false;
      newest = await readCredentials(config);
      return newest;
    }),
    // If many calls have the same old token, only one causes a new read.
    refuse: ({headers}) => {
      isRefused ||= headers.authorization === newest?.headers.authorization;
    },
  };
}

function load(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  if (path) config.loadFromFile(path);
  else config.loadFromDefault();
  return config;
}

/**
 * The options that `applyToHTTPSOptions` sets for Node's https: TLS material, headers, and `auth` for basic
 * authentication.
 */
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
