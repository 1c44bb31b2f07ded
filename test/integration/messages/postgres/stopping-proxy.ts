/** A proxy in front of PostgreSQL that stops a session at a statement, so that its program can be killed there. */
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';

export interface Stop {
  /**
   * Parts of statements, or names of prepared ones, in the order in which a session sends them. The session stops at
   * the last.
   */
  readonly statements: readonly string[];
  /** If true, the server executes the last one, but its answer is held back. Otherwise, the server never gets it. */
  readonly isExecuted?: boolean;
}

export interface StoppingProxy {
  /** A URI for clients, instead of the server's. */
  readonly uri: string;
  /** Resolves once a session has stopped. */
  readonly stopped: Promise<void>;
  close(): void;
}

/** Serves one connection, without TLS. */
export async function stopAt(serverUri: string, {statements, isExecuted = false}: Stop): Promise<StoppingProxy> {
  const uri = new URL(serverUri);
  const port = Number(uri.port);
  const {promise: stopped, resolve: stop} = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  let seen = 0;
  const isAtLast = () => seen === statements.length;
  const proxy = createServer(client => {
    const server = connect(port, uri.hostname);
    client.on('data', chunk => {
      if (isAtLast()) return;
      if (chunk.includes(statements[seen] ?? '')) seen += 1;
      if (!isAtLast() || isExecuted) server.write(chunk);
      else stop();
    });
    server.on('data', chunk => {
      if (isAtLast()) stop();
      else client.write(chunk);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('close', () => other.destroy()).on('error', () => {});
      sockets.push(one);
    }
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  uri.port = String((proxy.address() as AddressInfo).port);
  const close = () => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  };
  return {uri: uri.href, stopped, close};
}
