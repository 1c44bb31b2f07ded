import type {Edge, ProgramSet, Programs} from './programs.ts';
import {answers} from './provider/engine.ts';
import {kind} from './provider/kind.ts';
import {namespaces} from './provider/namespaces.ts';
import type {StateFolder} from './state.ts';

/** The parts of a cluster. */
export interface Parts {
  readonly programs: readonly ProgramSet[];
  /** Images that the node pulls from a registry: our name → theirs. The others are built. */
  readonly pulled: Readonly<Record<string, string>>;
  /** The published image of the node, if it comes from a registry. */
  readonly node?: string;
}

export interface CreateOptions {
  parts: Parts;
  state: StateFolder;
  programs: Programs;
  log: (line: string) => void;
  signal: AbortSignal;
}

/** A way to run a single-node Kubernetes whose network contains the fixed addresses in state.ts. */
export interface Provider {
  readonly name: 'kind' | 'namespaces';
  /** Chooses the parts of a cluster. */
  findParts(edge: Edge, log: (line: string) => void): Promise<Parts>;
  /** Installs what the machine lacks, or throws an error that names it. */
  prepare(log: (line: string) => void): Promise<void>;
  /** Returns once the node is Ready, `state.kubeconfig` is written, and the addresses are up. */
  create(options: CreateOptions): Promise<void>;
  /** The folder of the zone files, as programs started through `enter` see it. */
  zones(state: StateFolder): string;
  /** Empty folders on the node, each for one volume; none if the provider has its own StorageClass. */
  volumes(state: StateFolder): readonly string[];
  loadImages(state: StateFolder, archives: readonly string[]): Promise<void>;
  /** The command prefix that puts a program into the cluster's network. */
  enter(state: StateFolder): readonly string[];
  isRunning(state: StateFolder): Promise<boolean>;
  /** Stops everything and removes every trace. Does nothing if nothing is left. */
  delete(state: StateFolder): Promise<void>;
}

export const providers = {kind, namespaces} as const;

/**
 * Chooses kind if a Docker engine answers, otherwise namespaces for root on Linux. NAMEPLATE_PROVIDER=kind|namespaces
 * overrides this. `kind` starts its own engine if none answers.
 */
export async function pickProvider(): Promise<Provider> {
  const wanted = process.env.NAMEPLATE_PROVIDER;
  if (wanted === 'kind' || wanted === 'namespaces') return providers[wanted];
  if (wanted) throw new Error(`NAMEPLATE_PROVIDER is "${wanted}"; it may be "kind" or "namespaces"`);
  if (await answers(process.env)) return kind;
  if (process.platform === 'linux' && process.getuid?.() === 0) return namespaces;
  throw new Error(
    [
      'no way to run a Kubernetes here. One of these is needed:',
      '- a Docker engine that answers `docker version` (https://docs.docker.com/engine/install)',
      process.platform === 'linux'
        ? '- root: run the same command with sudo; nothing outside of namespaces of its own is changed'
        : `- Linux and root; this is ${process.platform}`,
    ].join('\n'),
  );
}
