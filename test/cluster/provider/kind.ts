import {readFileSync} from 'node:fs';
import {mkdir, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {run} from '../children.ts';
import {type Edge, ensurePrograms, type Programs, programSets, publishedProgramSets} from '../programs.ts';
import type {CreateOptions, Parts, Provider} from '../provider.ts';
import {ADDRESSES, MAX_PODS, type StateFolder, ZONES} from '../state.ts';
import {
  answers,
  docker,
  endIdleEngine,
  engineEnvironment,
  ensureEngine,
  hasSysResource,
  nodesOf,
  withEngine,
} from './engine.ts';
import {ensureNodeImage} from './node-image.ts';
import {ensurePackages, TO_ENTER} from './packages.ts';
import {NODE, publishedImages, pullImages, pullsNode} from './published.ts';

/** kind, in the Docker engine that answers or in our own. Entering the node's network requires root. */
export const kind: Provider = {
  name: 'kind',
  findParts,
  prepare: log => ensurePackages(log, TO_ENTER),
  create: options => withEngine(() => create(options)),
  zones,
  volumes: () => [], // kind has a StorageClass
  loadImages: async (state, archives) => {
    const programs = await ensurePrograms(['kind']);
    for (const archive of archives) {
      await runKind(programs, 'load', 'image-archive', archive, '--name', clusterName(state));
    }
  },
  enter: state => ['sh', '-c', ENTER, readFileSync(pidFile(state), 'utf8'), resolvConf(state)],
  isRunning: async state => (await answers()) && (await nodesOf(clusterName(state))).length > 0,
  delete: state => withEngine(() => remove(state)),
};

/** The node's network with this machine's files, except that /etc/resolv.conf names the cluster's resolver. */
const ENTER = `
  resolver=$1; shift
  exec nsenter --target "$0" --net unshare --mount sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$resolver" "$@"`;

async function runKind(programs: Programs, ...args: readonly string[]): Promise<void> {
  await run([programs.path('kind'), ...args], {env: await engineEnvironment()});
}

async function findParts(edge: Edge, log: (line: string) => void): Promise<Parts> {
  if (!(await pullsNode(log))) return {programs: [...programSets(edge), 'kind', 'kubeadm'], pulled: {}};
  return {programs: publishedProgramSets(edge), pulled: publishedImages(edge), node: NODE};
}

async function create({state, parts, programs, log}: CreateOptions): Promise<void> {
  await ensureEngine(log);
  const image = parts.node ?? (await ensureNodeImage(programs, log));
  await mkdir(zones(state), {recursive: true});
  await writeFile(resolvConf(state), `nameserver ${ADDRESSES.resolver}\n`);
  const config = join(state.root, 'kind.json');
  await writeFile(config, JSON.stringify(await configuration(state, parts)));
  const files = ['--config', config, '--kubeconfig', state.kubeconfig];
  await runKind(
    programs,
    'create',
    'cluster',
    '--name',
    clusterName(state),
    '--image',
    image,
    ...files,
    '--wait',
    '3m',
  );
  await writeFile(pidFile(state), (await docker('inspect', '--format', '{{.State.Pid}}', nodeName(state))).trim());
  for (const address of Object.values(ADDRESSES)) {
    await docker('exec', nodeName(state), 'ip', 'addr', 'add', `${address}/32`, 'dev', 'lo');
  }
  const kubectl = [...kind.enter(state), programs.path('kubectl'), '--kubeconfig', state.kubeconfig];
  await run([...kubectl, 'config', 'set-cluster', `kind-${clusterName(state)}`, '--server=https://127.0.0.1:6443']);
  await run([...kubectl, '-n', 'kube-system', 'delete', 'deployment', 'coredns']); // ours replaces it
  await pullImages(nodeName(state), parts.pulled);
}

async function remove(state: StateFolder): Promise<void> {
  if (await answers()) {
    const nodes = await nodesOf(clusterName(state));
    if (nodes.length > 0) await docker('rm', '--force', '--volumes', ...nodes);
    await endIdleEngine();
  }
  await rm(state.root, {recursive: true, force: true});
}

async function configuration(state: StateFolder, {node}: Parts): Promise<object> {
  const patches = await writePatches(state);
  const mounts = [
    {hostPath: zones(state), containerPath: ZONES},
    {hostPath: patches, containerPath: '/kind/patches'},
  ];
  return {
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    nodes: [{role: 'control-plane', extraMounts: mounts}],
    // Services of the node image that we build replace kindnet and the kube-proxy pod.
    networking: node ? {} : {disableDefaultCNI: true, kubeProxyMode: 'none'},
    kubeadmConfigPatches: [
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        failCgroupV1: false,
        maxPods: MAX_PODS,
      }),
      JSON.stringify({kind: 'InitConfiguration', patches: {directory: '/kind/patches'}}),
    ],
    containerdConfigPatches: hasSysResource()
      ? []
      : ['[plugins."io.containerd.grpc.v1.cri"]\nrestrict_oom_score_adj = true'],
  };
}

/** Patches for kubeadm, whose control plane requests 0.65 CPU, which tests on two cores need for their pods. */
async function writePatches(state: StateFolder): Promise<string> {
  const folder = join(state.root, 'patches');
  await mkdir(folder);
  for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']) {
    const patch = {spec: {containers: [{name, resources: {requests: {cpu: '10m'}}}]}};
    await writeFile(join(folder, `${name}+strategic.json`), JSON.stringify(patch));
  }
  return folder;
}

function zones(state: StateFolder): string {
  return join(state.root, 'zones');
}

function resolvConf(state: StateFolder): string {
  return join(state.root, 'resolv.conf');
}

/** Contains the node's first process, by its number on this machine. */
function pidFile(state: StateFolder): string {
  return join(state.root, 'pid');
}

function clusterName(state: StateFolder): string {
  return `nameplate-${state.name}`;
}

function nodeName(state: StateFolder): string {
  return `${clusterName(state)}-control-plane`;
}
