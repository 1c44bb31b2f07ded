/** cert-manager for the operator's tests: its own controllers, our own CA, and an approver that a test can direct. */
import {join} from 'node:path';
import {timestamp} from '../../../src/api/conditions.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  CLUSTER_ISSUER,
} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {isConflict, isNotFound} from '../../../src/runtime/kube/errors.ts';
import type {ApiServer} from '../../cluster/apiserver.ts';
import {type Child, run, startChild} from '../../cluster/children.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import type {History} from './history.ts';

/** The ClusterIssuer of the operator's configuration. */
export const CLUSTER_ISSUER_NAME = 'integration';

const CA = 'kube-system/integration-ca'; // where cert-manager looks for the Secrets of ClusterIssuers

export async function installCertManagerCrds(api: ApiServer): Promise<void> {
  const programs = await ensurePrograms([HELM, 'certmanager']);
  const chart = programs.asset('cert-manager-chart');
  const render = [programs.path('helm'), 'template', 'cert-manager', chart, '--set', 'crds.enabled=true'];
  await api.apply(await run([...render, '--show-only', 'templates/crd-*.yaml']));
  await untilEstablished(api.kubectl, '-l', 'app=cert-manager');
}

/** `approves`: enables its built-in approver. Otherwise, `Approvals` or the operator approves. */
export async function startCertManager(
  folder: string,
  {approves = false, kubeconfig}: {approves?: boolean; kubeconfig: string},
): Promise<Child> {
  const programs = await ensurePrograms(['certmanager']);
  const argv = [
    programs.path('cert-manager-controller'),
    '--kubeconfig',
    kubeconfig,
    '--healthz-listen-address=127.0.0.1:0',
    '--kube-api-qps=1000', // with the default of 20, certificates for all Projects at once take a minute
    '--kube-api-burst=1000',
    `--controllers=*${approves ? '' : ',-certificaterequests-approver'}`,
  ];
  return startChild('cert-manager', argv, {log: join(folder, 'cert-manager.log')});
}

/** A self-signed CA and the issuer that signs with it. */
export async function installIssuer(client: KubeClient, history: History): Promise<void> {
  const [namespace = '', name = ''] = CA.split('/');
  const apiVersion = 'cert-manager.io/v1';
  const issuer = (issuerName: string, spec: Record<string, unknown>) =>
    client.apply(CLUSTER_ISSUER, {apiVersion, kind: 'ClusterIssuer', metadata: {name: issuerName}, ...{spec}});
  await issuer('selfsigned', {selfSigned: {}});
  const issuerRef = {name: 'selfsigned', kind: 'ClusterIssuer'};
  const spec = {isCA: true, commonName: 'Nameplate test CA', dnsNames: ['ca.test'], secretName: name, issuerRef};
  await client.apply(CERTIFICATE, {apiVersion, kind: 'Certificate', metadata: {name, namespace}, spec});
  const isReady = () => history.get(CERTIFICATE, CA)?.status?.conditions?.find(({type}) => type === 'Ready')?.status;
  await until('the CA has its certificate', () => isReady() === 'True');
  await issuer(CLUSTER_ISSUER_NAME, {ca: {secretName: name}});
}

/**
 * An approver of certificate requests, like approver-policy. It approves, unless a test has called `hold` (nothing
 * happens until `approve`) or `refuse` (the attempt fails, as with a CA that refuses) for the host.
 */
export class Approvals {
  readonly #client: KubeClient;
  readonly #policies = new Map<string, 'hold' | 'refuse'>();
  /** By host. */
  readonly #held = new Map<string, CertificateRequest[]>();
  readonly #deciding = new Set<Promise<void>>();
  #stopped = false;

  constructor(client: KubeClient, history: History) {
    this.#client = client;
    history.subscribe(CERTIFICATE_REQUEST, ({type, object}) => {
      if (type !== 'ADDED' || this.#stopped) return;
      const deciding = this.#decide(object).finally(() => this.#deciding.delete(deciding));
      this.#deciding.add(deciding);
    });
  }

  hold(host: string): void {
    this.#policies.set(host, 'hold');
  }

  refuse(host: string): void {
    this.#policies.set(host, 'refuse');
  }

  /**
   * Approves waiting and future requests. No request is decided twice: a second refusal would have a later failureTime,
   * which cert-manager would attribute to the next attempt.
   */
  async approve(host: string): Promise<void> {
    this.#policies.delete(host);
    const held = this.#held.get(host) ?? [];
    this.#held.delete(host);
    for (const request of held) await this.#decide(request);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled(this.#deciding);
  }

  async #decide(request: CertificateRequest): Promise<void> {
    const {metadata} = request;
    const {name, namespace = '', uid = ''} = metadata;
    const certificateName = metadata.annotations?.['cert-manager.io/certificate-name'] ?? '';
    const certificate = await this.#client.get(CERTIFICATE, {namespace, name: certificateName});
    const host = certificate?.spec.dnsNames?.[0] ?? '';
    const policy = this.#policies.get(host);
    if (policy === 'hold') {
      this.#held.set(host, [...(this.#held.get(host) ?? []), request]);
      return;
    }
    const now = timestamp(Date.now());
    const condition = (type: string, status: string, reason: string, message: string) => ({
      conditions: [{type, status, reason, message, lastTransitionTime: now}],
    });
    const status =
      policy === 'refuse'
        ? {...condition('Ready', 'False', 'Failed', 'the CA of the test refuses'), failureTime: now}
        : condition('Approved', 'True', 'Policy', 'the test approves');
    const identity = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata: {name, namespace, uid}};
    // cert-manager may have deleted the request meanwhile. Then it creates another, which gets its own decision.
    await this.#client.applyStatus(CERTIFICATE_REQUEST, {...identity, status}).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }
}
