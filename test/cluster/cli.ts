import {type SpawnOptions, spawn} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import {type ClusterInfo, connect} from './cluster.ts';
import {ensureImage} from './images.ts';
import {buildLastReleaseImage, buildOperatorImage} from './operator-image.ts';
import {ensurePrograms, pickEdge} from './programs.ts';
import {type Provider, pickProvider, providers} from './provider.ts';
import {exists, type StateFolder, stateFolder} from './state.ts';
import {environment, up} from './up.ts';
import type {ZoneServer} from './zones.ts';

const USAGE = `A real Kubernetes for Nameplate, with DNS, an ACME CA and an ingress of its own.

  node test/cluster/cli.ts up                       start the cluster and keep it; EDGE=gateway: with Envoy Gateway instead of Traefik
  node test/cluster/cli.ts status                   show what is running
  node test/cluster/cli.ts shell                    open a shell in which kubectl, helm, curl and dig reach it
  node test/cluster/cli.ts exec -- COMMAND          run one command inside
  node test/cluster/cli.ts dns set NAME TYPE VALUE...
  node test/cluster/cli.ts dns remove NAME [TYPE]
  node test/cluster/cli.ts dns list NAME
  node test/cluster/cli.ts dns add-zone ZONE
  node test/cluster/cli.ts load-image ARCHIVE...    load images from archives into the node
  node test/cluster/cli.ts load-operator            build the operator's image and load it into the node
  node test/cluster/cli.ts load-last-release        the same with the last release
  node test/cluster/cli.ts load-former-edge         load Traefik's image, for a move from it to a Gateway
  node test/cluster/cli.ts down                     stop the cluster and leave no trace

  --load-operator          for up: also do load-operator, at the same time
  --name NAME              which cluster (default: "default"); several may run at the same time
  --ttl SECONDS            for dns set
  --server ns1|ns2|ca      for dns set and dns remove: only this server
`;

const log = (line: string) => console.error(line);

interface Invocation {
  readonly args: readonly string[];
  readonly loadOperator: boolean;
  /** Everything after "--". */
  readonly command: readonly string[];
  readonly state: StateFolder;
  readonly provider: Provider;
  readonly ttl: string | undefined;
  readonly server: ZoneServer | undefined;
}

async function main(argv: readonly string[]): Promise<number> {
  const split = argv.indexOf('--');
  const own = split < 0 ? argv : argv.slice(0, split);
  const {values, positionals} = parseArgs({
    args: [...own],
    allowPositionals: true,
    options: {
      name: {type: 'string', default: 'default'},
      ttl: {type: 'string'},
      server: {type: 'string'},
      'load-operator': {type: 'boolean', default: false},
      help: {type: 'boolean', short: 'h'},
    },
  });
  const [verb = '', ...args] = positionals;
  const action = actions[verb];
  if (!action || values.help) {
    log(USAGE);
    return values.help ? 0 : 2;
  }
  const state = stateFolder(values.name);
  return action({
    args,
    loadOperator: values['load-operator'],
    command: split < 0 ? [] : argv.slice(split + 1),
    state,
    provider: existsSync(state.info) ? providers[infoOf(state).provider] : await pickProvider(),
    ttl: values.ttl,
    server: zoneServer(values.server),
  });
}

const actions: Readonly<Record<string, (invocation: Invocation) => Promise<number>>> = {
  up: bringUp,
  down: async ({provider, state}) => {
    await provider.delete(state);
    log(`[cluster] ${state.name} is stopped`);
    return 0;
  },
  status: async invocation => {
    if (!(await isUp(invocation))) {
      log(`[cluster] ${invocation.state.name} is not running`);
      return 1;
    }
    return inside(invocation, ['kubectl', 'get', 'nodes,pods', '--all-namespaces', '-o', 'wide']);
  },
  shell: invocation => {
    log('[cluster] this shell is inside the cluster; `exit` leaves the shell and keeps the cluster');
    return inside(invocation, [process.env.SHELL ?? '/bin/sh']);
  },
  exec: async invocation => inside(invocation, invocation.command),
  dns: async invocation => {
    if (process.env.NAMEPLATE_CLUSTER) return editDns(invocation);
    return inside(invocation, [process.execPath, import.meta.filename, ...process.argv.slice(2)]);
  },
  'load-former-edge': async ({provider, state}) => {
    const programs = await ensurePrograms(['traefik'], log);
    await provider.loadImages(state, [await ensureImage({name: 'traefik', binary: programs.path('traefik')})]);
    return 0;
  },
  'load-image': async ({provider, state, args}) => {
    await provider.loadImages(state, args);
    return 0;
  },
  'load-last-release': async ({provider, state}) => {
    const archive = join(state.root, 'operator-last.oci.tar');
    const reference = await buildLastReleaseImage(archive);
    await provider.loadImages(state, [archive]);
    console.log(reference);
    return 0;
  },
  'load-operator': loadOperatorInto,
};

async function loadOperatorInto({provider, state}: Invocation): Promise<number> {
  const archive = join(state.root, 'operator.oci.tar');
  const reference = await buildOperatorImage(archive);
  await provider.loadImages(state, [archive]);
  console.log(reference);
  return 0;
}

function infoOf(state: StateFolder): ClusterInfo {
  return JSON.parse(readFileSync(state.info, 'utf8')) as ClusterInfo;
}

async function bringUp(invocation: Invocation): Promise<number> {
  const {state, loadOperator} = invocation;
  if (await isUp(invocation)) {
    log(`[cluster] ${state.name} is already running`);
    return loadOperator ? loadOperatorInto(invocation) : 0;
  }
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => abort.abort(new Error(`stopped by ${signal}; nothing is left`)));
  }
  const start = performance.now();
  await up({
    state,
    provider: await pickProvider(),
    edge: pickEdge(),
    operator: loadOperator,
    log,
    signal: abort.signal,
  });
  log(`[cluster] ${state.name} is up after ${Math.round((performance.now() - start) / 1000)} s`);
  log('[cluster] to open a shell: node test/cluster/cli.ts shell; to stop it: node test/cluster/cli.ts down');
  return 0;
}

async function isUp({provider, state}: Invocation): Promise<boolean> {
  return exists(state) && existsSync(state.info) && provider.isRunning(state);
}

/** Runs a command with the terminal attached, inside the cluster, and returns its exit code. */
async function inside(invocation: Invocation, command: readonly string[]): Promise<number> {
  const {provider, state} = invocation;
  if (!(await isUp(invocation))) throw new Error(`cluster ${state.name} is not running: node test/cluster/cli.ts up`);
  const env = environment(state, await ensurePrograms(infoOf(state).programs, log));
  const [program = '', ...args] = [...provider.enter(state), ...command];
  const options: SpawnOptions = {stdio: 'inherit', env};
  process.on('SIGINT', () => {}); // Ctrl-C is for the command, which also gets it from the terminal
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, options);
    process.once('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('exit', code => resolve(code ?? 1));
  });
}

async function editDns({args, ttl, server}: Invocation): Promise<number> {
  const {zones} = await connect();
  const [verb, name = '', type, ...values] = args;
  const only = server ? {server} : {};
  if (verb === 'set' && type && values.length > 0) {
    await zones.set(name, type, values, {...only, ...(ttl ? {ttl: Number(ttl)} : {})});
  } else if (verb === 'remove' && name) {
    await zones.remove(name, type, only);
  } else if (verb === 'add-zone' && name) {
    await zones.addZone(name);
  } else if (verb === 'list' && name) {
    for (const record of await zones.list(name)) {
      console.log(`${record.server}\t${record.name}\t${record.ttl}\t${record.type}\t${record.value}`);
    }
  } else {
    log(USAGE);
    return 2;
  }
  return 0;
}

function zoneServer(given: string | undefined): ZoneServer | undefined {
  if (given === undefined || given === 'ns1' || given === 'ns2' || given === 'ca') return given;
  throw new Error(`--server is "${given}"; it may be ns1, ns2 or ca`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  log(`error: ${(error as Error).message}`);
  const {cause} = error as Error;
  if (cause instanceof Error) log(`caused by: ${cause.message}`);
  process.exitCode = 1;
}
