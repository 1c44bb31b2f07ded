/**
 * What the tests of APIKeys share: a real API server with audit log and RBAC, the operator with the chart's service
 * account, and the authenticator of the messages API with its own.
 */
import {randomBytes} from 'node:crypto';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {API_KEY, type APIKey, KEY_CLAIM, type KeyClaim} from '../../../src/apikey/apikey.ts';
import {type KeyAuthenticator, watchKeys} from '../../../src/apikey/watched-keys.ts';
import {SECRET, type Secret} from '../../../src/operator/kinds/kinds.ts';
import {Reflector} from '../../../src/runtime/cache/reflector.ts';
import type {ReadonlyStore, Store} from '../../../src/runtime/cache/store.ts';
import type {WriteRecord} from '../../../src/runtime/kube/calls.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {PATIENCE_MS, until} from '../../cluster/wait.ts';
import {dumpStates} from '../../support/dump-states.ts';
import {renderTemplates} from '../../support/helm-template.ts';
import {MESSAGES_HOST, RELEASE} from '../../support/install.ts';
import {type OperatorProcess, startOperator} from '../../support/operator-process.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MESSAGES_ACCOUNT = `${RELEASE.name}-messages`;
export const MESSAGES_USER = `system:serviceaccount:${RELEASE.namespace}:${MESSAGES_ACCOUNT}`;

export interface KeyWorld {
  readonly api: ApiServer;
  /** Acts as an administrator. */
  readonly client: KubeClient;
  /** Acts as the messages API, with the chart's service account. */
  readonly messagesClient: KubeClient;
  /** All APIKeys, as an administrator sees them. */
  readonly apiKeys: ReadonlyStore<APIKey>;
  readonly secrets: ReadonlyStore<Secret>;
  /** Keyed by the hash of the key. */
  readonly keyClaims: ReadonlyStore<KeyClaim>;
  /** Waits until these two show a write. */
  seen(write: WriteRecord): Promise<void>;
  readonly authenticator: KeyAuthenticator;
  operator(): OperatorProcess;
  /** Replaces the operator's process with another one; `config` changes sections of its configuration. */
  restartOperator(config?: Readonly<Record<string, unknown>>): Promise<void>;
  /** A separate authenticator, which trusts known keys for this long. */
  authenticatorWith(graceMs: number): Promise<KeyAuthenticator>;
  /** All users' requests and answers as the API server logged them, without the bodies of Secrets. */
  auditLog(): Promise<string>;
  /** Everything that the operators have logged, at level debug. */
  operatorLogs(): Promise<string>;
  stop(): Promise<void>;
}

export async function startKeyWorld(): Promise<KeyWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-apikey-'));
  const helm = (await ensurePrograms([HELM])).path('helm');
  const audit = join(folder, 'audit.log');
  const api = await startApiServer({crds: [join(ROOT, 'crds')], flags: await auditFlags(folder, audit)});
  await api.kubectl('create', 'namespace', RELEASE.namespace);
  await api.apply(await renderRbac(helm));
  const [client, messagesClient] = [api.kubeconfig, await api.kubeconfigFor(RELEASE.namespace, MESSAGES_ACCOUNT)].map(
    clientOf,
  ) as [KubeClient, KubeClient];
  const stopDump = dumpStates(client);
  const kubeconfig = await api.kubeconfigFor(RELEASE.namespace, RELEASE.name);
  const keyFile = join(folder, 'platform.key');
  await writeFile(keyFile, randomBytes(32));
  const operators: OperatorProcess[] = [];
  const start = async (changes: Readonly<Record<string, unknown>> = {}) => {
    const name = `operator-${operators.length + 1}`;
    operators.push(await startOperator({folder, name, kubeconfig, config: {...configOf(keyFile), ...changes}}));
  };
  await start();
  const operator = () => operators.at(-1) as OperatorProcess;
  const end = new AbortController();
  const running: Promise<void>[] = [];
  const common = {clock: systemClock, logger: pino({level: 'silent'}), registry: new Registry()};
  const backoff = {initialMs: 100, maxMs: 1_000, factor: 2, jitter: 0};
  const apiKeys = new Reflector<APIKey>({client, resource: API_KEY, backoff, ...common});
  const secrets = new Reflector<Secret>({client, resource: SECRET, backoff, ...common});
  const keyClaims = new Reflector<KeyClaim>({client, resource: KEY_CLAIM, backoff, ...common});
  running.push(apiKeys.run(end.signal), secrets.run(end.signal), keyClaims.run(end.signal));
  const authenticatorWith = async (graceMs: number) => {
    const options = {...common, registry: new Registry()};
    const {authenticator, run: follow} = watchKeys({client: messagesClient, graceMs, ...options});
    running.push(follow(end.signal));
    await until('the keys are known', () => authenticator.problem() === undefined);
    return authenticator;
  };
  return {
    api,
    client,
    messagesClient,
    apiKeys: apiKeys.store,
    secrets: secrets.store,
    keyClaims: keyClaims.store,
    seen: async write => {
      const store: Store<KubeObject> = (write.resource === SECRET ? secrets : apiKeys).store as never;
      const expectation = store.expect(write);
      if (expectation) await store.reflecting(expectation, AbortSignal.timeout(PATIENCE_MS));
    },
    authenticator: await authenticatorWith(60_000),
    operator,
    restartOperator: async changes => {
      await operator().kill();
      await start(changes);
    },
    authenticatorWith,
    auditLog: () => readFile(audit, 'utf8'),
    operatorLogs: async () => (await Promise.all(operators.map(({logFile}) => readFile(logFile, 'utf8')))).join(''),
    stop: async () => {
      end.abort();
      await Promise.all([...running, stopDump()]);
      await Promise.all(operators.map(({kill}) => kill()));
      await Promise.all([client.close(), messagesClient.close(), api.stop()]);
      if (!process.env.KEEP) await rm(folder, {recursive: true, force: true});
    },
  };
}

/** The recommended audit policy: complete bodies, except those of Secrets. */
async function auditFlags(folder: string, log: string): Promise<string[]> {
  const policy = join(folder, 'audit-policy.json');
  const rules = [
    {level: 'Metadata', resources: [{group: '', resources: ['secrets']}]},
    {
      level: 'RequestResponse',
      resources: ['nameplate.dev', 'events.k8s.io', 'coordination.k8s.io'].map(group => ({group})),
    },
    {level: 'None'},
  ];
  await writeFile(
    policy,
    JSON.stringify({apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules}),
  );
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking-strict'];
}

/** Renders only the rights that the chart grants to both programs. */
async function renderRbac(helm: string): Promise<string> {
  const values = {
    'config.platform.baseDomain': BASE_DOMAIN,
    'config.platform.targetDomain': TARGET_DOMAIN,
    'config.certificates.issuerRef.name': 'none',
    'messages.enabled': 'true',
    'messages.host': MESSAGES_HOST,
  };
  const sets = Object.entries(values).flatMap(([path, value]) => ['--set', `${path}=${value}`]);
  const files = ['rbac', 'serviceaccount', 'messages-rbac'];
  return renderTemplates(helm, files, sets);
}

function configOf(keyFile: string) {
  return {
    platform: {baseDomain: BASE_DOMAIN, targetDomain: TARGET_DOMAIN, keyFile},
    certificates: {issuerRef: {name: 'none'}},
    dns: {mode: 'recursive', recursives: ['127.0.0.1:53']}, // nobody has a domain here
    plans: {free: {}, few: {maxApiKeys: 2}, many: {maxApiKeys: 400}, none: {maxApiKeys: 0}},
    controller: {leaderElection: {enabled: false}},
    log: {level: 'debug'},
  };
}

function clientOf(kubeconfig: string): KubeClient {
  const logger = pino({level: 'silent'});
  return createKubeClient({
    kubeconfig,
    userAgent: 'nameplate-test',
    fieldManager: 'test',
    logger,
    registry: new Registry(),
  });
}
