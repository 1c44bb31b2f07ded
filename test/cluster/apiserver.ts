import {generateKeyPairSync, randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {request} from 'node:https';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type Child, failOnExit, run, startChild} from './children.ts';
import {ensurePrograms, type Programs} from './programs.ts';
import {until} from './wait.ts';

/** A real kube-apiserver on a real etcd, with the controllers that collect garbage and end namespaces; RBAC is on. */
export interface ApiServer {
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly url: string;
  /** PEM bundle that verifies the server. */
  readonly ca: string;
  /** Runs kubectl as the administrator and returns its stdout. */
  kubectl(...args: string[]): Promise<string>;
  /** `kubectl apply --server-side` of YAML or JSON text. */
  apply(manifest: string): Promise<string>;
  /**
   * Applies a folder of CRDs and waits until they are served. The garbage collector learns of new kinds only every 30 s:
   * where a test waits for it, pass the folder to startApiServer instead.
   */
  installCrds(folder: string): Promise<void>;
  /** Path of a kubeconfig that acts as a service account, for testing RBAC. */
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Kills the API server at once; the data stays. */
  crash(): Promise<void>;
  /** Starts it again, at the same address and with the same data, and waits until it is ready. */
  resume(): Promise<void>;
  /** Ends everything and deletes the data. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ApiServerOptions {
  /** Folders of CRDs to install before the controllers start. */
  crds?: readonly string[];
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

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const programs = await ensurePrograms(['etcd', 'kube'], options.log);
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-api-'));
  const children: Child[] = [];
  const stop = async () => {
    for (const child of children.toReversed()) await child.kill();
    await rm(folder, {recursive: true, force: true});
  };
  try {
    return await boot(programs, folder, children, stop, options);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function boot(
  programs: Programs,
  folder: string,
  children: Child[],
  stop: () => Promise<void>,
  options: ApiServerOptions,
): Promise<ApiServer> {
  const [clientPort, peerPort, port] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = join(folder, 'kubeconfig');
  const certificate = join(folder, 'certs/apiserver.crt');
  const token = randomBytes(24).toString('hex');
  await writeSecrets(folder, token);
  const start = (name: string, ...flags: string[]) => {
    const child = startChild(name, [programs.path(name), ...flags], {log: join(folder, `${name}.log`), cwd: folder});
    children.push(child);
    return child;
  };

  start('etcd', ...etcdFlags(folder, etcdUrl, `http://127.0.0.1:${peerPort}`));
  const flags = [...apiServerFlags(folder, etcdUrl, String(port)), ...(options.flags ?? [])];
  let server = start('kube-apiserver', ...flags);
  const ready = async () => {
    const isReady = () => existsSync(certificate) && answersReady(url, certificate, token);
    const log = join(folder, 'kube-apiserver.log');
    await Promise.race([until(`${url}/readyz answers`, isReady, {timeoutMs: 60_000}), failOnExit(server, log)]);
  };
  await ready();
  const ca = await readFile(certificate, 'utf8');
  await writeKubeconfig(kubeconfig, url, ca, token);

  const kubectl = (...args: string[]) => run([programs.path('kubectl'), '--kubeconfig', kubeconfig, ...args]);
  const installCrds = async (crds: string) => {
    await kubectl('apply', '--server-side', '-f', crds);
    await kubectl('wait', '--for=condition=Established', '--timeout=30s', '-f', crds);
  };
  for (const crds of options.crds ?? []) await installCrds(crds);
  start('kube-controller-manager', ...controllerFlags(kubeconfig, folder, certificate));
  const controllersRun = () => kubectl('get', 'serviceaccount', 'default', '--ignore-not-found', '-o', 'name');
  await until('the controllers have made the default service account', controllersRun);

  return {
    kubeconfig,
    url,
    ca,
    kubectl,
    apply: manifest =>
      run([programs.path('kubectl'), '--kubeconfig', kubeconfig, 'apply', '--server-side', '-f', '-'], {
        input: manifest,
      }),
    installCrds,
    kubeconfigFor: async (namespace, serviceAccount) => {
      const path = join(folder, `${namespace}-${serviceAccount}.kubeconfig`);
      const issued = await kubectl('create', 'token', serviceAccount, '-n', namespace, '--duration', '24h');
      await writeKubeconfig(path, url, ca, issued.trim());
      return path;
    },
    crash: () => server.kill(),
    resume: async () => {
      server = start('kube-apiserver', ...flags);
      await ready();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function etcdFlags(folder: string, client: string, peer: string): string[] {
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync', // the data need not outlive the machine, and tests write much
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
  ];
}

function apiServerFlags(folder: string, etcdUrl: string, port: string): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    `--cert-dir=${join(folder, 'certs')}`, // it makes a CA and a certificate of its own there
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    `--service-account-key-file=${join(folder, 'service-account.key')}`,
    `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
  ];
}

function controllerFlags(kubeconfig: string, folder: string, ca: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${CONTROLLERS.join(',')}`,
    `--service-account-private-key-file=${join(folder, 'service-account.key')}`,
    `--root-ca-file=${ca}`,
    '--leader-elect=false',
    '--secure-port=0',
  ];
}

async function writeSecrets(folder: string, token: string): Promise<void> {
  const {privateKey} = generateKeyPairSync('rsa', {modulusLength: 2048});
  const pem = privateKey.export({type: 'pkcs1', format: 'pem'});
  await writeFile(join(folder, 'service-account.key'), pem, {mode: 0o600});
  await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, {mode: 0o600});
}

/** JSON is YAML. */
async function writeKubeconfig(path: string, server: string, ca: string, token: string): Promise<void> {
  const cluster = {server, 'certificate-authority-data': Buffer.from(ca).toString('base64')};
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'nameplate', cluster}],
    users: [{name: 'user', user: {token}}],
    contexts: [{name: 'nameplate', context: {cluster: 'nameplate', user: 'user'}}],
    'current-context': 'nameplate',
  };
  await writeFile(path, JSON.stringify(config, null, 2), {mode: 0o600});
}

async function answersReady(url: string, certificate: string, token: string): Promise<boolean> {
  const ca = await readFile(certificate);
  return new Promise((resolve, reject) => {
    const headers = {authorization: `Bearer ${token}`};
    const asked = request(`${url}/readyz`, {ca, headers, agent: false, timeout: 2_000}, answer => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer within 2 s')));
    asked.on('error', reject);
    asked.end();
  });
}

/** Held open all at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({length: count}, () => createServer());
  const ports = await Promise.all(
    servers.map(
      server =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve((server.address() as {port: number}).port));
        }),
    ),
  );
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return ports;
}
