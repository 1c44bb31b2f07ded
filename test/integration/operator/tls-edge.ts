/**
 * An edge that serves the live hosts of the world: it presents their certificates, redirects, and counts the visits.
 */
import type {AddressInfo, Socket} from 'node:net';
import {createSecureContext, createServer, type SecureContext} from 'node:tls';
import {ANNOTATION} from '../../../src/api/names.ts';
import {formatEndpoint} from '../../../src/dns/wire/addresses.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {DEFAULT_REDIRECT_STATUS} from '../../../src/operator/kinds/project-hosts.ts';
import type {OperatorWorld} from './operator-world.ts';

export interface TlsEdge {
  /** For `config.probes.addresses`. */
  readonly address: string;
  /** How often a host was visited. */
  visits(host: string): number;
  stop(): Promise<void>;
}

export async function startTlsEdge(
  {client, history}: Pick<OperatorWorld, 'client' | 'history'>,
  host = '127.0.0.1',
): Promise<TlsEdge> {
  const visits = new Map<string, number>();
  const sockets = new Set<Socket>();
  /** The key of a host's objects, in the namespace that holds it. */
  const keyOf = (host: string) => {
    const namespace = history.get(kinds.DOMAIN_CLAIM, host)?.spec.namespace ?? '';
    return {namespace, name: routeName(namespace, host)};
  };
  const contextOf = async (host: string): Promise<SecureContext> => {
    const {data = {}} = ((await client.get(kinds.SECRET, keyOf(host))) ?? {}) as {data?: Record<string, string>};
    const [cert, key] = ['tls.crt', 'tls.key'].map(file => Buffer.from(data[file] ?? '', 'base64'));
    return createSecureContext({cert, key});
  };
  const redirect = (host: string): string => {
    const {namespace, name} = keyOf(host);
    const to = history.get(kinds.INGRESS, `${namespace}/${name}`)?.metadata.annotations?.[ANNOTATION.redirectTo];
    const {status = DEFAULT_REDIRECT_STATUS} = history.get(kinds.DOMAIN, `${namespace}/${host}`)?.spec.redirect ?? {};
    return `HTTP/1.1 ${status} Elsewhere\r\nLocation: https://${to}/\r\nContent-Length: 0\r\n\r\n`;
  };
  const server = createServer({
    SNICallback: (host, done) => {
      // Counted before the connection is secure, because the prober closes it as soon as it has the certificate.
      visits.set(host, (visits.get(host) ?? 0) + 1);
      contextOf(host).then(context => done(null, context), done);
    },
  });
  server.on('tlsClientError', () => undefined);
  server.on('connection', socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('secureConnection', socket => {
    socket.on('error', () => undefined).once('data', () => socket.end(redirect(String(socket.servername))));
  });
  await new Promise<void>(resolve => server.listen(0, host, resolve));
  return {
    address: formatEndpoint({address: host, port: (server.address() as AddressInfo).port}),
    visits: host => visits.get(host) ?? 0,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
}
