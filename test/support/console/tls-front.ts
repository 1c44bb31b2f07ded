/** Ends TLS in front of the console, as an edge does. */
import {once} from 'node:events';
import {request as send} from 'node:http';
import {createServer} from 'node:https';

export async function startTlsFront(options: {cert: Buffer; key: Buffer; port: number; target: () => number}) {
  const {cert, key, port, target} = options;
  const server = createServer({cert, key}, (request, response) => {
    const {method, url, headers} = request;
    const forwarded = send({host: '127.0.0.1', port: target(), method, path: url, headers}, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.once('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
