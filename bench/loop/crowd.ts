/**
 * An account that creates 50,000 objects of a kind in one namespace, far beyond its plan: `node bench/loop/crowd.ts
 * [OBJECTS]`. With the operator's caches, places, and triggers, but without an API server: each object appears, is
 * judged once, and gets the status that says so. Prints the CPU time of that, how long at most one object took, and
 * what changes cost and requeue afterwards.
 */
import {Registry} from 'prom-client';
import {API_VERSION, LABEL} from '../../src/api/names.ts';
import {KeyWaiters} from '../../src/operator/apikey/key-waiters.ts';
import {createPlaces, type Places} from '../../src/operator/caches/places.ts';
import {createStores} from '../../src/operator/caches/stores.ts';
import {addControllers} from '../../src/operator/controllers.ts';
import type {Operator} from '../../src/operator/operator.ts';
import type {Delta, ReadonlyStore} from '../../src/runtime/cache/store.ts';
import type {ControllerOptions} from '../../src/runtime/controller/controller.ts';
import type {Manager} from '../../src/runtime/controller/manager.ts';
import type {DeepReadonly, KubeObject} from '../../src/runtime/kube/object.ts';
import {systemClock} from '../../src/time/clock.ts';
import {memoryCaches} from '../../test/support/memory-caches.ts';
import {operatorConfig} from '../../test/support/operator-config.ts';
import {quantile} from '../statistics.ts';

const COUNT = Number(process.argv[2] ?? 50_000);
const PER_SECOND = 500;
const SINCE_MS = Date.UTC(2026, 10, 21);

const caches = memoryCaches();
const config = operatorConfig();
let requeued = new Set<string>();

/** Keeps which keys a controller would reconcile. */
function controller({name}: ControllerOptions) {
  const self = {
    watch: (store: ReadonlyStore<KubeObject>, keysOf: (delta: Delta<KubeObject>) => Iterable<string>) => {
      store.subscribe(delta => {
        for (const key of keysOf(delta)) requeued.add(`${name} ${key}`);
      });
      return self;
    },
    enqueue: (key: string) => void requeued.add(`${name} ${key}`),
  };
  return self;
}

const manager = {...caches.manager, controller} as unknown as Manager;
const edge = {resources: [], platformKinds: [], backends: () => [], emptied: () => undefined};
const stores = createStores(manager, config, {defaultHost: name => `${name}.apps.example.net`}, edge);
/** An account that was ranked rests. */
let skippedMs = 0;
const clock = {...systemClock, monotonic: () => performance.now() + skippedMs};
const places = createPlaces(stores, config, clock);
const others = ['scheduler', 'prober', 'orderSchedule', 'outdated', 'domainRefusals', 'certManager'];
const silent = {subscribe: () => undefined, of: (reconcile: unknown) => reconcile};
const operator = {
  ...{config, stores, places, edge, clock, keyWaiters: new KeyWaiters()},
  ...Object.fromEntries(others.map(name => [name, silent])),
} as unknown as Operator;
addControllers(manager, operator, new Registry());

/** In an order that follows neither names nor ages. */
const nameOf = (n: number) => `x${((n * 7919) % 1_000_003).toString(36)}`;
let version = 0;

function put(kind: string, n: number, name: string, content: object, labels = {}): KubeObject {
  const creationTimestamp = new Date(SINCE_MS + 1000 * Math.floor(n / PER_SECOND)).toISOString();
  const identity = {name, uid: `${kind} ${name}`, resourceVersion: `${++version}`, creationTimestamp};
  const metadata = {...identity, labels, ...(kind !== 'Namespace' && {namespace: 'crowd'})};
  const apiVersion = kind === 'Namespace' || kind === 'Service' ? 'v1' : API_VERSION;
  const object = {apiVersion, kind, metadata, ...content};
  caches.put(object);
  return object;
}

function report<T extends KubeObject>(kind: string, type: string, judge: Places<T>, specOf: (name: string) => object) {
  const nameIn = (n: number) => (kind === 'Domain' ? `${nameOf(n)}.example.com` : nameOf(n));
  const before = process.cpuUsage();
  let longestMs = 0;
  let oldest: KubeObject | undefined;
  for (let n = 0; n < COUNT; n++) {
    const startsAt = performance.now();
    const spec = specOf(nameIn(n));
    const object = put(kind, n, nameIn(n), {spec});
    oldest ??= object;
    const waits = [{type, status: 'False', reason: 'PlanLimitReached'}];
    if (!judge.has(object as DeepReadonly<T>)) put(kind, n, nameIn(n), {spec, status: {conditions: waits}});
    longestMs = Math.max(longestMs, performance.now() - startsAt);
  }
  const {user, system} = process.cpuUsage(before);
  const each = ((user + system) / COUNT).toFixed(0);
  console.log(`${kind}: ${each} µs of CPU each, ${longestMs.toFixed(0)} ms at most`);
  if (oldest) timed('  the oldest is deleted', () => caches.store(kind)?.remove(oldest));
}

function timed(what: string, act: () => void, times = 1): void {
  const tookMs = Array.from({length: times}, () => {
    requeued = new Set();
    const startsAt = performance.now();
    act();
    return performance.now() - startsAt;
  });
  console.log(`${what}: ${quantile(tookMs, 0.5).toFixed(2)} ms, ${requeued.size} keys requeued`);
}

const service = {name: 'shop', port: 80};
const projectOf = (name: string) => ({service, domains: {primary: `${name}.example.com`}});
put('Namespace', 0, 'crowd', {}, {[LABEL.account]: 'crowd', [LABEL.plan]: 'pro'});
report('Project', 'Ready', places.projects, projectOf);
report('Domain', 'Accepted', places.domains, host => ({host, projectRef: {name: nameOf(1)}}));
report('APIKey', 'Ready', places.apiKeys, () => ({scopes: []}));
timed('a Service changes', () => put('Service', 0, 'shop', {spec: {ports: [{port: (version % 9) + 1}]}}), 41);
timed('a Project changes', () => put('Project', 1, nameOf(1), {spec: projectOf(`new-${version}`)}), 41);
for (const [kind, ranks] of Object.entries(places)) {
  const rank = () => {
    skippedMs += 3_600_000;
    ranks.touch('crowd');
    if (ranks.refresh('crowd') > 0) throw new Error('the account rests');
  };
  timed(`${kind} are ranked`, rank, 41);
}
