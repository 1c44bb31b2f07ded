import {mkdir, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {run} from '../children.ts';
import type {CreateOptions, Provider} from '../provider.ts';
import {ADDRESSES, type StateFolder, ZONES} from '../state.ts';

/**
 * kind, where a Docker engine answers. NOT EXERCISED so far: the machines that this was written on have no Docker engine.
 * Entering the node's network takes root, as it does with the other provider.
 */
export const kind: Provider = {
  name: 'kind',
  prepare: async () => {},
  create,
  zones,
  volumes: () => [],
  loadImages: async (state, archives) => {
    for (const archive of archives) await run(['kind', 'load', 'image-archive', archive, '--name', clusterName(state)]);
  },
  enter: state => ['sh', '-c', ENTER, 'enter', nodeName(state), resolvConf(state)],
  isRunning: async state => (await run(['kind', 'get', 'clusters'])).split('\n').includes(clusterName(state)),
  delete: async state => {
    await run(['kind', 'delete', 'cluster', '--name', clusterName(state)]);
    await rm(state.root, {recursive: true, force: true});
  },
};

/** The node's network with this machine's files: only the resolver is put over /etc/resolv.conf. */
const ENTER = `
  pid=$(docker inspect --format '{{.State.Pid}}' "$1") resolver=$2; shift 2
  exec nsenter --target "$pid" --net unshare --mount sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$resolver" "$@"`;

async function create({state}: CreateOptions): Promise<void> {
  await mkdir(zones(state), {recursive: true});
  await writeFile(resolvConf(state), `nameserver ${ADDRESSES.resolver}\n`);
  const mounts = [{hostPath: zones(state), containerPath: ZONES}];
  const nodes = [{role: 'control-plane', extraMounts: mounts}];
  const config = join(state.root, 'kind.json');
  await writeFile(config, JSON.stringify({kind: 'Cluster', apiVersion: 'kind.x-k8s.io/v1alpha4', nodes}));
  const name = ['--name', clusterName(state)];
  await run([
    'kind',
    'create',
    'cluster',
    ...name,
    '--config',
    config,
    '--kubeconfig',
    state.kubeconfig,
    '--wait',
    '3m',
  ]);
  for (const address of Object.values(ADDRESSES)) {
    await run(['docker', 'exec', nodeName(state), 'ip', 'addr', 'add', `${address}/32`, 'dev', 'lo']);
  }
  const kubectl = [...kind.enter(state), 'kubectl', '--kubeconfig', state.kubeconfig];
  await run([...kubectl, 'config', 'set-cluster', `kind-${clusterName(state)}`, '--server=https://127.0.0.1:6443']);
  await run([...kubectl, '-n', 'kube-system', 'delete', 'deployment', 'coredns']); // ours takes its place
}

function zones(state: StateFolder): string {
  return join(state.root, 'zones');
}

function resolvConf(state: StateFolder): string {
  return join(state.root, 'resolv.conf');
}

function clusterName(state: StateFolder): string {
  return `nameplate-${state.name}`;
}

function nodeName(state: StateFolder): string {
  return `${clusterName(state)}-control-plane`;
}
