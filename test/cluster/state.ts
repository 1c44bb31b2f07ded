import {existsSync} from 'node:fs';
import {homedir} from 'node:os';
import {join} from 'node:path';

/**
 * More than the kubelet's default, 110: the pods of a test tier stay until its end. The node has addresses for 250.
 */
export const MAX_PODS = 240;

/** Addresses inside the cluster's own network: the same for every cluster and provider. */
export const ADDRESSES = {
  node: '172.30.0.1',
  /** Answers like a recursive resolver over all zones. */
  resolver: '172.30.0.50',
  root: '172.30.0.51',
  /** Authoritative for com, org, net, test, and so on. */
  tld: '172.30.0.52',
  /** Authoritative for the customers' zones and the platform's. */
  ns1: '172.30.0.53',
  ns2: '172.30.0.54',
  /** The CA's resolver: like `resolver`, but with overrides. */
  ca: '172.30.0.55',
  pebble: '172.30.0.56',
  /** Of the Service of the platform's name server, once the chart is installed. */
  nameServer: '172.30.0.57',
  ingress: '172.30.0.80',
} as const;

export const BASE_DOMAIN = 'apps.nameplate.test';
export const TARGET_DOMAIN = 'edge.nameplate.test';
export const ACME_DOMAIN = 'acme.nameplate.test';

/** Zone files, as a path on the node; it is private to the node. */
export const ZONES = '/run/nameplate/zones';

/** The files of one cluster, on the machine that it runs on. */
export interface StateFolder {
  readonly name: string;
  readonly root: string;
  readonly kubeconfig: string;
  /** Roots of the CAs in the cluster, in PEM. */
  readonly roots: string;
  /** The file that NAMEPLATE_CLUSTER names, with a ClusterInfo. It is written once the cluster is complete. */
  readonly info: string;
  /** Logs of what does not run as a pod. */
  readonly logs: string;
  /** Data of the node, etcd, and the container runtime. */
  readonly node: string;
}

export function stateFolder(name: string): StateFolder {
  if (!/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/.test(name)) {
    throw new Error(`"${name}" cannot name a cluster: lower-case letters, digits and "-", at most 32`);
  }
  const base = process.env.XDG_STATE_HOME ?? join(homedir(), '.local/state');
  const root = join(base, 'nameplate', name);
  return {
    name,
    root,
    kubeconfig: join(root, 'kubeconfig'),
    roots: join(root, 'roots.pem'),
    info: join(root, 'cluster.json'),
    logs: join(root, 'logs'),
    node: join(root, 'node'),
  };
}

export function exists(state: StateFolder): boolean {
  return existsSync(state.root);
}
