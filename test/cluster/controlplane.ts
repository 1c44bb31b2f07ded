import {generateKeyPairSync} from 'node:crypto';
import {existsSync} from 'node:fs';
import {readFile, writeFile} from 'node:fs/promises';
import {request} from 'node:https';
import {isIP} from 'node:net';
import {join} from 'node:path';

/**
 * How etcd, kube-apiserver, and kube-controller-manager are started, for just the API server and for the full cluster.
 */
export interface ControlPlane {
  /** Data, certificates and keys. */
  readonly folder: string;
  /** Address that the API server listens on, and the one that it advertises. */
  readonly bind: string;
  readonly address: string;
  readonly port: number;
  readonly etcd: {readonly clientPort: number; readonly peerPort: number};
  /** The administrator's. */
  readonly token: string;
}

export const SERVICE_NETWORK = '10.96.0.0/16';
const SERVICE_NETWORK_IPV6 = 'fd10:96::/112';

export function serverUrl(plane: ControlPlane): string {
  return `https://${isIP(plane.address) === 6 ? `[${plane.address}]` : plane.address}:${plane.port}`;
}

/** kube-apiserver creates a certificate and its CA at its first start; the file contains both. */
export function serverCertificate(plane: ControlPlane): string {
  return join(plane.folder, 'certs/apiserver.crt');
}

export function etcdFlags(plane: ControlPlane): string[] {
  const client = `http://127.0.0.1:${plane.etcd.clientPort}`;
  return [
    `--data-dir=${join(plane.folder, 'etcd')}`,
    '--unsafe-no-fsync', // the data need not outlive the machine, and tests write a lot
    '--quota-backend-bytes=8589934592', // for benches: 10,000 domains write 2 GiB of versions before they are compacted
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=http://127.0.0.1:${plane.etcd.peerPort}`,
  ];
}

export function apiServerFlags(plane: ControlPlane): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${plane.etcd.clientPort}`,
    `--cert-dir=${join(plane.folder, 'certs')}`,
    `--bind-address=${plane.bind}`,
    `--advertise-address=${plane.address}`,
    `--secure-port=${plane.port}`,
    `--service-cluster-ip-range=${isIP(plane.address) === 6 ? SERVICE_NETWORK_IPV6 : SERVICE_NETWORK}`,
    `--service-account-key-file=${join(plane.folder, 'service-account.key')}`,
    `--service-account-signing-key-file=${join(plane.folder, 'service-account.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--token-auth-file=${join(plane.folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
  ];
}

export function controllerFlags(plane: ControlPlane, kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${join(plane.folder, 'service-account.key')}`,
    `--root-ca-file=${serverCertificate(plane)}`,
    '--leader-elect=false',
  ];
}

export async function writeSecrets(plane: ControlPlane): Promise<void> {
  const {privateKey} = generateKeyPairSync('rsa', {modulusLength: 2048});
  const pem = privateKey.export({type: 'pkcs1', format: 'pem'});
  await writeFile(join(plane.folder, 'service-account.key'), pem, {mode: 0o600});
  await writeFile(join(plane.folder, 'tokens.csv'), `${plane.token},admin,admin,"system:masters"\n`, {mode: 0o600});
}

export async function writeKubeconfig(path: string, plane: ControlPlane, token: string): Promise<void> {
  const ca = await readFile(serverCertificate(plane));
  const cluster = {server: serverUrl(plane), 'certificate-authority-data': ca.toString('base64')};
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'nameplate', cluster}],
    users: [{name: 'user', user: {token}}],
    contexts: [{name: 'nameplate', context: {cluster: 'nameplate', user: 'user'}}],
    'current-context': 'nameplate',
  };
  await writeFile(path, JSON.stringify(config, null, 2), {mode: 0o600}); // JSON is YAML
}

export async function answersReady(plane: ControlPlane): Promise<boolean> {
  if (!existsSync(serverCertificate(plane))) return false;
  const ca = await readFile(serverCertificate(plane));
  return new Promise((resolve, reject) => {
    const headers = {authorization: `Bearer ${plane.token}`};
    const asked = request(`${serverUrl(plane)}/readyz`, {ca, headers, agent: false, timeout: 2_000}, answer => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer within 2 s')));
    asked.on('error', reject);
    asked.end();
  });
}
