/**
 * What the operator's tests share: a real API server with audit log and RBAC, the operator with the chart's service
 * account, cert-manager's controllers, name servers, and the history of every object that the operator touches. Each
 * test has its own namespace and DNS zone (`tenant`), so that tests can run in parallel.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import type {Child} from '../../cluster/children.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {dumpStates} from '../../support/dump-states.ts';
import {renderTemplates} from '../../support/helm-template.ts';
import {OPERATOR_USER, RELEASE} from '../../support/install.ts';
import {type OperatorProcess, startOperator} from '../../support/operator-process.ts';
import {Audit} from './audit.ts';
import {
  Approvals,
  CLUSTER_ISSUER_NAME,
  installCertManagerCrds,
  installIssuer,
  startCertManager,
} from './cert-manager.ts';
import {History} from './history.ts';
import {LIAR} from './lying-issuer.ts';
import {type Forwarded, type NameServers, startNameServers} from './name-servers.ts';

const ROOT = join(import.meta.dirname, '../../..');

export const INGRESS_CLASS_NAME = 'integration';
/** The address that every account's target resolves to. */
export const INGRESS_ADDRESS = '192.0.2.10';
/** Its writes are recorded, next to the operator's, only at scale. */
export const CERT_MANAGER_USER = 'system:serviceaccount:cert-manager:cert-manager';
/** The CA's name in CAA records. */
export const CA_IDENTITY = 'ca.nameplate.test';

/** An issuer that tenants' own Certificates may use. */
const LISTED = {name: CLUSTER_ISSUER_NAME};
/** An issuer that does not exist, so its requests stay in progress. */
export const UNHURRIED = {name: 'unhurried', kind: 'ClusterIssuer', group: 'cert-manager.io'};

export interface OperatorWorld {
  readonly api: ApiServer;
  /** Acts as an administrator, with the field manager `test`. */
  readonly client: KubeClient;
  readonly history: History;
  readonly dns: NameServers;
  readonly audit: Audit;
  /** For logs and configuration files. */
  readonly folder: string;
  /** Path of the kubeconfig of the chart's service account. */
  readonly kubeconfig: string;
  /** The operator's configuration file. */
  readonly config: Readonly<Record<string, unknown>>;
  /**
   * Starts another process of the operator. `config` changes sections of the configuration; `through` is the kubeconfig
   * of a proxy to the API server.
   */
  startOperator(name: string, config?: Readonly<Record<string, unknown>>, through?: string): Promise<OperatorProcess>;
  /** The process that was started last. */
  operator(): OperatorProcess;
  readonly certManager: {
    installCrds(): Promise<void>;
    start(): Promise<void>;
    installIssuer(): Promise<void>;
    /** Does all three, one after another. */
    install(): Promise<void>;
    /** Available only once it has started. */
    approvals(): Approvals;
    /** Kills the process of cert-manager, and starts another one. Requests are approved meanwhile. */
    crash(): Promise<void>;
    restart(): Promise<void>;
    /** SIGSTOP: it stands still, without noticing, until the returned function is called. */
    pause(): () => void;
    /** Restarts cert-manager with its built-in approver enabled. It may take a while until that decides. */
    approveItself(): Promise<void>;
    stop(): Promise<void>;
  };
  stop(): Promise<void>;
}

export interface OperatorWorldOptions {
  /** The operator approves certificate requests. Otherwise, the tests do, with `Approvals`. */
  readonly operatorApproves?: boolean;
  /** The operator only reports what it would decide; something else approves. */
  readonly dryRun?: boolean;
  /** Of the API server and the resolvers. Default: 127.0.0.1. */
  readonly address?: string;
  /** For thousands of domains: the history keeps only the newest versions, and the client waits for a busy server. */
  readonly atScale?: boolean;
  /** Node's flags and the operator's file. Default: the source. */
  readonly program?: readonly string[];
  /** A zone that the name servers forward to another one. */
  readonly forwarded?: Forwarded;
  /** Further flags of the API server. */
  readonly flags?: readonly string[];
}

interface Approval {
  readonly enabled: boolean;
  readonly dryRun: boolean;
}

export async function startOperatorWorld(options: OperatorWorldOptions = {}): Promise<OperatorWorld> {
  const {operatorApproves = false, dryRun = false, atScale = false, program, address = '127.0.0.1'} = options;
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-operator-'));
  const programs = await ensurePrograms(['traefik', HELM, 'certmanager', 'coredns']);
  const {audit, flags} = await Audit.prepare(folder, OPERATOR_USER, atScale ? [CERT_MANAGER_USER] : []);
  const crds = [join(ROOT, 'crds'), programs.asset('traefik-crds.yml')];
  const [api, dns] = await Promise.all([
    startApiServer({crds, flags: [...flags, ...(options.flags ?? [])], address}),
    startNameServers(folder, address, options.forwarded),
  ]);
  await api.kubectl('create', 'namespace', RELEASE.namespace);
  await api.apply(await renderRbac(programs.path('helm'), {enabled: operatorApproves || dryRun, dryRun}));
  const kubeconfig = await api.kubeconfigFor(RELEASE.namespace, RELEASE.name);
  const client = createKubeClient({
    kubeconfig: api.kubeconfig,
    userAgent: 'nameplate-test',
    fieldManager: 'test',
    logger: pino({level: 'silent'}),
    registry: new Registry(),
    ...(atScale && {requestTimeoutMs: 120_000}),
  });
  const stopDump = dumpStates(client);
  const history = new History(client, {newestOnly: atScale});
  for (const kind of [
    kinds.PROJECT,
    kinds.DOMAIN,
    kinds.DOMAIN_CLAIM,
    kinds.SERVICE,
    kinds.INGRESS,
    MIDDLEWARE,
    EVENT,
    kinds.NAMESPACE,
  ]) {
    await history.follow(kind);
  }
  await history.follow(kinds.SECRET, {metadataOnly: true});
  await dns.addZone(TARGET_DOMAIN);
  await dns.set(`*.${TARGET_DOMAIN}`, 'A', [INGRESS_ADDRESS]);
  const config = configOf(dns.addresses, {enabled: operatorApproves || dryRun, dryRun});
  const certManager = certManagerOf(api, client, history, folder, operatorApproves);
  const operators: OperatorProcess[] = [];
  return {
    api,
    client,
    history,
    dns,
    audit,
    folder,
    kubeconfig,
    config,
    certManager,
    startOperator: async (name, changes = {}, through = kubeconfig) => {
      const started = await startOperator({
        folder,
        name,
        kubeconfig: through,
        config: {...config, ...changes},
        ...(program && {program}),
      });
      operators.push(started);
      return started;
    },
    operator: () => {
      const last = operators.at(-1);
      if (!last) throw new Error('no operator has been started');
      return last;
    },
    stop: async () => {
      await Promise.all([history.stop(), stopDump()]);
      await certManager.stop();
      await Promise.all(operators.map(({kill}) => kill()));
      await Promise.all([dns.stop(), api.stop(), client.close()]);
      if (!process.env.KEEP) await rm(folder, {recursive: true, force: true}); // its logs
    },
  };
}

/** By default, the IngressClass that the operator's configuration names. */
export async function installIngressClass(client: KubeClient, name = INGRESS_CLASS_NAME): Promise<void> {
  const metadata = {name};
  const spec = {controller: 'traefik.io/ingress-controller'};
  const intent = {apiVersion: 'networking.k8s.io/v1', kind: 'IngressClass', metadata, ...{spec}};
  await client.apply(kinds.INGRESS_CLASS, intent);
}

/** Renders only the rights that the chart grants. */
async function renderRbac(helm: string, {enabled, dryRun}: Approval): Promise<string> {
  const values = {
    'platform.baseDomain': BASE_DOMAIN,
    'platform.targetDomain': TARGET_DOMAIN,
    'certificates.issuerRef.name': CLUSTER_ISSUER_NAME,
    'certificates.approval.enabled': enabled,
    'certificates.approval.dryRun': dryRun,
  };
  const sets = Object.entries(values).flatMap(([path, value]) => ['--set', `config.${path}=${value}`]);
  return renderTemplates(helm, ['rbac', 'serviceaccount'], sets);
}

/** cert-manager's account in the operator's configuration: approval depends on who created a request. */
async function certManagerAccount(api: ApiServer): Promise<string> {
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {name: 'cert-manager', namespace: 'cert-manager'},
  };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: {name: 'cert-manager'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin'},
    subjects: [{kind: 'ServiceAccount', ...account.metadata}],
  };
  const namespace = {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'cert-manager'}};
  await api.apply(JSON.stringify({apiVersion: 'v1', kind: 'List', items: [namespace, account, binding]}));
  return api.kubeconfigFor('cert-manager', 'cert-manager');
}

function configOf(recursives: readonly string[], {enabled, dryRun}: Approval) {
  return {
    platform: {baseDomain: BASE_DOMAIN, targetDomain: TARGET_DOMAIN, reservedHosts: ['reserved.test']},
    plans: {
      free: {customDomains: false, maxDomains: 0},
      starter: {customDomains: true, maxDomains: 1, maxProjects: 2},
      pro: {customDomains: true, maxDomains: 20},
    },
    certificates: {
      issuerRef: {name: CLUSTER_ISSUER_NAME},
      formerIssuerRefs: [LIAR],
      caaIdentities: [CA_IDENTITY],
      approval: {
        enabled,
        dryRun,
        ...(enabled && {tenantCertificates: {hosts: [LISTED, UNHURRIED]}}),
      },
    },
    routing: {ingressClassName: INGRESS_CLASS_NAME},
    dns: {
      mode: 'recursive',
      recursives,
      checks: {soonSeconds: 1, pendingMaxSeconds: 2, steadySeconds: 2},
      driftAfterSeconds: 2,
      queryTimeoutMs: 1000,
      verdictTimeoutMs: 5000,
    },
    controller: {
      leaderElection: {
        leaseName: RELEASE.name,
        namespace: RELEASE.namespace,
        // On a busy machine, the API server may stall for seconds. An operator that loses its lease exits.
        leaseDurationSeconds: 15,
        renewDeadlineSeconds: 12,
        retryPeriodSeconds: 1,
      },
    },
    log: {level: 'debug'},
  };
}

function certManagerOf(
  api: ApiServer,
  client: KubeClient,
  history: History,
  folder: string,
  operatorApproves: boolean,
) {
  let controller: Child | undefined;
  let approvals: Approvals | undefined;
  const installCrds = () => installCertManagerCrds(api);
  const start = async () => {
    await history.follow(kinds.CERTIFICATE);
    await history.follow(kinds.CERTIFICATE_REQUEST);
    if (!operatorApproves) approvals = new Approvals(client, history);
    controller = await startCertManager(folder, {kubeconfig: await certManagerAccount(api)});
  };
  const issuer = () => installIssuer(client, history);
  return {
    installCrds,
    start,
    installIssuer: issuer,
    install: async () => {
      for (const step of [installCrds, start, issuer]) await step();
    },
    approvals: () => {
      if (!approvals) throw new Error('cert-manager has not been started, or the operator approves');
      return approvals;
    },
    crash: async () => controller?.kill(),
    restart: async () => {
      controller = await startCertManager(folder, {kubeconfig: await certManagerAccount(api)});
    },
    pause: () => {
      const {pid} = controller ?? {};
      if (pid === undefined) throw new Error('cert-manager has not been started');
      process.kill(pid, 'SIGSTOP');
      return () => void process.kill(pid, 'SIGCONT');
    },
    approveItself: async () => {
      await controller?.stop();
      controller = await startCertManager(folder, {approves: true, kubeconfig: await certManagerAccount(api)});
    },
    stop: async () => {
      await approvals?.stop();
      await controller?.kill();
    },
  };
}
