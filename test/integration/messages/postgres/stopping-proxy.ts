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
  /** Lets the session continue as if it had never stopped. */
  proceed(): void;
  close(): void;
}

/** Serves one connection, without TLS. */
export async function stopAt(serverUri: string, {statements, isExecuted = false}: Stop): Promise<StoppingProxy> {
  const uri = new URL(serverUri);
  const port = Number(uri.port);
  const {promise: stopped, resolve: stop} = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const held: (() => void)[] = [];
  let seen = 0;
  const isAtLast = () => seen === statements.length;
  const proxy = createServer(client => {
    const server = connect(port, uri.hostname);
    const passOn = (to: Socket, chunk: Buffer | string, isHeld: boolean) => {
      if (isHeld) held.push(() => to.write(chunk));
      else to.write(chunk);
    };
    client.on('data', chunk => {
      const wasAtLast = isAtLast();
      if (!wasAtLast && chunk.includes(statements[seen] ?? '')) seen += 1;
      const isHeld = isAtLast() && (wasAtLast || !isExecuted);
      passOn(server, chunk, isHeld);
      if (isHeld && !isExecuted) stop();
    });
    server.on('data', chunk => {
      passOn(client, chunk, isAtLast());
      if (isAtLast()) stop();
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
  const proceed = () => {
    seen += 1; // beyond the last
    for (const send of held.splice(0)) send();
  };
  return {uri: uri.href, stopped, proceed, close};
}
