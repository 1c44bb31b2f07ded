/**
 * An operator that is killed at writes that a test chooses, and restarted each time, as by a kubelet. A proxy between
 * it and the API server counts its writes. The proxy also shows it the objects of only one namespace, so that many such
 * operators can share an API server.
 */
import {DOMAIN_CLAIM, NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {collectionPath} from '../../../src/runtime/kube/paths.ts';
import {tail} from '../../cluster/children.ts';
import {spawnOperator} from '../../support/operator-process.ts';
import type {OperatorWorld} from '../operator/operator-world.ts';
import {type Fault, type FaultProxy, type Seen, startFaultProxy} from '../runtime/fault-proxy.ts';

/** Before: the write does not reach the API server. After: it takes effect, but its answer is lost. */
export type DeathMoment = 'before' | 'after';

/** What to do at the nth write (1, 2, …), counted over all lives of the operator. */
export type Plan = (n: number) => DeathMoment | undefined;

/** The platform's kinds, which every operator may see. */
const SHARED_PLURALS: ReadonlySet<string> = new Set(['ingressclasses', 'clusterissuers', 'gatewayclasses', 'gateways']);

/** The parts of a world that an operator needs. */
export interface MortalOperatorWorld extends Pick<OperatorWorld, 'kubeconfig' | 'config' | 'folder'> {
  readonly api: Pick<OperatorWorld['api'], 'url' | 'ca' | 'kubeconfig'>;
}

type Process = Awaited<ReturnType<typeof spawnOperator>>;

export class MortalOperator {
  readonly #world: MortalOperatorWorld;
  readonly #namespace: string;
  readonly #plan: Plan;
  readonly #program: string;
  readonly #proxy: FaultProxy;
  /** "PATCH domains/status", in the order in which they reached the proxy. */
  readonly writes: string[] = [];
  /** The writes at which it was killed, 1 being the first. */
  readonly deaths: number[] = [];
  /** The process that runs or is about to run. */
  #running: Promise<Process>;
  #stopped = false;

  /** `program`: the file from `bundleOperator`. */
  static async start(
    world: MortalOperatorWorld,
    namespace: string,
    plan: Plan,
    program: string,
  ): Promise<MortalOperator> {
    const rewrite = (method: string, url: URL): void => {
      if (method === 'GET') narrow(url, namespace);
    };
    const proxy = await startFaultProxy(world.api, {kubeconfig: world.kubeconfig, rewrite});
    return new MortalOperator(world, namespace, plan, program, proxy);
  }

  private constructor(world: MortalOperatorWorld, namespace: string, plan: Plan, program: string, proxy: FaultProxy) {
    this.#world = world;
    this.#namespace = namespace;
    this.#plan = plan;
    this.#program = program;
    this.#proxy = proxy;
    proxy.intercept = seen => this.#decide(seen);
    this.#running = this.#spawn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await (await this.#running).stop();
    await this.#proxy.stop();
  }

  #decide(seen: Seen): Fault | undefined {
    if (!isCounted(seen)) return undefined;
    const n = this.writes.push(`${seen.method} ${targetOf(seen.path)}`);
    const moment = this.#plan(n);
    if (moment === undefined) return undefined;
    this.deaths.push(n);
    if (moment === 'after') return {kind: 'lost', onLost: () => this.#die()};
    this.#die();
    return {kind: 'reset'};
  }

  /** SIGKILL takes effect immediately: this process sends nothing more. */
  #die(): void {
    this.#running = this.#running.then(async process => {
      await process.kill();
      return this.#stopped ? process : await this.#spawn();
    });
  }

  async #spawn(): Promise<Process> {
    const {world, name} = {world: this.#world, name: `${this.#namespace}-${this.deaths.length}`};
    const {leaderElection} = world.config.controller as {leaderElection: object};
    const config = {
      ...world.config,
      controller: {leaderElection: {...leaderElection, enabled: false}},
      log: {level: 'info'},
    };
    const program = [this.#program];
    return await spawnOperator({
      folder: world.folder,
      name,
      config,
      kubeconfig: this.#proxy.kubeconfig,
      port: 0,
      program,
    });
  }

  /** For the message of a failed test. */
  async lastWords(): Promise<string> {
    return tail((await this.#running).logFile, 5);
  }
}

/** Events are only for people, and sent in the background. There is no Lease. */
function isCounted({method, path}: Seen): boolean {
  return method !== 'GET' && !/\/events(\/|$)/.test(path);
}

/** Returns "domains/status" for "/apis/nameplate.dev/v1alpha1/namespaces/crash-1/domains/shop.crash-1.test/status". */
function targetOf(path: string): string {
  const parts = path.split('/').filter(Boolean);
  const [, ...rest] = parts[0] === 'api' ? parts.slice(1) : parts.slice(2);
  const [plural = '', , subresource] = rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  return subresource ? `${plural}/${subresource}` : plural;
}

/** Restricts lists and watches of a whole kind to one namespace. */
function narrow(url: URL, namespace: string): void {
  const isAll = (resource: ResourceType) => url.pathname === collectionPath(resource);
  if (isAll(NAMESPACE)) url.searchParams.set('fieldSelector', `metadata.name=${namespace}`);
  else if (isAll(DOMAIN_CLAIM)) url.searchParams.set('fieldSelector', `spec.namespace=${namespace}`);
  else {
    const [, root, plural = ''] = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/([^/]+)$/.exec(url.pathname) ?? [];
    if (root && !SHARED_PLURALS.has(plural)) url.pathname = `${root}/namespaces/${namespace}/${plural}`;
  }
}
