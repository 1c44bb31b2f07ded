/** The console's server on node:http. TLS ends at the edge. */
import {once} from 'node:events';
import type {Server} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {createAdaptorServer} from '@hono/node-server';
import type {Hono} from 'hono';
import {Connections} from '../operations/connections.ts';
import type {Env} from './http/env.ts';

interface ConsoleServer {
  readonly port: number;
  /** Stops listening, and closes open connections. */
  close(): Promise<void>;
}

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  maxHeaderSize: 16_384,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 1000,
};
/** Longer than a live page is silent. A browser that stopped reading holds nothing for longer. */
const IDLE_MS = 180_000;
/** All connections come from the few addresses of the edge. */
const CONNECTIONS = {total: 2048, perAddress: 2048, dropsBusy: false};

/** Resolves once it listens; rejects if it cannot. */
export async function startConsoleServer(app: Hono<Env>, port: number, host?: string): Promise<ConsoleServer> {
  const server = createAdaptorServer({fetch: app.fetch, serverOptions: LIMITS, overrideGlobalObjects: false}) as Server;
  server.timeout = IDLE_MS;
  const connections = new Connections(CONNECTIONS);
  connections.watch(server);
  server.on('request', ({socket}: {socket: Socket}, response) => {
    connections.begin(socket);
    response.once('close', () => connections.end(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
