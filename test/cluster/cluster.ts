import {readFile} from 'node:fs/promises';
import {run} from './children.ts';
import type {Edge, ProgramSet} from './programs.ts';
import {openZones, type Zones} from './zones.ts';

/** A running cluster, as described to programs inside its network in the file that NAMEPLATE_CLUSTER names. */
export interface ClusterInfo {
  readonly name: string;
  readonly provider: 'kind' | 'namespaces';
  readonly edge: Edge;
  /** The programs on PATH inside. */
  readonly programs: readonly ProgramSet[];
  readonly kubeconfig: string;
  readonly ingress: {readonly address: string; readonly className: string};
  readonly dns: {
    /** Answers like a recursive resolver. */
    readonly resolver: string;
    readonly root: string;
    readonly ns1: string;
    readonly ns2: string;
    /** The CA's resolver. */
    readonly ca: string;
  };
  /** Folder of the zone files. */
  readonly zones: string;
  /** A PEM file with the roots of the ACME CA and of the fast CA, which also signs the default certificate. */
  readonly roots: string;
  /** ClusterIssuers. */
  readonly issuers: {readonly acme: string; readonly fast: string};
  readonly baseDomain: string;
  readonly targetDomain: string;
}

export interface Cluster {
  readonly info: ClusterInfo;
  readonly zones: Zones;
  kubectl(...args: string[]): Promise<string>;
  /** `kubectl apply --server-side` of YAML or JSON text. */
  apply(manifest: string): Promise<string>;
  helm(...args: string[]): Promise<string>;
}

/** For programs started by `cli.ts exec` or in `cli.ts shell`. */
export async function connect(): Promise<Cluster> {
  const file = process.env.NAMEPLATE_CLUSTER;
  if (!file) {
    throw new Error('NAMEPLATE_CLUSTER is not set: start this with `node test/cluster/cli.ts exec -- COMMAND`');
  }
  const info = JSON.parse(await readFile(file, 'utf8')) as ClusterInfo;
  const client = ['--kubeconfig', info.kubeconfig];
  return {
    info,
    zones: openZones(info.zones),
    kubectl: (...args) => run(['kubectl', ...client, ...args]),
    apply: input => run(['kubectl', ...client, 'apply', '--server-side', '-f', '-'], {input}),
    helm: (...args) => run(['helm', ...client, ...args]),
  };
}
