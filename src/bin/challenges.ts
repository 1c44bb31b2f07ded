#!/usr/bin/env node
/** The program that answers HTTP-01 challenges. It has no rights and knows no order. Only wiring and signals. */
import {once} from 'node:events';
import {collectDefaultMetrics, Registry} from 'prom-client';
import {startChallengeServer} from '../challenges/server.ts';
import {ThumbprintFile} from '../challenges/thumbprint-file.ts';
import {ConfigError} from '../config/load-config.ts';
import {createLogger} from '../operations/log.ts';
import {metricsIn} from '../operations/metrics.ts';
import {startOperationsServer} from '../operations/operations-server.ts';
import {handleShutdown} from '../operations/shutdown.ts';
import {portOf, readCommandLine} from './command-line.ts';

const USAGE = 'usage: challenges --thumbprint FILE [--port PORT] [--operations-port PORT]';
/** The chart's terminationGracePeriodSeconds is longer. A connection takes at most six seconds. */
const SHUTDOWN_DEADLINE_MS = 8000;

async function main(): Promise<number> {
  const options = {
    thumbprint: {type: 'string'},
    port: {type: 'string', default: '8080'},
    'operations-port': {type: 'string', default: '8081'},
    help: {type: 'boolean'},
  } as const;
  const {values} = readCommandLine({options}, USAGE);
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (!values.thumbprint) throw new ConfigError('the command line', [USAGE]);
  await serve(values.thumbprint, portOf(values.port, USAGE), portOf(values['operations-port'], USAGE));
  return 0;
}

async function serve(path: string, port: number, operationsPort: number): Promise<void> {
  const logger = createLogger({level: 'info', program: 'challenges'});
  const registry = new Registry();
  collectDefaultMetrics({register: registry});
  const {counter} = metricsIn(registry);
  const answers = counter(
    'nameplate_challenges_answers_total',
    'Answers of the challenge responder, by status.',
    'status',
  );
  const shutdown = handleShutdown({logger, deadlineMs: SHUTDOWN_DEADLINE_MS});
  await using thumbprint = await ThumbprintFile.open(path, logger);
  const server = await startChallengeServer({
    port,
    thumbprint: () => thumbprint.current,
    observe: status => answers.inc({status}),
  });
  const operations = await startOperationsServer({
    port: operationsPort,
    liveness: [],
    readiness: [{name: 'thumbprint', problem: () => thumbprint.problem}],
    metrics: registry,
    logger,
  });
  logger.info({pid: process.pid, port: server.port, operationsPort: operations.port}, 'Ready.');
  if (!shutdown.signal.aborted) await once(shutdown.signal, 'abort');
  await server.close();
  await operations.close();
  shutdown.finished();
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
