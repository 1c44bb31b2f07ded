#!/usr/bin/env node
/** The operator: `operator --config FILE [--kubeconfig FILE]`. Only wiring and signals. */
import {hostname} from 'node:os';
import {collectDefaultMetrics, Registry} from 'prom-client';
import packageJson from '../../package.json' with {type: 'json'};
import {FIELD_MANAGER} from '../api/names.ts';
import {readKeyFile} from '../config/key-file.ts';
import {ConfigError, loadConfig} from '../config/load-config.ts';
import {handleDiagnostics} from '../operations/diagnostics.ts';
import {createLogger} from '../operations/log.ts';
import {startOperationsServer} from '../operations/operations-server.ts';
import {handleShutdown} from '../operations/shutdown.ts';
import {assembleOperator} from '../operator/assemble.ts';
import type {OperatorConfig} from '../operator/config/config.ts';
import {operatorConfigDefinition} from '../operator/config/schema.ts';
import {loadPlatformKey, PlatformKeyError} from '../operator/platform-key.ts';
import type {Manager} from '../runtime/controller/manager.ts';
import {createKubeClient} from '../runtime/kube/http-client.ts';
import {systemClock} from '../time/clock.ts';
import {readCommandLine} from './command-line.ts';

const USAGE = 'usage: operator --config FILE [--kubeconfig FILE]';
const SHUTDOWN_DEADLINE_MS = 25_000;
/** How often the event loop's delay is sampled. The default of 10 ms costs an idle process 0.5 % of a core. */
const LOOP_DELAY_SAMPLE_MS = 50;

async function main(): Promise<number> {
  const options = {config: {type: 'string'}, kubeconfig: {type: 'string'}, help: {type: 'boolean'}} as const;
  const {values} = readCommandLine({options}, USAGE);
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (!values.config) throw new ConfigError('the command line', [USAGE]);
  return await operate(await loadConfig<OperatorConfig>(values.config, operatorConfigDefinition), values.kubeconfig);
}

async function operate(config: OperatorConfig, kubeconfig: string | undefined): Promise<number> {
  const {keyFile, keySecret} = config.platform;
  const keyInFile = keyFile === undefined ? undefined : await readKeyFile(keyFile, 32);
  const logger = createLogger({level: config.log.level, program: 'operator'});
  handleDiagnostics(config.diagnostics, logger);
  const registry = new Registry();
  collectDefaultMetrics({register: registry, eventLoopMonitoringPrecision: LOOP_DELAY_SAMPLE_MS});
  const userAgent = `nameplate-operator/${packageJson.version}`;
  const client = createKubeClient({
    kubeconfig,
    userAgent,
    fieldManager: FIELD_MANAGER,
    registry,
    logger,
  });
  const shutdown = handleShutdown({logger, deadlineMs: SHUTDOWN_DEADLINE_MS});
  const {signal} = shutdown;
  const namespace = process.env.POD_NAMESPACE ?? 'default';
  const platformKey =
    keyInFile ??
    (await loadPlatformKey(keySecret, {
      ...{client, namespace, target: config.platform, clock: systemClock, logger, signal},
    }));
  if (!platformKey) {
    await client.close();
    shutdown.finished();
    return 0;
  }
  const {manager, warning} = assembleOperator({
    config,
    platformKey,
    client,
    clock: systemClock,
    logger,
    registry,
    userAgent,
    identity: process.env.POD_NAME ?? `${hostname()}-${process.pid}`,
    namespace,
  });
  const server = await startOperationsServer({
    port: config.server.port,
    liveness: [{name: 'live', problem: () => problemOf(manager, 'live')}],
    readiness: [{name: 'ready', problem: () => problemOf(manager, 'ready'), warning}],
    metrics: registry,
    logger,
  });
  const end = await manager.start(signal);
  await Promise.all([server.close(), client.close()]);
  shutdown.finished();
  if (end.reason === 'shutdown') return 0;
  logger.error(
    {...end},
    end.reason === 'lease-lost' ? 'The lease was lost; another replica is now the leader.' : 'A component failed.',
  );
  return 1;
}

function problemOf(manager: Manager, kind: 'ready' | 'live'): string | undefined {
  const health = manager.health();
  if (health[kind]) return undefined;
  const failing = health.checks.filter(check => !check.ok).map(({name, message}) => `${name}: ${message}`);
  return failing.join('; ') || 'not yet';
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof PlatformKeyError)) throw error;
  process.stderr.write(`${error.message}\n`);
  // A client may still hold connections open.
  process.exit(2);
}
