#!/usr/bin/env node
/** The console: `console --config FILE`. Only wiring and signals. */
import {once} from 'node:events';
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';
import {collectDefaultMetrics, Registry} from 'prom-client';
import packageJson from '../../package.json' with {type: 'json'};
import {ConfigError, loadConfig} from '../config/load-config.ts';
import {connectProvider, type IdentityProvider} from '../console/access/identity-provider.ts';
import {LoginTickets} from '../console/access/login-ticket.ts';
import {Sessions} from '../console/access/sessions.ts';
import {actWithToken} from '../console/access/user-client.ts';
import {consoleConfigDefinition} from '../console/config-schema.ts';
import type {ConsoleConfig} from '../console/generated/config.ts';
import {createConsole} from '../console/http/app.ts';
import {startConsoleServer} from '../console/server.ts';
import {handleDiagnostics} from '../operations/diagnostics.ts';
import {createLogger} from '../operations/log.ts';
import {startOperationsServer} from '../operations/operations-server.ts';
import {handleShutdown} from '../operations/shutdown.ts';
import {systemClock} from '../time/clock.ts';
import {readCommandLine} from './command-line.ts';

const USAGE = 'usage: console --config FILE';
const SHUTDOWN_DEADLINE_MS = 10_000;
const RETRY_MS = 5000;

async function main(): Promise<number> {
  const options = {config: {type: 'string'}, help: {type: 'boolean'}} as const;
  const {values} = readCommandLine({options}, USAGE);
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (!values.config) throw new ConfigError('the command line', [USAGE]);
  await serve(await loadConfig<ConsoleConfig>(values.config, consoleConfigDefinition));
  return 0;
}

async function serve(config: ConsoleConfig): Promise<void> {
  const {oidc, apiServer, url} = config;
  const [ca, providerCa, secret] = await Promise.all(
    [apiServer.caFile, oidc.caFile, oidc.clientSecretFile].map(textOf),
  );
  const logger = createLogger({level: config.log.level, program: 'console'});
  handleDiagnostics(config.diagnostics, logger);
  const registry = new Registry();
  collectDefaultMetrics({register: registry});
  const shutdown = handleShutdown({logger, deadlineMs: SHUTDOWN_DEADLINE_MS});
  const {signal} = shutdown;
  let problem: string | undefined = 'not connected to the identity provider yet';
  const operations = await startOperationsServer({
    port: config.operations.port,
    liveness: [],
    readiness: [{name: 'identity-provider', problem: () => problem}],
    metrics: registry,
    logger,
  });
  const connect = () => connectProvider({config: oidc, url, clientSecret: secret?.trim(), ca: providerCa});
  const provider = await untilConnected(connect, signal, logger, message => {
    problem = message;
  });
  if (provider) {
    const userAgent = `nameplate-console/${packageJson.version}`;
    const act = actWithToken({url: apiServer.url, ca: ca ?? '', userAgent, registry, logger});
    const sessions = new Sessions(config.sessions, systemClock);
    const tickets = new LoginTickets();
    const app = createConsole({config, sessions, act, tickets, provider, clock: systemClock, logger});
    const server = await startConsoleServer(app, config.server.port);
    problem = undefined;
    logger.info({pid: process.pid, port: server.port, operationsPort: operations.port}, 'Ready.');
    if (!signal.aborted) await once(signal, 'abort');
    // First the connections: a live page that hears of the end of its session would load itself again now.
    await server.close();
    sessions.endAll();
  }
  await operations.close();
  shutdown.finished();
}

async function textOf(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(`The file ${path}`, [cause instanceof Error ? cause.message : String(cause)], {cause});
  });
}

/** Nobody can sign in without it, so the pod is not ready, and the probe says why. Undefined: the process ends. */
async function untilConnected(
  connect: () => Promise<IdentityProvider>,
  signal: AbortSignal,
  logger: Logger,
  report: (problem: string) => void,
): Promise<IdentityProvider | undefined> {
  while (!signal.aborted) {
    try {
      return await connect();
    } catch (err) {
      report(`the identity provider cannot be used: ${err instanceof Error ? err.message : String(err)}`);
      logger.warn({err}, 'The identity provider cannot be used; trying again.');
      await delay(RETRY_MS, undefined, {signal}).catch(() => {});
    }
  }
  return undefined;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
