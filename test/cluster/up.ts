import {appendFile, mkdir, readFile, writeFile} from 'node:fs/promises';
import {delimiter, dirname, join} from 'node:path';
import {timestamp} from '../../src/api/conditions.ts';
import {run} from './children.ts';
import type {ClusterInfo} from './cluster.ts';
import {untilEstablished} from './crds.ts';
import {ensureEnvoy} from './envoy.ts';
import {ensureImages, imageReference} from './images.ts';
import {withLock} from './lock.ts';
import {buildOperatorImage} from './operator-image.ts';
import {type Edge, ensurePrograms, type Programs} from './programs.ts';
import type {Parts, Provider} from './provider.ts';
import {ADDRESSES, BASE_DOMAIN, type StateFolder, TARGET_DOMAIN} from './state.ts';
import {storageOver} from './storage.ts';
import {until} from './wait.ts';

const MANIFESTS = join(import.meta.dirname, 'manifests');

const PLATFORM_GATEWAY = '{group: gateway.networking.k8s.io, kind: Gateway, name: platform, namespace: gateway';
const HTTP01_SOLVERS: Readonly<Record<Edge, string>> = {
  traefik: '{ingress: {ingressClassName: traefik, serviceType: ClusterIP}}',
  gateway: `{gatewayHTTPRoute: {parentRefs: [${PLATFORM_GATEWAY}, sectionName: http}], serviceType: ClusterIP}}`,
};

export interface UpOptions {
  provider: Provider;
  state: StateFolder;
  edge: Edge;
  /** Meanwhile, build the operator's image and load it. */
  operator?: boolean;
  log: (line: string) => void;
  signal: AbortSignal;
}

interface Context extends UpOptions {
  parts: Parts;
  programs: Programs;
  /** Runs a command inside the cluster and returns its stdout. */
  inside(argv: readonly string[], input?: string): Promise<string>;
  kubectl(...args: string[]): Promise<string>;
}

/**
 * Brings up a complete, ready cluster. Leaves nothing if it fails or is aborted, but NAMEPLATE_KEEP_FAILED keeps a
 * failed cluster for inspection.
 */
export async function up(options: UpOptions): Promise<void> {
  const {provider, state, log, signal} = options;
  await mkdir(dirname(state.root), {recursive: true});
  await withLock(
    `${state.root}.lock`,
    async () => {
      try {
        await build(options);
      } catch (error) {
        if (signal.aborted || !process.env.NAMEPLATE_KEEP_FAILED) await provider.delete(state);
        throw signal.aborted ? signal.reason : error;
      }
    },
    owner => log(`[cluster] waiting for process ${owner}, which uses the same cluster`),
  );
}

async function build(options: UpOptions): Promise<void> {
  const {provider, state, edge, log, signal} = options;
  const step = stepper(options);
  const parts = await provider.findParts(edge, log);
  const [programs, envoy] = await Promise.all([
    ensurePrograms(parts.programs, log),
    edge === 'gateway' ? ensureEnvoy(log) : undefined,
    provider.prepare(log),
  ]);
  const archives = await step('images', () => ensureImages(programs, envoy, parts.pulled));
  await provider.delete(state); // what an interrupted `up` or a reboot left behind
  await mkdir(state.logs, {recursive: true});
  const [operator] = await Promise.all([
    options.operator ? step('the operator’s image', () => operatorArchive(state)) : [],
    step(`a Kubernetes node (${provider.name})`, () => provider.create({state, parts, programs, log, signal})),
  ]);
  const context = contextOf(options, parts, programs);
  try {
    const seed = [process.execPath, join(import.meta.dirname, 'seed.ts'), provider.zones(state)];
    await step('zone files', () => context.inside(seed));
    await step('images into the node', () => provider.loadImages(state, [...archives, ...operator]));
    await installVolumes(context);
    await Promise.all([
      step('DNS', () => installDns(context)),
      (async () => {
        if (edge === 'gateway') await step('Envoy Gateway', () => installEnvoyGateway(context));
        await step('cert-manager', () => installCertManager(context));
      })(),
    ]);
    await step('CA, Pebble and the edge', () => installEdge(context));
    const info = await step('ACME issuer', () => installAcmeIssuer(context));
    await writeFile(state.info, JSON.stringify(info, null, 2));
  } catch (error) {
    if (!signal.aborted) log(await context.kubectl('get', 'pods', '--all-namespaces').catch(String));
    throw error;
  }
}

/** The environment of programs that run inside the cluster. */
export function environment(state: StateFolder, programs: Programs): NodeJS.ProcessEnv {
  const path = [...programs.folders, process.env.PATH ?? ''].join(delimiter);
  const {kubeconfig, info, roots} = state;
  return {...process.env, PATH: path, KUBECONFIG: kubeconfig, NAMEPLATE_CLUSTER: info, CURL_CA_BUNDLE: roots};
}

function contextOf(options: UpOptions, parts: Parts, programs: Programs): Context {
  const {provider, state, signal} = options;
  const env = environment(state, programs);
  const inside = (argv: readonly string[], input = '') =>
    run([...provider.enter(state), ...argv], {env, input, signal});
  return {...options, parts, programs, inside, kubectl: (...args) => inside(['kubectl', ...args])};
}

/** Prints every step with its time. */
function stepper({log, signal}: UpOptions): <T>(what: string, work: () => Promise<T>) => Promise<T> {
  return async (what, work) => {
    signal.throwIfAborted();
    const start = performance.now();
    const result = await work();
    log(`[cluster] ${what}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    return result;
  };
}

async function operatorArchive({root}: StateFolder): Promise<string[]> {
  const path = join(root, 'operator.oci.tar');
  await buildOperatorImage(path);
  return [path];
}

async function installVolumes({provider, state, inside}: Context): Promise<void> {
  const paths = provider.volumes(state);
  if (paths.length > 0) await inside(['kubectl', 'apply', '-f', '-'], JSON.stringify(storageOver(paths)));
}

async function installDns({kubectl}: Context): Promise<void> {
  await kubectl('apply', '-f', join(MANIFESTS, 'dns.yaml'), '-f', join(MANIFESTS, 'cluster-dns.yaml'));
  await kubectl('-n', 'dns', 'wait', '--for=condition=Available', '--timeout=120s', 'deployment', '--all');
  await kubectl('-n', 'kube-system', 'rollout', 'status', '--timeout=120s', 'deployment/coredns');
}

/** Runs before cert-manager, which exits if it is configured for Gateway API but the CRDs do not exist. */
async function installEnvoyGateway({inside, kubectl, programs}: Context): Promise<void> {
  // Some are too large for the annotation of a client-side apply.
  for (const crds of ['gateway-api-crds', 'envoy-gateway-crds']) {
    await kubectl('apply', '--server-side', '-f', programs.asset(crds));
  }
  await untilEstablished(kubectl);
  // The chart in the Go module has no values.yaml: releases generate it from this template.
  const chart = programs.asset('envoy-gateway-chart');
  const template = await readFile(join(chart, 'values.tmpl.yaml'), 'utf8');
  const values = template
    .replace(/\$\{GatewayImage\}/, imageReference('envoy-gateway'))
    .replace(/\$\{GatewayImagePullPolicy\}/, 'Never');
  const where = ['--namespace', 'envoy-gateway-system', '--create-namespace'];
  const settings = ['--set', 'crds.enabled=false,deployment.envoyGateway.resources.requests.cpu=50m'];
  await inside(['helm', 'install', 'envoy-gateway', chart, ...where, '--values', '-', ...settings, '--wait'], values);
}

async function installCertManager({edge, inside, kubectl, programs}: Context): Promise<void> {
  const chart = programs.asset('cert-manager-chart');
  const values = join(MANIFESTS, 'cert-manager-values.yaml');
  const where = ['--namespace', 'cert-manager', '--create-namespace'];
  const gatewayApi = edge === 'gateway' ? ['--set', 'extraArgs[1]=--enable-gateway-api'] : [];
  await inside(['helm', 'install', 'cert-manager', chart, ...where, '--values', values, ...gatewayApi]);
  await kubectl('-n', 'cert-manager', 'wait', '--for=condition=Available', '--timeout=180s', 'deployment', '--all');
}

async function installEdge({edge, kubectl, programs, signal}: Context): Promise<void> {
  // Calls to the webhook fail until the injector has written its CA into the configuration.
  const issuers = () => kubectl('apply', '-f', join(MANIFESTS, 'issuers.yaml'));
  await until('the webhook of cert-manager is trusted', issuers, {intervalMs: 500, signal});
  if (edge === 'traefik') await kubectl('apply', '--server-side', '-f', programs.asset('traefik-crds.yml'));
  await kubectl('apply', '-f', join(MANIFESTS, `${edge}.yaml`));
  const issued = async (namespace: string, name: string) => {
    const isReady = async () => {
      if (!(await approveRequests(kubectl, namespace))) return false;
      await kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=1s', `certificate/${name}`);
      return true;
    };
    await until(`${namespace}/${name} is issued`, isReady, {signal});
  };
  await issued('cert-manager', 'selfca'); // it issues the others
  const pebble = async () => {
    await issued('pebble', 'pebble');
    await kubectl('apply', '-f', join(MANIFESTS, 'pebble.yaml'));
    await kubectl('-n', 'pebble', 'rollout', 'status', '--timeout=120s', 'deployment/pebble');
  };
  await Promise.all([issued(edge, 'platform'), pebble()]);
  if (edge === 'traefik') await kubectl('-n', 'traefik', 'rollout', 'status', '--timeout=120s', 'deployment/traefik');
  else await kubectl('-n', 'gateway', 'wait', '--for=condition=Programmed', '--timeout=180s', 'gateway/platform');
}

/** Approves requests as an administrator, because the operator does not run yet. Returns whether there are any. */
async function approveRequests(kubectl: Context['kubectl'], namespace: string): Promise<boolean> {
  const {items} = JSON.parse(await kubectl('-n', namespace, 'get', 'certificaterequests', '-o', 'json')) as {
    items: {metadata: {name: string}; status?: {conditions?: {type: string}[]}}[];
  };
  for (const {metadata, status} of items) {
    const conditions = status?.conditions ?? [];
    if (conditions.some(({type}) => type === 'Approved')) continue;
    const lastTransitionTime = timestamp(Date.now()); // fractions would look like a change to cert-manager
    const approved = {
      type: 'Approved',
      status: 'True',
      reason: 'SetUp',
      message: 'the cluster needs it',
      lastTransitionTime,
    };
    const patch = JSON.stringify({status: {conditions: [...conditions, approved]}});
    const target = ['certificaterequest', metadata.name, '--subresource=status', '--type=merge', '--patch', patch];
    await kubectl('-n', namespace, 'patch', ...target);
  }
  return items.length > 0;
}

async function installAcmeIssuer({edge, inside, kubectl, parts, provider, state}: Context): Promise<ClusterInfo> {
  const bundle = await kubectl('-n', 'cert-manager', 'get', 'secret', 'selfca', '-o', 'jsonpath={.data.tls\\.crt}');
  await writeFile(state.roots, Buffer.from(bundle, 'base64'));
  await appendFile(state.roots, await inside(['curl', '-sS', '--fail', `https://${ADDRESSES.pebble}:15000/roots/0`]));

  const template = await readFile(join(MANIFESTS, 'acme-issuer.yaml'), 'utf8');
  const issuer = template.replace('CA_BUNDLE', bundle).replace('HTTP01_SOLVER', HTTP01_SOLVERS[edge]);
  await inside(['kubectl', 'apply', '-f', '-'], issuer);
  await kubectl('wait', '--for=condition=Ready', '--timeout=60s', 'clusterissuer/pebble', 'clusterissuer/selfca');
  return {
    name: state.name,
    provider: provider.name,
    edge,
    programs: parts.programs,
    kubeconfig: state.kubeconfig,
    ingress: {address: ADDRESSES.ingress, className: 'traefik'},
    dns: {
      resolver: ADDRESSES.resolver,
      root: ADDRESSES.root,
      ns1: ADDRESSES.ns1,
      ns2: ADDRESSES.ns2,
      ca: ADDRESSES.ca,
    },
    zones: provider.zones(state),
    roots: state.roots,
    issuers: {acme: 'pebble', fast: 'selfca'},
    baseDomain: BASE_DOMAIN,
    targetDomain: TARGET_DOMAIN,
  };
}
