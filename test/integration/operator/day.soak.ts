/**
 * A day in miniature: 10,000 live domains, a tenth of which belong to tenants that change something every few seconds.
 * For an hour, operator processes are killed, the API server is restarted, and connections are cut or frozen, at
 * random. The final state must follow from the last inputs, and nothing may have been written for tenants that changed
 * nothing.
 *
 * Nothing is watched meanwhile, because a watch ends with the API server. The objects at the end are enough: a
 * recreated object has another uid, and a changed one has another resourceVersion.
 *
 * cert-manager runs only until the first domains are live, and the test issues later certificates itself, so the day has
 * no requests, orders, and challenges. With cert-manager, it would not fit into 90 minutes on two cores: the domains are
 * copies, whose certificates name other hosts, so all 10,000 would be issued again. Nor can cert-manager serve some of
 * the namespaces with a ClusterIssuer. Faults at these writes are in integration/crash, with ACME in
 * e2e/crash-acme.soak.ts.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {addCopies, MADE} from '../../../bench/loop/cloned.ts';
import {
  becomeLive,
  HOSTS,
  hasReconciled,
  type LiveWorld,
  namesOf,
  quiet,
  startLiveWorld,
  ZONE,
} from '../../../bench/loop/live.ts';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {accountId} from '../../../src/operator/kinds/account.ts';
import {backendName, type DerivedNames, routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {isNotFound} from '../../../src/runtime/kube/errors.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {listAll} from '../../support/kube.ts';
import * as objects from '../../support/objects.ts';
import {type OperatorProcess, spawnOperator} from '../../support/operator-process.ts';
import {below, seededRandom} from '../dns/mutate.ts';
import {type FaultProxy, startFaultProxy} from '../runtime/fault-proxy.ts';
import {RuntimeWorld} from '../runtime/runtime-world.ts';
import {leaveIssued} from './by-hand.ts';

const DOMAINS = Number(process.env.DOMAINS ?? 10_000);
const MINUTES = Number(process.env.SOAK_MINUTES ?? 60);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const SETUP_MS = 720_000;
const END_MS = 600_000;
const PATIENCE = {timeoutMs: 240_000, intervalMs: 1_000};
const PLANS = {pro: {customDomains: true, maxDomains: 1000}, free: {customDomains: false, maxDomains: 0}};

interface Tenant {
  readonly namespace: string;
  readonly target: string;
  plan: keyof typeof PLANS;
  /** The pods that the Service selects. */
  app: string;
  /** The hosts of the permanent Project. Other Projects come and go. */
  readonly shop: Set<string>;
  readonly projects: Map<string, Set<string>>;
}
/** The inputs, and the destinations of records that do not point to their own tenant. */
const tenants = new Map<string, Tenant>();
const pointed = new Map<string, Tenant>();
let active: readonly Tenant[] = [];

/** Domains that were not always listed. */
const removed = new Set<string>();
/** The process of each write, without repetitions. */
const writers: string[] = [];
const pods: {readonly proxy: FaultProxy; readonly process: OperatorProcess}[] = [];
let live: LiveWorld;
let names: DerivedNames;
let runtime: RuntimeWorld;
let config: Readonly<Record<string, unknown>>;
let isOver = false;

/** Each has its own sequence, because their relative order is not repeatable. */
const [forFaults, forChanges] = [seededRandom(SEED), seededRandom(SEED + 1)];
const oneOf = <T>(items: readonly T[], random = forChanges): T => items[below(items.length, random)] as T;

beforeAll(async () => {
  console.log(`SEED=${SEED} DOMAINS=${DOMAINS} SOAK_MINUTES=${MINUTES}`);
  live = await startLiveWorld({domains: DOMAINS, heapMiB: 256});
  const {world} = live;
  config = {...live.config, plans: PLANS};
  await becomeLive(world, MADE);
  await quiet(world);
  names = await namesOf(world);
  await world.operator().stop();
  await world.certManager.stop(); // it would renew the copies, whose certificates are for other names
  await world.history.stop();
  (await addCopies(world, DOMAINS))();
  runtime = new RuntimeWorld();
  const certificates = await runtime.cache(runtime.client(world.api.kubeconfig), kinds.CERTIFICATE);
  certificates.subscribe(({type, object}) => {
    if (type === 'deleted' || findCondition(object.status?.conditions, 'Ready')?.status === 'True') return;
    runtime.background(insist(() => leaveIssued(world.client, object)));
  });
  await readTenants();
  for (const index of [0, 1]) runtime.background(runPod(index));
  await until('a pod leads', leader, PATIENCE);
  await expectNoFaults(PATIENCE.timeoutMs);
  await quiet(world);
}, SETUP_MS);
afterAll(async () => {
  await stopPods();
  await runtime?.end();
  await live?.stop();
});

test(
  `${MINUTES} minutes of changes and faults end where an undisturbed day ends`,
  async () => {
    const before = await stored();
    const disturbing = repeat(disturb, forFaults, 4, 40);
    const changed = await repeat(change, forChanges, 1, 4);
    console.log(`disturbed: ${await disturbing}\nchanged: ${changed}`);
    for (const [host, {shop}] of pointed) shop.add(host);
    for (const tenant of active) await write(Object.assign(tenant, {plan: 'pro'}));
    for (const index of [0, 1]) await until('each pod is ready', () => pods[index]?.process.ready(), PATIENCE);
    await expectNoFaults(END_MS);
    await quiet(live.world);

    expect(losses(before, await stored())).toEqual([]);
    const deleted = (await writes()).filter(write => write.startsWith('delete domains '));
    expect(deleted.filter(write => !removed.has(write.replace('delete domains ', '')))).toEqual([]);
    expect(writers.length, `one writer after another: ${writers}`).toBe(new Set(writers).size);
    await stopPods();
    await expectNoWrites();
    await expectNoFaults(0);
  },
  MINUTES * 60_000 + END_MS + 2 * PATIENCE.timeoutMs,
);

/** All writes by the operator so far, in order. */
async function writes(): Promise<string[]> {
  const events = await live.world.audit.writes();
  return events.map(({verb, objectRef}) => `${verb} ${objectRef?.resource} ${objectRef?.namespace}/${objectRef?.name}`);
}

/** A new process finds everything as it wants, except for claims, which are deleted minutes after their release. */
async function expectNoWrites(): Promise<void> {
  const before = (await writes()).length;
  const fresh = await live.world.startOperator('fresh', config);
  const domains = [...wanted().keys()].filter(key => key.startsWith('Domain ')).length;
  await until('a new process has reconciled everything', () => hasReconciled(fresh, domains), PATIENCE);
  await delay(60_000); // the test shows the absence of something
  const more = (await writes()).slice(before);
  expect(more.filter(write => !write.startsWith('delete domainclaims '))).toEqual([]);
}

/** When the process ends, another one is started, as by Kubernetes, with its own connections. */
async function runPod(index: number): Promise<void> {
  const {world, program} = live;
  for (let count = 1; !isOver; count++) {
    const name = `pod-${index}-${count}`;
    const proxy = await startFaultProxy(world.api, {kubeconfig: world.kubeconfig});
    proxy.intercept = ({method, path}) => {
      proxy.seen.length = 0;
      if (method !== 'GET' && !path.includes('/leases') && writers.at(-1) !== name) writers.push(name);
      return undefined;
    };
    const {folder} = world;
    const process = await spawnOperator({folder, name, kubeconfig: proxy.kubeconfig, program, config});
    pods[index] = {proxy, process};
    if (isOver) await process.kill();
    await process.exited;
    await proxy.stop();
  }
}

async function stopPods(): Promise<void> {
  isOver = true;
  await Promise.all(pods.map(({process}) => process.stop()));
}

async function leader() {
  const leads = pods.map(({process}) => process.metric('leader_election_master_status').catch(() => 0));
  return pods[(await Promise.all(leads)).indexOf(1)];
}

/** Acts repeatedly, with random pauses in seconds. Returns how often it did what. */
async function repeat(act: () => Promise<string>, random: () => number, least: number, most: number): Promise<string> {
  const endsAt = performance.now() + MINUTES * 60_000;
  const done: string[] = [];
  while (performance.now() < endsAt) {
    await delay(1000 * (least + random() * (most - least))); // the schedule of faults and changes
    done.push(await act());
  }
  const counts = Object.entries(Object.groupBy(done, what => what));
  return counts.map(([what, all]) => `${all?.length} ${what}`).join(', ');
}

async function disturb(): Promise<string> {
  const {api} = live.world;
  const first = (await leader()) ?? pods[0];
  const faults: Record<string, () => unknown> = {
    'leader killed': () => first?.process.kill(),
    'standby killed': () => pods.find(pod => pod !== first)?.process.kill(),
    'leader frozen': () => first?.proxy.freeze(),
    'connections cut': () => pods.map(({proxy}) => proxy.disconnect()),
    'API server restarted': () => api.crash().then(() => api.resume(PATIENCE.timeoutMs)),
  };
  const what = oneOf(Object.keys(faults), forFaults);
  await faults[what]?.();
  return what;
}

/** One change by a tenant or the platform. */
async function change(): Promise<string> {
  const tenant = oneOf(active);
  const other = oneOf(active.filter(each => each !== tenant));
  const {namespace, shop, projects} = tenant;
  const own = [...shop].filter(host => !pointed.has(host) && holderOf(host) === namespace);
  const host = oneOf(own);
  const [moved = '', to] = oneOf([...pointed]) ?? [];
  const project = `p${below(3, forChanges)}`;
  const changes: Record<string, () => unknown> = {
    'host added': () => shop.add(`new-${below(10, forChanges)}.${namespace}.${ZONE}`),
    'host removed': () => own.length > 5 && unlist(tenant, 'shop', host),
    'record changed': () => own.length > 5 && point(host, other),
    'record followed': () => to?.shop.add(moved),
    'record restored': () => to && point(moved, undefined),
    'pods changed': () => Object.assign(tenant, {app: oneOf(['shop', 'next'])}),
    'plan changed': () => Object.assign(tenant, {plan: oneOf(Object.keys(PLANS))}),
    'Project created': () => projects.set(project, new Set([`${project}.${namespace}.${ZONE}`])),
    'Project deleted': async () => {
      unlist(tenant, project, `${project}.${namespace}.${ZONE}`);
      projects.delete(project);
      await insist(() => live.world.client.delete(kinds.PROJECT, {namespace, name: project}));
    },
  };
  const what = oneOf(Object.keys(changes));
  await changes[what]?.();
  for (const each of new Set([tenant, to ?? tenant])) await write(each);
  return what;
}

function unlist({namespace, projects}: Tenant, project: string, host: string): void {
  projects.get(project)?.delete(host);
  removed.add(`${namespace}/${host}`);
}

async function write({namespace, plan, app, projects}: Tenant): Promise<void> {
  const {client} = live.world;
  const labels = {[LABEL.plan]: plan};
  await insist(() => client.patch(kinds.NAMESPACE, {name: namespace}, {metadata: {labels}}));
  await insist(() => client.patch(kinds.SERVICE, {namespace, name: 'shop'}, {spec: {selector: {app}}}));
  for (const [name, hosts] of projects) {
    const project = objects.project(namespace, name, {aliases: [...hosts]}, {name: 'shop', port: objects.PORT.name});
    await insist(() => client.apply(kinds.PROJECT, project));
  }
}

/** Points the host to another tenant, or back to its own, to which its zone's wildcard points. */
async function point(host: string, to: Tenant | undefined): Promise<void> {
  const {dns, client} = live.world;
  const namespace = holderOf(host);
  const from = pointed.get(host);
  if (from) unlist(from, 'shop', host);
  if (to) pointed.set(host, to);
  else pointed.delete(host);
  await dns.set(host, 'CNAME', to ? [to.target] : []);
  // A live host is checked only once per hour, so this requests a check.
  const metadata = {annotations: {[ANNOTATION.verifyRequestedAt]: `${performance.now()}`}};
  await insist(() => client.patch(kinds.DOMAIN, {namespace, name: host}, {metadata}));
}

/** Retries until the API server accepts the change. An object that does not exist needs none. */
async function insist(act: () => Promise<unknown>): Promise<void> {
  const tolerated = (error: unknown) => isNotFound(error) || Promise.reject(error);
  await until('the API server accepts a change', async () => [await act().catch(tolerated)], PATIENCE);
}

/** Reads the created and copied tenants, and makes a tenth of them active. */
async function readTenants(): Promise<void> {
  for (const tenant of await listAll(live.world.client, kinds.NAMESPACE, {labelSelector: LABEL.plan})) {
    const namespace = tenant.metadata.name;
    const shop = new Set(Array.from({length: HOSTS}, (_, index) => `host-${index}.${namespace}.${ZONE}`));
    const projects = new Map([['shop', shop]]);
    const target = names.target(accountId(tenant));
    tenants.set(namespace, {namespace, target, plan: 'pro', app: 'shop', shop, projects});
  }
  active = [...tenants.values()].slice(0, Math.max(4, tenants.size / 10));
}

/** The namespace that holds the host if it lists it. */
function holderOf(host: string): string {
  return pointed.get(host)?.namespace ?? host.slice(host.indexOf('.') + 1, -ZONE.length - 1);
}

interface Stored {
  namespace: string;
  uid: string | undefined;
  /** Differs after each write or, for a Domain, whose DNS evidence may change, after each change of Ready. */
  version: string | undefined;
  /** The part that the inputs determine. */
  shows: string | undefined;
}

/** All objects of the tenants, by kind and key. */
async function stored(): Promise<Map<string, Stored>> {
  const all = new Map<string, Stored>();
  const readyOf = ({status}: kinds.Domain | kinds.Project) => findCondition(status?.conditions, 'Ready');
  const read = async <T extends KubeObject>(
    resource: ResourceType<T>,
    showOf: (object: T) => string | undefined,
    versionOf = ({metadata}: T) => metadata.resourceVersion,
  ) => {
    for (const object of await listAll(live.world.client, resource)) {
      const shows = showOf(object);
      const {namespace = shows ?? '', uid} = object.metadata; // for a claim, `shows` is the namespace
      const found = {namespace, uid, version: versionOf(object), shows};
      if (tenants.has(namespace)) all.set(`${resource.kind} ${keyOf(object)}`, found);
    }
  };
  const stateOf = (domain: kinds.Domain) => `${domain.status?.state} ${readyOf(domain)?.reason}`;
  await read(kinds.DOMAIN, stateOf, domain => readyOf(domain)?.lastTransitionTime);
  await read(kinds.PROJECT, project => readyOf(project)?.reason);
  await read(kinds.DOMAIN_CLAIM, ({spec}) => (spec.releasedAt === undefined ? spec.namespace : undefined));
  await read(kinds.SERVICE, ({metadata, spec}) => metadata.labels?.[LABEL.backend] && spec?.selector?.app);
  await read(MIDDLEWARE, ({spec}) => spec.redirectRegex.replacement);
  const backendOf = ({http}: kinds.Ingress['spec']['rules'][number]) => http?.paths[0]?.backend.service.name;
  await read(kinds.INGRESS, ({spec}) => spec.rules.map(rule => `${rule.host} ${backendOf(rule)}`).join());
  await read(kinds.CERTIFICATE, ({spec}) => spec.dnsNames?.join());
  await read(kinds.SECRET, () => undefined);
  return all;
}

/** The state that follows from the inputs, by kind and key. */
function wanted(): Map<string, string> {
  const all = new Map<string, string>();
  for (const {namespace, app, projects} of tenants.values()) {
    for (const [project, hosts] of projects) {
      const backend = backendName(namespace, project, {port: objects.PORT.number});
      const defaultHost = names.defaultHost(project, namespace);
      const holds = [...hosts].filter(host => holderOf(host) === namespace);
      all.set(`Project ${namespace}/${project}`, 'Published');
      all.set(`Service ${namespace}/${backend}`, app);
      for (const host of hosts) all.set(`Domain ${namespace}/${host}`, 'Unverified HeldByAnotherAccount');
      for (const host of [defaultHost, ...holds]) {
        const route = `${namespace}/${routeName(namespace, host)}`;
        all.set(`Ingress ${route}`, `${host} ${backend}`);
        if (host === defaultHost) continue;
        all.set(`Domain ${namespace}/${host}`, 'Live Live');
        all.set(`DomainClaim ${host}`, namespace);
        all.set(`Certificate ${route}`, host);
      }
    }
  }
  return all;
}

/** Fails with the first lasting differences between the stored state and the wanted one. */
async function expectNoFaults(timeoutMs: number): Promise<void> {
  let faults = ['nothing could be read'];
  const isRight = async () => {
    const [want, have] = [wanted(), await stored()];
    const keys = new Set([...want.keys(), ...have.keys()]);
    const differs = (key: string) => want.get(key) !== have.get(key)?.shows;
    faults = [...keys].filter(differs).map(key => `${key} is ${have.get(key)?.shows}, not ${want.get(key)}`);
    return faults.length === 0;
  };
  await until('everything is as it should be', isRight, {timeoutMs, intervalMs: 5_000}).catch(() => undefined);
  expect(faults.slice(0, 10), `${faults.length} faults`).toEqual([]);
}

/** For tenants that changed nothing, nothing changed. For the others, no Domain that was always listed was deleted. */
function losses(before: ReadonlyMap<string, Stored>, after: ReadonlyMap<string, Stored>): string[] {
  const changing = new Set(active.map(({namespace}) => namespace));
  const lost: string[] = [];
  for (const [key, {namespace, uid, version}] of before) {
    const now = after.get(key);
    const isListed = key.startsWith('Domain ') && !removed.has(key.slice('Domain '.length));
    if (!changing.has(namespace) && now?.version !== version) lost.push(`${key} was written`);
    if (isListed && now?.uid !== uid) lost.push(`${key} was deleted`);
  }
  return lost;
}
