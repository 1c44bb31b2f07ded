/** What a Service says about its protocol reaches its pods. On either edge. */
import {readFile} from 'node:fs/promises';
import {connect as connectHttp2} from 'node:http2';
import {request as requestHttps} from 'node:https';
import {expect, it} from 'vitest';
import {SERVICE} from '../../src/operator/kinds/kinds.ts';
import {runningService} from '../support/workload.ts';
import {admin, cluster, newClusterTenant, visitor} from './world.ts';

const ca = () => readFile(cluster.info.roots, 'utf8');

/** The body of a response by HTTP/2, and what its trailers say. */
async function byHttp2(host: string): Promise<{body: string; grpcStatus: unknown}> {
  const session = connectHttp2(`https://${host}`, {
    ca: await ca(),
    servername: host,
    lookup: (_name, _options, found) => found(null, [{address: cluster.info.ingress.address, family: 4}]),
  });
  try {
    const {promise, resolve, reject} = Promise.withResolvers<{body: string; grpcStatus: unknown}>();
    session.once('error', reject);
    const stream = session.request({':path': '/', te: 'trailers'}).setEncoding('utf8');
    let body = '';
    let grpcStatus: unknown;
    stream.on('data', (text: string) => {
      body += text;
    });
    stream.once('trailers', trailers => {
      grpcStatus = trailers['grpc-status'];
    });
    stream.once('error', reject).once('end', () => resolve({body, grpcStatus}));
    return await promise;
  } finally {
    session.destroy();
  }
}

/** Sends a text in a WebSocket, and returns the one that comes back. RFC 6455. */
async function byWebSocket(host: string, text: string): Promise<string> {
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const request = requestHttps({
    host: cluster.info.ingress.address,
    servername: host,
    ca: await ca(),
    headers: {
      host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  });
  request.once('error', reject);
  request.once('response', ({statusCode}) => reject(new Error(`not upgraded, but ${statusCode}`)));
  request.once('upgrade', ({headers}, socket, first) => {
    expect(headers['sec-websocket-accept']).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    const received: Buffer[] = [first];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.once('error', reject).once('close', () => resolve(Buffer.concat(received).subarray(2).toString()));
    // Masked with zeros.
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]));
  });
  request.end();
  return await promise;
}

export function protocols(): void {
  it('speaks HTTP/2 without TLS to pods whose Service says so, with trailers as gRPC needs them, and WebSockets', async () => {
    const tenant = await newClusterTenant('protocols');
    const host = tenant.host('shop');
    const service = runningService(tenant.namespace, 'web');
    const [port] = service.spec.ports;
    await tenant.goLive({primary: host});
    expect((await visitor.request(`https://${host}/`)).body).toContain('proto=HTTP/1.1');
    expect(await byWebSocket(host, 'ping')).toBe('ping');
    const ports = [{...port, name: 'a-name-that-is-longer-than-fifteen-characters', appProtocol: 'kubernetes.io/h2c'}];
    await admin.patch(SERVICE, {namespace: tenant.namespace, name: 'web'}, {spec: {ports}});
    await tenant.applyProject({primary: host}, {port: ports[0]?.name ?? ''});
    await visitor.untilAnswer(`https://${host}/`, ({body}) => body.includes('proto=HTTP/2.0'));
    expect(await byHttp2(host)).toEqual({body: expect.stringContaining('proto=HTTP/2.0'), grpcStatus: '0'});
  });
}
