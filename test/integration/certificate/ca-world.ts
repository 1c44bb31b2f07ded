/**
 * The operator's world with a CA that truly validates: Pebble asks the program `challenges`, which answers for all
 * hosts, and cert-manager only makes keys and requests.
 */
import {mkdir, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {ACME_ISSUER, type ACMEIssuer, CONFIG_MAP} from '../../../src/operator/kinds/kinds.ts';
import {type Child, startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {until} from '../../cluster/wait.ts';
import {type CaProxy, startCaProxy} from '../../support/ca-proxy.ts';
import {RELEASE} from '../../support/install.ts';
import type {OperatorProcess} from '../../support/operator-process.ts';
import {type Pebble, type PebbleOptions, startPebble} from '../../support/pebble.ts';
import {startWebhook} from '../approval/webhook.ts';
import {
  installIngressClass,
  type OperatorWorld,
  type OperatorWorldOptions,
  startOperatorWorld,
} from '../operator/operator-world.ts';

export const RESPONDER = join(import.meta.dirname, '../../../src/bin/challenges.ts');
export const ISSUER_NAME = 'pebble';

export interface CaWorld extends OperatorWorld {
  readonly pebble: Pebble;
  /** Between the operator and Pebble. */
  readonly proxy: CaProxy;
  /** Starts an operator that uses the CA. `through`: the kubeconfig of a proxy to the API server. */
  startSigner(name: string, changes?: Readonly<Record<string, unknown>>, through?: string): Promise<OperatorProcess>;
  /** Applies the ACMEIssuer with these changes. */
  applyIssuer(spec?: Partial<ACMEIssuer['spec']>, name?: string): Promise<void>;
  /** The section of the operator's configuration with these changes of the leader election. */
  electing(changes: object): {readonly controller: object};
  /** The section of the operator's configuration that uses it. */
  certificatesBy(issuer?: string): {readonly acme: {readonly challenges: {readonly addresses: readonly string[]}}};
  readonly responder: {stop(): Promise<void>; start(): Promise<void>};
}

export async function startCaWorld(
  options: PebbleOptions = {},
  operator: Pick<OperatorWorldOptions, 'program' | 'atScale' | 'forwarded'> = {},
): Promise<CaWorld> {
  const world = await startOperatorWorld({operatorApproves: true, ...operator});
  await world.certManager.installCrds();
  const webhook = await startWebhook(world.api, world.folder);
  await world.certManager.start();
  await installIngressClass(world.client);
  for (const domain of [TARGET_DOMAIN, BASE_DOMAIN]) await world.dns.set(`*.${domain}`, 'A', ['127.0.0.1']);
  const [port = 0, operationsPort = 0] = await freePorts(2);
  const folder = join(world.folder, 'ca');
  await mkdir(folder);
  const pebble = await startPebble(folder, {
    ...options,
    dns: world.dns.addresses[0] ?? '',
    env: {PEBBLE_VA_ALWAYS_VALID: '0', ...options.env},
    config: {httpPort: port, tlsPort: 1, ...options.config},
  });
  const proxy = await startCaProxy(pebble);
  const thumbprint = join(folder, 'thumbprint');
  await history(world, thumbprint);
  let responder: Child | undefined;
  const start = async () => {
    const argv = [process.execPath, RESPONDER, '--thumbprint', thumbprint, '--port', `${port}`];
    responder = startChild('challenges', [...argv, '--operations-port', `${operationsPort}`], {
      log: join(folder, 'challenges.log'),
    });
    await until('the responder is up', async () => (await fetch(`http://127.0.0.1:${operationsPort}/healthz`)).ok);
  };
  await start();
  const applyIssuer = async (spec: Partial<ACMEIssuer['spec']> = {}, name = ISSUER_NAME) => {
    const caBundle = Buffer.from(proxy.trust).toString('base64');
    await world.client.apply(ACME_ISSUER, {
      apiVersion: 'nameplate.dev/v1alpha1',
      kind: 'ACMEIssuer',
      metadata: {name},
      ...{spec: {server: proxy.directory, caBundle, contact: ['ops@example.com'], ...spec}},
    });
  };
  await world.history.follow(ACME_ISSUER);
  await applyIssuer();
  const certificatesBy = (name = ISSUER_NAME) => ({
    ...(world.config.certificates as object),
    issuerRef: {name, kind: 'ACMEIssuer', group: 'nameplate.dev'},
    acme: {challenges: {addresses: [`127.0.0.1:${port}`]}},
  });
  return {
    ...world,
    pebble,
    proxy,
    applyIssuer,
    certificatesBy,
    electing: changes => {
      const {leaderElection} = world.config.controller as {leaderElection: object};
      return {controller: {leaderElection: {...leaderElection, ...changes}}};
    },
    responder: {
      start,
      stop: async () => {
        await responder?.stop();
      },
    },
    startSigner: (name, changes = {}, through = undefined) =>
      world.startOperator(name, {certificates: certificatesBy(), ...changes}, through),
    stop: async () => {
      await Promise.all([responder?.kill(), webhook.kill()]);
      await proxy.stop();
      await pebble.stop();
      await world.stop();
    },
  };
}

/** Does what the kubelet does with a ConfigMap that is a volume. */
async function history(world: OperatorWorld, file: string): Promise<void> {
  await world.history.follow(CONFIG_MAP);
  world.history.subscribe(CONFIG_MAP, ({object}) => {
    const {metadata, data} = object;
    if (metadata.namespace !== RELEASE.namespace || metadata.name !== `${RELEASE.name}-challenges`) return;
    void writeFile(`${file}.new`, data?.thumbprint ?? '').then(() => rename(`${file}.new`, file));
  });
}
