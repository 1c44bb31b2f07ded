#!/usr/bin/env node
/** The name server of the ACME domain, which answers DNS-01 challenges. Only wiring and signals. */
import {once} from 'node:events';
import {collectDefaultMetrics, Registry} from 'prom-client';
import packageJson from '../../package.json' with {type: 'json'};
import {ConfigError} from '../config/load-config.ts';
import {OpenChallenges} from '../nameserver/open-challenges.ts';
import {startNameServer} from '../nameserver/server.ts';
import {createLogger} from '../operations/log.ts';
import {metricsIn} from '../operations/metrics.ts';
import {startOperationsServer} from '../operations/operations-server.ts';
import {handleShutdown} from '../operations/shutdown.ts';
import {createKubeClient} from '../runtime/kube/http-client.ts';
import {systemClock} from '../time/clock.ts';
import {portOf, readCommandLine} from './command-line.ts';

const USAGE = `usage: nameserver --zone DOMAIN --name-server NAME [--name-server NAME]...
  [--port PORT] [--operations-port PORT] [--kubeconfig FILE]`;
/** The chart's terminationGracePeriodSeconds is longer. */
const SHUTDOWN_DEADLINE_MS = 8000;
const HOST = /^(?=.{1,189}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

interface Settings {
  readonly domain: string;
  readonly nameServers: readonly string[];
  readonly port: number;
  readonly operationsPort: number;
  readonly kubeconfig: string | undefined;
}

async function main(): Promise<number> {
  const options = {
    zone: {type: 'string', default: ''},
    'name-server': {type: 'string', multiple: true},
    port: {type: 'string', default: '5300'},
    'operations-port': {type: 'string', default: '8081'},
    kubeconfig: {type: 'string'},
    help: {type: 'boolean'},
  } as const;
  const {values} = readCommandLine({options}, USAGE);
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const domain = hostOf(values.zone);
  const nameServers = (values['name-server'] ?? []).map(hostOf);
  const isWithin = (name: string) => `.${name}`.endsWith(`.${domain}`);
  if (nameServers.length === 0 || nameServers.some(isWithin)) {
    throw new ConfigError('the command line', ["name the zone's name servers; none of them may be in the zone", USAGE]);
  }
  const [port, operationsPort] = [portOf(values.port, USAGE), portOf(values['operations-port'], USAGE)];
  await serve({domain, nameServers, port, operationsPort, kubeconfig: values.kubeconfig});
  return 0;
}

function hostOf(text: string): string {
  if (HOST.test(text)) return text;
  throw new ConfigError('the command line', [`"${text}" is not a domain in lower case without a trailing dot`, USAGE]);
}

async function serve({domain, nameServers, port, operationsPort, kubeconfig}: Settings): Promise<void> {
  const logger = createLogger({level: 'info', program: 'nameserver'});
  const registry = new Registry();
  collectDefaultMetrics({register: registry});
  const shutdown = handleShutdown({logger, deadlineMs: SHUTDOWN_DEADLINE_MS});
  const client = createKubeClient({
    kubeconfig,
    userAgent: `nameplate-nameserver/${packageJson.version}`,
    fieldManager: 'nameplate-nameserver',
    registry,
    logger,
  });
  const challenges = new OpenChallenges({client, clock: systemClock, logger, registry});
  const end = new AbortController();
  const watching = challenges.run(end.signal);
  const queries = metricsIn(registry).counter(
    'nameplate_nameserver_queries_total',
    'Queries to the name server, by transport and outcome.',
    'transport',
    'outcome',
  );
  const server = await startNameServer({
    zone: {domain, nameServers, valuesOf: name => challenges.valuesOf(name)},
    port,
    clock: systemClock,
    observe: (transport, outcome) => queries.inc({transport, outcome}),
  });
  const operations = await startOperationsServer({
    port: operationsPort,
    liveness: [],
    readiness: [{name: 'challenges', problem: () => challenges.problem()}],
    metrics: registry,
    logger,
  });
  logger.info({pid: process.pid, domain, port: server.port, operationsPort: operations.port}, 'Ready.');
  if (!shutdown.signal.aborted) await once(shutdown.signal, 'abort');
  end.abort();
  await Promise.all([server.close(), operations.close(), watching]);
  await client.close();
  shutdown.finished();
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
