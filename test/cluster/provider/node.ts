/**
 * Runs under an init inside the namespaces that namespaces.ts created: sets up network and mounts, starts Kubernetes,
 * and keeps running. Everything here ends with the process namespace. Takes a NodeSpec as its argument.
 */
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {type Child, failOnExit, run, startChild} from '../children.ts';
import {
  answersReady,
  apiServerFlags,
  type ControlPlane,
  controllerFlags,
  etcdFlags,
  writeKubeconfig,
  writeSecrets,
} from '../controlplane.ts';
import {ADDRESSES, MAX_PODS, type StateFolder} from '../state.ts';
import {until} from '../wait.ts';

export interface NodeSpec {
  readonly state: StateFolder;
  /** Program → absolute path. */
  readonly programs: Readonly<Record<string, string>>;
  readonly token: string;
  readonly cgroup: string;
}

/** Written when the node is Ready. */
export function readyFile(state: StateFolder): string {
  return join(state.node, 'ready');
}

export function containerdSocket(state: StateFolder): string {
  return join(state.node, 'containerd.sock');
}

const POD_NETWORK = '10.244.0.0/24';
const CLUSTER_DNS = '10.96.0.10';
const NODE = 'nameplate';

async function main(spec: NodeSpec): Promise<void> {
  await setUpMounts(spec.state);
  await setUpNetwork();
  const running = await startKubernetes(spec);
  writeFileSync(readyFile(spec.state), '');
  await Promise.race(running.map(child => failOnExit(child, logFile(spec, child.name))));
}

/** What Kubernetes writes to fixed paths goes to an overlay that vanishes with the namespace. */
async function setUpMounts(state: StateFolder): Promise<void> {
  await run(['mount', '--make-rprivate', '/']);
  await run(['mount', '-t', 'tmpfs', 'tmpfs', '/run']);
  for (const folder of ['/etc', '/var/lib', '/var/log']) {
    const layer = join(state.node, 'overlay', folder);
    mkdirSync(join(layer, 'upper'), {recursive: true});
    mkdirSync(join(layer, 'work'), {recursive: true});
    const layers = `lowerdir=${folder},upperdir=${layer}/upper,workdir=${layer}/work`;
    await run(['mount', '-t', 'overlay', 'overlay', '-o', layers, folder]);
  }
  rmSync('/etc/resolv.conf', {force: true}); // may be a link into the old /run
  writeFileSync('/etc/resolv.conf', `nameserver ${ADDRESSES.resolver}\n`);
}

/**
 * A veth pair carries the addresses and the default route. The route leads nowhere, so no packet leaves; but without a
 * route, addresses of Services would be unreachable.
 */
async function setUpNetwork(): Promise<void> {
  const commands = [
    'ip link set lo up',
    'ip link add eth0 type veth peer name nowhere',
    'ip link set nowhere up',
    'ip link set eth0 up',
    `ip addr add ${ADDRESSES.node}/24 dev eth0`,
    ...Object.values(ADDRESSES)
      .filter(address => address !== ADDRESSES.node)
      .map(address => `ip addr add ${address}/32 dev eth0`),
    'ip route add default via 172.30.0.254',
  ];
  for (const command of commands) await run(command.split(' '));
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
}

async function startKubernetes(spec: NodeSpec): Promise<Child[]> {
  const {state, programs} = spec;
  const etcd = {clientPort: 2379, peerPort: 2380};
  const plane: ControlPlane = {
    folder: state.node,
    bind: '0.0.0.0',
    address: ADDRESSES.node,
    port: 6443,
    etcd,
    token: spec.token,
  };
  const children: Child[] = [];
  const start = (name: string, ...flags: string[]) => {
    const child = startChild(name, [programs[name] ?? name, ...flags], {log: logFile(spec, name), cwd: state.node});
    children.push(child);
    return child;
  };
  await writeSecrets(plane);
  writeNodeConfiguration(spec);
  start('containerd', '--config', join(state.node, 'containerd.toml'));
  start('etcd', ...etcdFlags(plane));
  const server = start(
    'kube-apiserver',
    ...apiServerFlags(plane),
    '--allow-privileged',
    '--kubelet-preferred-address-types=InternalIP', // for exec and logs
  );
  const serving = until('the API server is ready', () => answersReady(plane));
  await Promise.race([serving, failOnExit(server, logFile(spec, server.name))]);
  await writeKubeconfig(state.kubeconfig, plane, plane.token);

  const client = `--kubeconfig=${state.kubeconfig}`;
  start('kube-controller-manager', ...controllerFlags(plane, state.kubeconfig), '--use-service-account-credentials');
  start('kube-scheduler', client, '--leader-elect=false');
  start(
    'kubelet',
    client,
    `--config=${join(state.node, 'kubelet.json')}`,
    `--root-dir=${join(state.node, 'kubelet')}`,
    `--hostname-override=${NODE}`,
    `--node-ip=${ADDRESSES.node}`,
  );
  start('kube-proxy', client, `--hostname-override=${NODE}`, '--proxy-mode=iptables', '--conntrack-max-per-core=0');
  const wait = ['wait', '--for=condition=Ready', `node/${NODE}`, '--timeout=5s'];
  await until('the node is Ready', () => run([programs.kubectl ?? 'kubectl', client, ...wait]));
  return children;
}

function writeNodeConfiguration({state, cgroup}: NodeSpec): void {
  const write = (file: string, content: unknown) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
    mkdirSync(join(state.node, file, '..'), {recursive: true});
    writeFileSync(join(state.node, file), text);
  };
  write('cni/10-nameplate.conflist', cniConfiguration(state));
  write('containerd.toml', containerdConfiguration(state));
  write('kubelet.json', kubeletConfiguration(state, cgroup));
}

/** Point-to-point links, so that all traffic between pods is routed by the node and seen by kube-proxy's rules. */
function cniConfiguration(state: StateFolder): object {
  const ipam = {
    type: 'host-local',
    dataDir: join(state.node, 'cni-leases'),
    ranges: [[{subnet: POD_NETWORK}]],
    routes: [{dst: '0.0.0.0/0'}],
  };
  const plugins = [
    {type: 'ptp', ipam},
    {type: 'portmap', capabilities: {portMappings: true}},
  ];
  return {cniVersion: '0.4.0', name: 'nameplate', plugins};
}

function containerdConfiguration(state: StateFolder): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${state.node}/containerd"
state = "/run/containerd"
[grpc]
address = "${containerdSocket(state)}"
[${cri}]
restrict_oom_score_adj = true
sandbox_image = "localhost/nameplate/pause:test"
[${cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${state.node}/cni"
[${cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`;
}

function kubeletConfiguration(state: StateFolder, cgroup: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    maxPods: MAX_PODS,
    localStorageCapacityIsolation: false,
    containerRuntimeEndpoint: `unix://${containerdSocket(state)}`,
    authentication: {anonymous: {enabled: true}, webhook: {enabled: false}},
    authorization: {mode: 'AlwaysAllow'}, // only this cluster's own pods can reach it
    clusterDNS: [CLUSTER_DNS],
    clusterDomain: 'cluster.local',
    resolvConf: '/etc/resolv.conf',
    evictionHard: {'memory.available': '50Mi'},
    imageGCHighThresholdPercent: 100,
    podLogsDir: join(state.node, 'pod-logs'),
    volumePluginDir: join(state.node, 'volume-plugins'),
    serializeImagePulls: false,
    registryPullQPS: 0,
    syncFrequency: '10s',
  };
}

function logFile(spec: NodeSpec, name: string): string {
  return join(spec.state.logs, `${name}.log`);
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? '') as NodeSpec);
