import {randomBytes} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {cp, mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type Child, failOnExit, run, startChild} from './children.ts';
import {
  answersReady,
  apiServerFlags,
  type ControlPlane,
  controllerFlags,
  etcdFlags,
  serverCertificate,
  serverUrl,
  writeKubeconfig,
  writeSecrets,
} from './controlplane.ts';
import {untilEstablished} from './crds.ts';
import {freePorts} from './free-ports.ts';
import {ensurePrograms} from './programs.ts';
import {until} from './wait.ts';

/** A real kube-apiserver on a real etcd, with the garbage collector and the namespace controller; RBAC is enabled. */
export interface ApiServer {
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly url: string;
  /** Its etcd, which requires no credentials. */
  readonly etcdUrl: string;
  /** PEM bundle that verifies the server. */
  readonly ca: string;
  /** Runs kubectl as the administrator and returns its stdout. */
  kubectl(...args: string[]): Promise<string>;
  /** `kubectl apply --server-side` of YAML or JSON text. */
  apply(manifest: string): Promise<string>;
  /**
   * Applies a folder of CRDs and waits until they are served. The garbage collector learns of new kinds only every 30
   * s: where a test waits for it, pass the folder to startApiServer instead.
   */
  installCrds(folder: string): Promise<void>;
  /** Path of a kubeconfig that acts as a service account, for testing RBAC. */
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
  /** No namespace ends and no garbage is collected until the returned function is called. */
  pauseControllers(): () => void;
  /** CPU time used since its start. Linux counts it in units of 10 ms. */
  cpuMs(): number;
  /** Kills the API server with SIGKILL; the data stays. */
  crash(): Promise<void>;
  /**
   * Starts it again, at the same address and with the same data, and waits until it is ready: by default, at most a
   * minute.
   */
  resume(timeoutMs?: number): Promise<void>;
  /** Copies etcd's data. Returns a function that restores the copy. Both restart the API server and etcd. */
  backup(): Promise<() => Promise<void>>;
  /** Ends everything and deletes the data. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ApiServerOptions {
  /** Folders of CRDs to install before the controllers start. */
  crds?: readonly string[];
  /** Of kube-apiserver; its Services have addresses of the same family. Default: 127.0.0.1. */
  address?: string;
  /** Further flags of kube-apiserver. */
  flags?: readonly string[];
  log?: (line: string) => void;
}

const CONTROLLERS = [
  'clusterrole-aggregation-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
];
/** With the default of 20 requests per second, the end of a namespace takes minutes if there are many. */
const FEW_CONTROLLERS = [
  ...[`--controllers=${CONTROLLERS.join(',')}`, '--secure-port=0'],
  ...['--kube-api-qps=1000', '--kube-api-burst=1000'],
];

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const programs = await ensurePrograms(['etcd', 'kube'], options.log);
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-api-'));
  const children: Child[] = [];
  const stop = async () => {
    for (const child of children.toReversed()) await child.kill();
    await rm(folder, {recursive: true, force: true});
  };
  const start = (name: string, flags: readonly string[]) => {
    const child = startChild(name, [programs.path(name), ...flags], {log: join(folder, `${name}.log`), cwd: folder});
    children.push(child);
    return child;
  };
  try {
    const plane = await planeOf(folder, options.address);
    const server = await startServer(plane, start, options.flags ?? []);
    const kubeconfig = join(folder, 'kubeconfig');
    await writeKubeconfig(kubeconfig, plane, plane.token);
    const client = clientOf(programs.path('kubectl'), plane, kubeconfig);
    for (const crds of options.crds ?? []) await client.installCrds(crds);
    const {pid} = start('kube-controller-manager', [...controllerFlags(plane, kubeconfig), ...FEW_CONTROLLERS]);
    const pauseControllers = () => {
      process.kill(pid, 'SIGSTOP');
      return () => void process.kill(pid, 'SIGCONT');
    };
    const made = () => client.kubectl('get', 'serviceaccount', 'default', '--ignore-not-found', '-o', 'name');
    await until('the controllers have created the default service account', made);
    const etcdUrl = `http://127.0.0.1:${plane.etcd.clientPort}`;
    return {...client, ...server, etcdUrl, pauseControllers, stop, [Symbol.asyncDispose]: stop};
  } catch (error) {
    await stop();
    throw error;
  }
}

async function planeOf(folder: string, address = '127.0.0.1'): Promise<ControlPlane> {
  const [port = 0, clientPort = 0, peerPort = 0] = await freePorts(3);
  const token = randomBytes(24).toString('hex');
  const plane = {folder, bind: address, address, port, etcd: {clientPort, peerPort}, token};
  await writeSecrets(plane);
  return plane;
}

type Start = (name: string, flags: readonly string[]) => Child;

async function startServer(
  plane: ControlPlane,
  start: Start,
  further: readonly string[],
): Promise<Pick<ApiServer, 'cpuMs' | 'crash' | 'resume' | 'backup'>> {
  let etcd = start('etcd', etcdFlags(plane));
  let server: Child;
  const resume = async (timeoutMs = 60_000) => {
    server = start('kube-apiserver', [...apiServerFlags(plane), '--endpoint-reconciler-type=none', ...further]);
    const ready = until(`${serverUrl(plane)}/readyz answers`, () => answersReady(plane), {timeoutMs});
    await Promise.race([ready, failOnExit(server, join(plane.folder, 'kube-apiserver.log'))]);
  };
  /** Replaces etcd's data while neither program runs. */
  const exchange = async (from: string, to: string) => {
    await server.kill();
    await etcd.stop();
    await rm(to, {recursive: true, force: true});
    await cp(from, to, {recursive: true});
    etcd = start('etcd', etcdFlags(plane));
    await resume();
  };
  const data = join(plane.folder, 'etcd');
  const copy = join(plane.folder, 'etcd-backup');
  await resume();
  return {
    resume,
    cpuMs: () => {
      const [, fields = ''] = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ');
      const [user, system] = fields.split(' ').slice(11, 13).map(Number);
      return ((user ?? Number.NaN) + (system ?? Number.NaN)) * 10;
    },
    crash: () => server.kill(),
    backup: async () => {
      await exchange(data, copy);
      return () => exchange(copy, data);
    },
  };
}

type Client = Omit<
  ApiServer,
  'etcdUrl' | 'pauseControllers' | 'cpuMs' | 'crash' | 'resume' | 'backup' | 'stop' | typeof Symbol.asyncDispose
>;

function clientOf(program: string, plane: ControlPlane, kubeconfig: string): Client {
  // kubectl caches by address which kinds a server has, and a later server may reuse this one's port.
  const command = [program, '--cache-dir', join(plane.folder, 'kubectl-cache'), '--kubeconfig', kubeconfig];
  const kubectl = (...args: string[]) => run([...command, ...args]);
  return {
    kubeconfig,
    url: serverUrl(plane),
    ca: readFileSync(serverCertificate(plane), 'utf8'),
    kubectl,
    apply: input => run([...command, 'apply', '--server-side', '-f', '-'], {input}),
    installCrds: async crds => {
      await kubectl('apply', '--server-side', '-f', crds);
      await untilEstablished(kubectl);
    },
    kubeconfigFor: async (namespace, serviceAccount) => {
      const path = join(plane.folder, `${namespace}-${serviceAccount}.kubeconfig`);
      const token = await kubectl('create', 'token', serviceAccount, '-n', namespace, '--duration', '24h');
      await writeKubeconfig(path, plane, token.trim());
      return path;
    },
  };
}
