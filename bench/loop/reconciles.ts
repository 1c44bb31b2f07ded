/**
 * What the runtime itself costs for each reconcile, with a reconcile that does nothing: CPU, and bytes that end up in
 * the old generation, where they stay until it is collected. Objects of many namespaces, as in the operator.
 *
 *     node --max-semi-space-size=4 --no-parallel-scavenge --initial-old-space-size=512 bench/loop/reconciles.ts [KEYS]
 */
import {PerformanceObserver} from 'node:perf_hooks';
import {setTimeout as delay} from 'node:timers/promises';
import {getHeapSpaceStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {ReconcileLoop} from '../../src/runtime/controller/controller.ts';
import {done} from '../../src/runtime/controller/outcome.ts';
import type {ApiConnection} from '../../src/runtime/kube/api-connection.ts';
import {KubeClient} from '../../src/runtime/kube/client.ts';
import {systemClock} from '../../src/time/clock.ts';
import {median} from '../statistics.ts';

const KEYS = Number(process.argv[2] ?? 20_000);
const ROUNDS = 10;
const NAMESPACES = [1, 1000];
const MAJOR = 4;

/** Its type does not have the detail. */
type GcEntry = PerformanceEntry & {readonly detail: {readonly kind: number}};

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const logger = pino({level: 'info'}, {write: () => undefined});
const registry = new Registry();
/** Nothing is sent. */
const connection = {} as ApiConnection;
const client = new KubeClient(connection, {fieldManager: 'bench', gated: true, leaseConnection: connection});
let majors = 0;
new PerformanceObserver(list => {
  majors += list.getEntries().filter(entry => (entry as GcEntry).detail.kind === MAJOR).length;
}).observe({entryTypes: ['gc']});

for (const namespaces of NAMESPACES) {
  const keys = Array.from({length: KEYS}, (_, n) => `namespace-${n % namespaces}/object-${n}`);
  const bytes: number[] = [];
  const micros: number[] = [];
  let left = 0;
  let finished: () => void = () => undefined;
  const loop = new ReconcileLoop(
    {
      name: 'bench',
      reconcile: async () => {
        if (--left === 0) finished();
        return done();
      },
    },
    {
      client,
      clock: systemClock,
      logger,
      registry,
      random: Math.random,
      reportFailuresAfterMs: 300_000,
      resyncMs: 36_000_000,
      storesOf: () => [],
    },
  );
  const stop = new AbortController();
  const ended = loop.run(stop.signal, stop.signal);
  const pass = async (): Promise<void> => {
    const {promise, resolve} = Promise.withResolvers<void>();
    [left, finished] = [keys.length, resolve];
    for (const key of keys) loop.enqueue(key);
    await promise;
  };
  for (let round = 0; round < 3; round++) await pass();
  for (let round = 0; round < ROUNDS; round++) {
    collect();
    await delay(50); // the observer is told later
    const before = oldBytes();
    const cpu = process.cpuUsage();
    const collections = majors;
    await pass();
    const {user, system} = process.cpuUsage(cpu);
    const promoted = oldBytes() - before;
    await delay(50);
    micros.push((user + system) / KEYS);
    if (majors === collections) bytes.push(promoted / KEYS);
  }
  stop.abort();
  await ended;
  console.log(
    `${namespaces} namespaces: ${median(bytes).toFixed(0)} bytes into the old generation and ${median(micros).toFixed(2)} µs of CPU for each of ${KEYS} reconciles (${bytes.length} rounds without a collection)`,
  );
}
process.exit();

function oldBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({space_name: name}) => name.startsWith('old_') || name === 'large_object_space')
    .reduce((sum, {space_used_size: used}) => sum + used, 0);
}
