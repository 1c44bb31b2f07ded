import {basename} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {beforeEach, describe, expect, test} from 'vitest';
import type {ReadonlyStore} from '../../../src/runtime/cache/store.ts';
import type {Controller, ControllerOptions, Reconcile} from '../../../src/runtime/controller/controller.ts';
import {
  createManager,
  type Manager,
  type ManagerEnd,
  type ManagerOptions,
} from '../../../src/runtime/controller/manager.ts';
import {after, done, retry} from '../../../src/runtime/controller/outcome.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {formatKey, keyOf} from '../../../src/runtime/kube/object.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {until} from '../../cluster/wait.ts';
import type {Seen} from './fault-proxy.ts';
import {CONFIG_MAP, type ConfigMap, configMap, logger} from './runtime-world.ts';
import {client, direct, namespace, proxy, world} from './setup.ts';

let registry: Registry;

beforeEach(() => {
  registry = new Registry();
});

interface Running {
  readonly manager: Manager;
  readonly controller: Controller;
  readonly store: ReadonlyStore<ConfigMap>;
  readonly end: Promise<ManagerEnd>;
  stop(): void;
}

/** A manager with one controller on the ConfigMaps of the namespace. */
function run(reconcile: Reconcile, options: Partial<ControllerOptions> & Partial<ManagerOptions> = {}): Running {
  const {shutdownGraceMs = 5_000, reportFailuresAfterMs = 300_000, maxSilenceMs = 120_000, ...others} = options;
  const {logger: log = logger, resyncMs = 36_000_000, ...rest} = others;
  const identity = {identity: 'test', reportingController: 'test.dev/controller'};
  const common = {
    client,
    clock: systemClock,
    logger: log,
    registry,
    shutdownGraceMs,
    reportFailuresAfterMs,
    maxSilenceMs,
    resyncMs,
  };
  const manager = createManager({...common, ...identity});
  const store = manager.cache(CONFIG_MAP, {namespace});
  const named = (key: string) => !key.endsWith('/kube-root-ca.crt');
  const controller = manager
    .controller({name: 'test', reconcile, ...rest})
    .watch(store, ({object}) => [keyOf(object as ConfigMap)].filter(named));
  const stop = new AbortController();
  const end = manager.start(AbortSignal.any([stop.signal, world.signal]));
  world.background(end);
  return {manager, controller, store, end, stop: () => stop.abort()};
}

async function metric(name: string): Promise<string> {
  return await registry.getSingleMetricAsString(name);
}

test('every object is reconciled at the start, and again when it changes', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  const keys: string[] = [];
  run(async key => {
    keys.push(key);
    return done();
  });
  await until('x is reconciled', () => keys.length === 1);
  await direct.patch(CONFIG_MAP, {namespace, name: 'x'}, {data: {a: '1'}});
  await until('x is reconciled again', () => keys.length === 2);
  expect(keys).toEqual([`${namespace}/x`, `${namespace}/x`]);
});

test('every object is reconciled again now and then, although nothing changes', async () => {
  for (const name of ['x', 'y']) await direct.create(CONFIG_MAP, configMap(namespace, name));
  const counts = new Map<string, number>();
  run(
    async key => {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return done();
    },
    {resyncMs: 300},
  );
  await until('both are reconciled three times', () => counts.size === 2 && [...counts.values()].every(n => n >= 3));
  expect([...counts.keys()].sort()).toEqual([`${namespace}/x`, `${namespace}/y`]);
});

describe('outcomes', () => {
  test('a reconcile that throws is tried again, with growing pauses, and harms no other key', async () => {
    const attempts: {at: number}[] = [];
    const others: string[] = [];
    run(
      async key => {
        if (!key.endsWith('/bad')) {
          others.push(key);
          return done();
        }
        attempts.push({at: performance.now()});
        if (attempts.length < 5) throw new TypeError('undefined is not a function');
        return done();
      },
      {backoff: {initialMs: 20, maxMs: 1_000, factor: 2, jitter: 0}},
    );
    await direct.create(CONFIG_MAP, configMap(namespace, 'bad'));
    await until('the fifth attempt is made', () => attempts.length === 5);
    await direct.create(CONFIG_MAP, configMap(namespace, 'good'));
    await until('the other key is served', () => others.length === 1);
    expect((attempts[4]?.at ?? 0) - (attempts[0]?.at ?? 0)).toBeGreaterThanOrEqual(20 + 40 + 80 + 160 - 5);
    expect(await metric('controller_runtime_reconcile_panics_total')).toContain('{controller="test"} 4');
    expect(await metric('controller_runtime_reconcile_total')).toContain('{controller="test",result="error"} 4');
  });

  test('an object that is gone ends its reconcile without a warning', async () => {
    const lines: {level: number; msg: string}[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    let attempts = 0;
    run(
      async (_key, {client: own}) => {
        attempts += 1;
        if (attempts > 1) return done(); // by then, a cache shows it
        await direct.delete(CONFIG_MAP, {namespace, name: 'x'});
        await own.patch(CONFIG_MAP, {namespace, name: 'x'}, {data: {a: '1'}});
        return done();
      },
      {logger: pino({level: 'debug'}, {write})},
    );
    await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
    await until('the second attempt is made', () => attempts > 1);
    const told = lines.filter(({msg}) => /^the reconcile failed/i.test(msg)).map(({level}) => level);
    expect(told).toEqual([20]);
  });

  test('a server that requests a pause gets one', async () => {
    const times: number[] = [];
    const reconcile: Reconcile = async (_key, context) => {
      times.push(performance.now());
      await context.client.apply(CONFIG_MAP, configMap(namespace, 'made'));
      return done();
    };
    const body = JSON.stringify({kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'later'});
    const busy = {kind: 'answer', status: 429, headers: {'retry-after': '1'}, body} as const;
    proxy.intercept = seen => (seen.method === 'PATCH' && times.length === 1 ? busy : undefined);
    const {controller} = run(reconcile, {backoff: {initialMs: 1, maxMs: 1, factor: 1, jitter: 0}});
    controller.enqueue('x');
    await until('it is created', () => direct.get(CONFIG_MAP, {namespace, name: 'made'}));
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(995);
  });

  test('an outage that lasts is reported once, however many keys it fails, and so is its end', async () => {
    const lines: {level: number; msg: string}[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    const body = JSON.stringify({kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: 'overloaded'});
    proxy.intercept = seen => (seen.method === 'PATCH' ? {kind: 'answer', status: 503, body} : undefined);
    const attempts: boolean[] = [];
    const {controller, manager} = run(
      async (key, context) => {
        if (key.endsWith('x')) attempts.push(context.keepsFailing);
        await context.client.apply(CONFIG_MAP, configMap(namespace, basename(key)));
        return done();
      },
      {
        backoff: {initialMs: 20, maxMs: 20, factor: 1, jitter: 0.5},
        reportFailuresAfterMs: 200,
        logger: pino({level: 'info'}, {write}),
      },
    );
    for (const name of ['x', 'y', 'z']) controller.enqueue(formatKey({namespace, name}));
    const failing = async () => /kind="outage"\} (\d)/.exec(await metric('controller_failing_keys'))?.[1];
    // The gauge changes when an attempt fails; the key's next attempt learns that it keeps failing.
    const haveFailed = async () => (await failing()) === '3' && attempts.at(-1);
    await until('three keys have failed for long', haveFailed);
    expect(attempts[0]).toBe(false);
    expect(manager.warning()).toContain('test 3 (outage)');
    proxy.intercept = () => undefined;
    await until('none fails', async () => (await failing()) === '0');
    expect(manager.warning()).toBeUndefined();
    const told = lines.filter(({msg}) => /^reconciles /i.test(msg)).map(({level, msg}) => `${level} ${msg}`);
    expect(told).toEqual(['50 Reconciles keep failing; retrying.', '30 Reconciles are no longer failing.']);
  });

  test('after: again without a change', async () => {
    const times: number[] = [];
    run(async () => {
      times.push(performance.now());
      return times.length < 3 ? after(100) : done();
    });
    await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
    await until('the third time', () => times.length === 3);
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(195);
  });
});

test('a key is never processed twice at a time, while others are', async () => {
  const running = new Map<string, number>();
  let reconciles = 0;
  let most = 0;
  run(
    async (key, {signal}) => {
      running.set(key, (running.get(key) ?? 0) + 1);
      reconciles += 1;
      expect(running.get(key)).toBe(1);
      most = Math.max(most, running.size);
      await systemClock.sleep(20, signal);
      running.delete(key);
      return done();
    },
    {workers: 3},
  );
  const names = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(names.map(name => direct.create(CONFIG_MAP, configMap(namespace, name))));
  for (let i = 0; i < 10; i++) {
    await Promise.all(names.map(name => direct.patch(CONFIG_MAP, {namespace, name}, {data: {i: `${i}`}})));
  }
  await until('all is quiet', () => running.size === 0 && reconciles >= names.length);
  expect(most).toBe(3);
  expect(await metric('controller_runtime_reconcile_errors_total')).not.toContain('controller="test"');
});

test('a reconcile does not act on a cache older than its own writes', async () => {
  const isWatch = (seen: Seen) => seen.query.get('watch') === 'true' && !seen.query.has('sendInitialEvents');
  const {promise: released, resolve: release} = Promise.withResolvers<void>();
  const created: string[] = [];
  let blind = 0;
  // Creates a child if the cache shows none. With an old cache, it would create a second one.
  const reconcile: Reconcile = async (key, context) => {
    if (key !== `${namespace}/parent`) return done();
    if (running.store.get(formatKey({namespace, name: 'child'}))) return done();
    if (created.length > 0) blind += 1;
    const child = configMap(namespace, 'child', {n: `${created.length}`});
    created.push((await context.client.apply(CONFIG_MAP, child)).metadata.resourceVersion ?? '');
    return done();
  };
  const running = run(reconcile);
  await until('the cache is filled', () => running.store.state === 'synced');
  // From now on, the watch delivers nothing until it is released.
  proxy.intercept = seen => (isWatch(seen) ? {kind: 'hold', until: released} : undefined);
  proxy.disconnect();
  await until('the watch is silent', () => proxy.seen.some(isWatch));
  running.controller.enqueue(`${namespace}/parent`);
  await until('the child is created', () => created.length === 1);
  running.controller.enqueue(`${namespace}/parent`);
  await until('the stale cache is noticed', async () =>
    (await metric('controller_runtime_reconcile_errors_total')).includes('{controller="test"} 1'),
  );
  expect(running.store.get(`${namespace}/child`)).toBeUndefined();
  release();
  await until('the cache shows the child', () => running.store.get(`${namespace}/child`));
  await until('the key is settled', async () =>
    (await metric('workqueue_depth')).includes('{name="test",controller="test"} 0'),
  );
  expect({created: created.length, blind}).toEqual({created: 1, blind: 0});
});

describe('shutdown', () => {
  test('waits for the reconciles that run, and starts no more', async () => {
    await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
    await direct.create(CONFIG_MAP, configMap(namespace, 'y'));
    const finished: string[] = [];
    const {promise: go, resolve: proceed} = Promise.withResolvers<void>();
    let started = 0;
    const {end, stop} = run(
      async key => {
        started += 1;
        await go;
        finished.push(key);
        return done();
      },
      {workers: 1},
    );
    await until('one is being worked on', () => started === 1);
    stop();
    proceed();
    expect(await end).toEqual({reason: 'shutdown'});
    expect({started, finished: finished.length}).toEqual({started: 1, finished: 1});
  });

  test('aborts those that exceed the grace period', async () => {
    await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
    let reason: unknown;
    let started = false;
    const {end, stop} = run(
      async (_key, {signal}) => {
        started = true;
        await systemClock.sleep(60_000, signal).catch((error: unknown) => {
          reason = error;
        });
        return done();
      },
      {shutdownGraceMs: 50},
    );
    await until('it runs', () => started);
    stop();
    expect(await end).toEqual({reason: 'shutdown'});
    expect(String(reason)).toMatch(/grace period has ended/);
  });
});

test('a reconcile that exceeds its deadline is aborted and retried', async () => {
  await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  const reasons: unknown[] = [];
  run(
    async (_key, {signal}) => {
      if (reasons.length === 2) return done();
      await systemClock.sleep(60_000, signal).catch((error: unknown) => reasons.push(error));
      return retry(signal.reason);
    },
    {reconcileTimeoutMs: 50},
  );
  await until('twice', () => reasons.length === 2);
  expect(String(reasons[0])).toMatch(/DeadlineError/);
});

test('the metrics show for how long a reconcile has been running', async () => {
  const {promise: go, resolve: proceed} = Promise.withResolvers<void>();
  const {controller} = run(async () => {
    await go;
    return done();
  });
  const names = ['workqueue_unfinished_work_seconds', 'workqueue_longest_running_processor_seconds'];
  const seconds = async (name: string) => Number((await metric(name)).split('} ').at(-1));
  controller.enqueue('x');
  for (const name of names) await until(`${name} grows`, async () => (await seconds(name)) > 0.05);
  proceed();
  for (const name of names) await until(`${name} is 0 again`, async () => (await seconds(name)) === 0);
  expect(await metric('workqueue_work_duration_seconds')).toContain(
    'workqueue_work_duration_seconds_count{name="test",controller="test"} 1',
  );
});

test('a part that fails ends the program and says why', async () => {
  const identity = {identity: 'test', reportingController: 'test.dev/controller'};
  const manager = createManager({client, clock: systemClock, logger, registry, ...identity});
  manager.run({name: 'broken', run: () => Promise.reject(new Error('boom'))});
  expect(await manager.start(world.signal)).toMatchObject({reason: 'failed', error: {message: 'boom'}});
});

test('health: not ready until the caches have settled', async () => {
  proxy.intercept = () => ({kind: 'reset'});
  const {manager} = run(async () => done());
  await until('it has tried', () => proxy.seen.length > 0);
  expect(manager.health()).toMatchObject({ready: false, live: true});
  proxy.intercept = () => undefined;
  await until('it is ready', () => manager.health().ready);
  expect(manager.health()).toMatchObject({ready: true, live: true, leader: true});
});

test('health: not ready while a cache has lost its watch for long', async () => {
  const {manager} = run(async () => done(), {maxSilenceMs: 2000});
  await until('it is ready', () => manager.health().ready);
  // The requests are answered, so that the process does not exit.
  proxy.intercept = () => ({kind: 'answer', status: 500, body: 'broken'});
  proxy.disconnect();
  await until('it is not ready', () => !manager.health().ready);
  expect(manager.health().live).toBe(true);
  const staleSeconds = async () => Number((await metric('reflector_cache_stale_seconds')).split('} ').at(-1));
  expect(await staleSeconds()).toBeGreaterThanOrEqual(2);
  proxy.intercept = () => undefined;
  await until('it is ready again', () => manager.health().ready);
  await until('the metric says so', async () => (await staleSeconds()) < 2);
});

test('events: the first is created, repetitions are dropped, a flood of one object is cut', async () => {
  const about = await direct.create(CONFIG_MAP, configMap(namespace, 'x'));
  const {manager} = run(async () => done());
  for (let i = 0; i < 5; i++) manager.events.event(about, 'Warning', 'Broken', 'Fix', 'it broke');
  for (let i = 0; i < 60; i++)
    manager.events.event(about, 'Normal', 'Chatter', 'Talk', `line ${i} ${'→'.repeat(1_000)}`);
  await manager.events.flush();
  const notes: string[] = [];
  for await (const page of direct.list(EVENT, {namespace})) {
    for (const event of page.items) {
      notes.push(event.note?.slice(0, 8) ?? '');
      expect(event.regarding).toMatchObject({kind: 'ConfigMap', name: 'x', namespace, uid: about.metadata.uid});
    }
  }
  expect(notes.filter(note => note === 'it broke')).toHaveLength(1);
  expect(notes).toHaveLength(25);
  expect(await metric('event_recorder_events_total')).toContain('{result="repeated"} 4');
});

// attack: operator-work
test("events: a namespace in a storm neither delays nor displaces another's event", async () => {
  const {manager} = run(async () => done());
  const about = (where: string, n: number) => configMap(where, `x${n}`);
  for (let n = 0; n < 1_200; n++) manager.events.event(about(namespace, n), 'Normal', 'Storm', 'Test', 'once more');
  manager.events.event(about('default', 0), 'Normal', 'Calm', 'Test', 'once');
  const sent = () => proxy.seen.filter(({method, path}) => method === 'POST' && path.endsWith('/events'));
  await until('three are sent', () => sent().length >= 3);
  await manager.events.flush(AbortSignal.abort());
  const places = sent().map(({path}) => path.includes('/namespaces/default/'));
  expect([places.indexOf(true) < 3, places.filter(Boolean).length]).toEqual([true, 1]);
  expect(await metric('event_recorder_events_total')).toContain('{result="dropped"} 199'); // 1,000 wait, one is being sent
});
