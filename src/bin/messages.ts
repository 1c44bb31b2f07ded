#!/usr/bin/env node
/**
 * The messages API: `messages --config FILE [--kubeconfig FILE]`, or `messages backup --config FILE TARGET`, or
 * `messages backup --config FILE --keep N FOLDER`, or `messages migrate --config FILE [--check | --undo]`. Only
 * wiring and signals.
 */
import {once} from 'node:events';
import type {Logger} from 'pino';
import {collectDefaultMetrics, Registry} from 'prom-client';
import packageJson from '../../package.json' with {type: 'json'};
import type {Authenticator} from '../apikey/authenticator.ts';
import {createKeyTable, keyTableDefinition} from '../apikey/key-table.ts';
import {watchKeys} from '../apikey/watched-keys.ts';
import {ConfigError, loadConfig} from '../config/load-config.ts';
import type {MessagesConfig} from '../messages/config.ts';
import {messagesConfigDefinition} from '../messages/config-schema.ts';
import {connectionOf, databasePath, startMessagesService} from '../messages/service.ts';
import {checkTarget, runMigration} from '../messages/store/migration/migrate.ts';
import {backupDatabase, backupInto} from '../messages/store/sqlite/backup.ts';
import {StoreError} from '../messages/store/store.ts';
import {handleDiagnostics} from '../operations/diagnostics.ts';
import {createLogger} from '../operations/log.ts';
import {startOperationsServer} from '../operations/operations-server.ts';
import {handleShutdown} from '../operations/shutdown.ts';
import {createKubeClient} from '../runtime/kube/http-client.ts';
import {systemClock} from '../time/clock.ts';
import {readCommandLine} from './command-line.ts';

const USAGE = `usage: messages --config FILE [--kubeconfig FILE]
  messages backup --config FILE TARGET
  messages backup --config FILE --keep N FOLDER
  messages migrate --config FILE [--check | --undo]`;
/** The chart's terminationGracePeriodSeconds is longer. */
const SHUTDOWN_DEADLINE_MS = 25_000;
const ANSWER_GRACE_MS = 20_000;

/** A separate file in the bundle too, because a thread starts from a file. */
const storeWorker = import.meta.url.endsWith('.ts')
  ? new URL('../messages/store/sqlite/worker.ts', import.meta.url)
  : new URL('./messages-store.mjs', import.meta.url);

async function main(): Promise<number> {
  const options = {
    config: {type: 'string'},
    kubeconfig: {type: 'string'},
    keep: {type: 'string'},
    check: {type: 'boolean'},
    undo: {type: 'boolean'},
    help: {type: 'boolean'},
  } as const;
  const {values, positionals} = readCommandLine({options, allowPositionals: true}, USAGE);
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const [command, target, ...rest] = positionals;
  if (!values.config || rest.length > 0) throw new ConfigError('the command line', [USAGE]);
  const config = await loadConfig<MessagesConfig>(values.config, messagesConfigDefinition);
  if (command === undefined) return serve(config, values.kubeconfig);
  if (command === 'migrate' && target === undefined) return migrate(config, values);
  if (command !== 'backup' || target === undefined) throw new ConfigError('the command line', [USAGE]);
  if (config.store.kind !== 'sqlite') {
    throw new ConfigError('the command backup', ["it copies SQLite's database; back up PostgreSQL with its own tools"]);
  }
  if (values.keep !== undefined && !/^[1-9]\d*$/.test(values.keep)) throw new ConfigError('the command line', [USAGE]);
  const source = databasePath(config.store.folder);
  const copied =
    values.keep === undefined
      ? backupDatabase(source, target)
      : backupInto(source, target, Number(values.keep), systemClock.now());
  await copied.catch((cause: Error) => {
    throw new StoreError('down', `the backup failed: ${cause.message}`, {cause});
  });
  return 0;
}

interface MigrateFlags {
  readonly check?: boolean;
  readonly undo?: boolean;
}

async function migrate({store}: MessagesConfig, {check = false, undo = false}: MigrateFlags): Promise<number> {
  if (check && undo) throw new ConfigError('the command line', [USAGE]);
  if (store.kind !== 'postgres') throw new ConfigError('the command migrate', ['store.kind must be postgres']);
  const connection = connectionOf(store.postgres);
  const moved = () =>
    runMigration({
      path: databasePath(store.folder),
      connection,
      isBack: undo,
      clock: systemClock,
      signal: new AbortController().signal,
      note: waiting => process.stderr.write(`${waiting}\n`),
    });
  const report = await (check ? checkTarget(connection) : moved());
  process.stdout.write(`${report}\n`);
  return 0;
}

async function serve(config: MessagesConfig, kubeconfig: string | undefined): Promise<number> {
  const logger = createLogger({level: config.log.level, program: 'messages'});
  handleDiagnostics(config.diagnostics, logger);
  const registry = new Registry();
  collectDefaultMetrics({register: registry});
  const shutdown = handleShutdown({logger, deadlineMs: SHUTDOWN_DEADLINE_MS});
  await using keys = await openKeys(config, {kubeconfig, logger, registry});
  let failure: Error | undefined;
  const service = await startMessagesService({
    config,
    authenticator: keys.authenticator,
    storeWorker,
    clock: systemClock,
    logger,
    registry,
    onFailed: error => {
      failure = error;
      logger.fatal({err: error}, 'the store has failed');
      shutdown.begin('the store has failed');
    },
  });
  const {liveness, readiness, port} = service;
  const operations = await startOperationsServer({
    port: config.operations.port,
    liveness,
    readiness,
    metrics: registry,
    logger,
  });
  logger.info({pid: process.pid, port, operationsPort: operations.port}, 'Ready.');
  if (!shutdown.signal.aborted) await once(shutdown.signal, 'abort');
  await service.close(ANSWER_GRACE_MS);
  await operations.close();
  shutdown.finished();
  return failure === undefined ? 0 : 1;
}

interface Keys extends AsyncDisposable {
  readonly authenticator: Authenticator;
}

interface KeysParts {
  readonly kubeconfig: string | undefined;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** The cluster's APIKeys or, on a machine without Kubernetes, a file. */
async function openKeys({keys}: MessagesConfig, {kubeconfig, logger, registry}: KeysParts): Promise<Keys> {
  if (keys.file !== undefined) {
    const authenticator = createKeyTable(await loadConfig(keys.file, keyTableDefinition));
    return {authenticator, [Symbol.asyncDispose]: async () => {}};
  }
  const client = createKubeClient({
    kubeconfig,
    userAgent: `nameplate-messages/${packageJson.version}`,
    fieldManager: 'nameplate-messages',
    registry,
    logger,
  });
  const graceMs = keys.graceSeconds * 1000;
  const {authenticator, run} = watchKeys({client, clock: systemClock, logger, registry, graceMs});
  const end = new AbortController();
  const running = run(end.signal);
  const stop = async () => {
    end.abort();
    await running;
    await client.close();
  };
  return {authenticator, [Symbol.asyncDispose]: stop};
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof StoreError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
}
