/**
 * A program that writes as fast as it may while it leads, and reads over as many connections as it may have: `node
 * leader-program.ts KUBECONFIG NAMESPACE NAME LEASE_MS MAX_SILENCE_MS [deaf]`. It prints when it is ready and why it
 * ended. If deaf, it ignores requests to stop.
 *
 * On SIGUSR2, it stops itself as SIGSTOP would, but never between checking the gate and sending: a program stopped
 * there sends one write when it continues, which no program can prevent (see the runtime's README).
 */
import {Registry} from 'prom-client';
import {createManager} from '../../../src/runtime/controller/manager.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {CONFIG_MAP, logger} from './runtime-world.ts';

const [kubeconfig = '', namespace = '', name = '', leaseMs = '', maxSilenceMs = '', deaf] = process.argv.slice(2);
const leaseDurationMs = Number(leaseMs);
/** A standby that waits for a long lease finds out soon that it was released. */
const MAX_RETRY_PERIOD_MS = 4_000;
const ended = new AbortController();
const registry = new Registry();
const client = createKubeClient({kubeconfig, userAgent: name, fieldManager: name, registry, logger});
const manager = createManager({
  client,
  clock: systemClock,
  logger,
  registry,
  identity: name,
  reportingController: 'test.dev/leader',
  maxSilenceMs: Number(maxSilenceMs),
  leaderElection: {
    lease: {namespace, name: 'test'},
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 10) / 15,
    retryPeriodMs: Math.min((leaseDurationMs * 2) / 15, MAX_RETRY_PERIOD_MS),
  },
});
const store = manager.cache(CONFIG_MAP, {namespace});
for (const writer of ['a', 'b', 'c', 'd']) {
  manager.run({
    name: `writer ${writer}`,
    run: async told => {
      const signal = deaf ? ended.signal : told;
      for (let i = 0; !signal.aborted; i++) {
        const patch = {data: {[writer]: `${name} ${i}`}};
        await client.patch(CONFIG_MAP, {namespace, name: 'x'}, patch, {signal}).catch(() => undefined);
        await systemClock.sleep(5, signal).catch(() => undefined);
      }
    },
  });
}
for (let reader = 0; reader < 8; reader++) {
  manager.run({
    name: `reader ${reader}`,
    run: async signal => {
      while (!signal.aborted) {
        await client.get(CONFIG_MAP, {namespace, name: 'x'}, {signal}).catch(() => undefined);
        await systemClock.sleep(100, signal).catch(() => undefined);
      }
    },
  });
}

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
process.on('SIGUSR2', () => process.kill(process.pid, 'SIGSTOP'));
store.settled().then(
  () => process.stdout.write('ready\n'),
  () => undefined,
);
const end = await manager.start(stop.signal);
process.stdout.write(`end ${end.reason}\n`);
ended.abort();
await client.close();
