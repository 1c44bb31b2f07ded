/**
 * A real Traefik with what the chart and the operator write for port 80, and the real responder behind it. No cluster:
 * the endpoints are processes on this machine.
 */
import {once} from 'node:events';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer, type Server} from 'node:http';
import {connect as connectHttp2} from 'node:http2';
import {type AddressInfo, connect} from 'node:net';
import {networkInterfaces, tmpdir} from 'node:os';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {traefik} from '../../../src/operator/edge/traefik.ts';
import type {HostRoute} from '../../../src/operator/kinds/edge-provider.ts';
import {withoutNulls} from '../../../src/runtime/apply/merge-patch.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {type Child, failOnExit, startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {CHALLENGES, REFLECTING_PATHS} from '../../support/challenge-paths.ts';
import {ON_GATEWAY} from '../../support/edge.ts';
import {renderTemplates} from '../../support/helm-template.ts';
import {RELEASE} from '../../support/install.ts';
import {type Responder, startResponder} from '../challenges/responder.ts';

const THUMBPRINT = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE';
const [SERVING, REDIRECTING, MESSAGES, UNKNOWN] = ['shop.test', 'old.test', 'api.example.test', 'unknown.test'];
const [WILDCARD, SPECIFIC, BELOW] = ['*.wild.test', 'a.wild.test', 'b.wild.test'];

let server: ApiServer;
let edge: Child;
let responder: Responder;
let others: Server;
/** The pods of the host below the wildcard. */
let own: Server;
let folder: string;
let ports: readonly number[];

/** The API server accepts no loopback address for an endpoint. */
function ownAddress(): string {
  const found = Object.values(networkInterfaces()).flatMap(each => each ?? []);
  const address = found.find(({family, internal}) => family === 'IPv4' && !internal)?.address;
  if (address === undefined) throw new Error('this machine has only loopback addresses');
  return address;
}

function portOf(listening: Server): number {
  return (listening.address() as AddressInfo).port;
}

/** Requests each authority on one HTTP/2 connection, as a browser does if a certificate covers both. */
async function overHttp2(serverName: string, authorities: readonly string[]): Promise<string[]> {
  const session = connectHttp2(`https://127.0.0.1:${ports[1]}`, {servername: serverName, rejectUnauthorized: false});
  session.on('error', () => undefined); // each request reports it
  const answers: string[] = [];
  for (const authority of authorities) {
    const request = session.request({':authority': authority, ':path': '/'});
    const status = once(request, 'response').then(([headers]) => headers[':status']);
    answers.push(`${await status} ${(await text(request)).trim()}`);
  }
  session.close();
  return answers;
}

/** The Service's endpoints, as Kubernetes would keep them for its pods. */
function endpoints(namespace: string, service: string, name: string, port: number): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {name: service, namespace, labels: {'kubernetes.io/service-name': service}},
    addressType: 'IPv4',
    ports: [{name, port, protocol: 'TCP'}],
    endpoints: [{addresses: [ownAddress()], conditions: {ready: true}}],
  };
}

/** A host of another tenant, with pods of its own. */
function ownRouteOf(host: string): HostRoute {
  const route = routeOf(host);
  return {...route, namespace: 'other', backend: {...route.backend, name: 'np-own'}};
}

function routeOf(host: string, redirect?: HostRoute['redirect']): HostRoute {
  return {
    namespace: 'tenant',
    name: `np-${host.replaceAll(/[.*]/g, '-')}`,
    host,
    backend: {name: 'np-shop', project: 'shop', selector: {app: 'shop'}, port: {name: 'http', port: 80}},
    owner: {apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'e5e5b1b4-3f4e-4c64-8f0e-0d2b8f2f3c11'},
    ...(redirect && {redirect}),
  };
}

/** As cert-manager writes it for a challenge in progress. */
function solver(host: string, token: string): object {
  const backend = {service: {name: 'solver', port: {number: 8089}}};
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {name: `solver-${host.replaceAll('.', '-')}`, namespace: 'platform'},
    spec: {
      ingressClassName: 'traefik',
      rules: [{host, http: {paths: [{path: `${CHALLENGES}${token}`, pathType: 'ImplementationSpecific', backend}]}}],
    },
  };
}

async function applyAll(objects: readonly object[]): Promise<void> {
  await server.apply(objects.map(object => JSON.stringify(object)).join('\n---\n'));
}

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

/** Sends the path as it is, without anything that would normalize it. */
async function get(host: string, path: string, {method = 'GET', port = ports[0] ?? 0} = {}): Promise<Answer> {
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const socket = connect({host: '127.0.0.1', port, timeout: 10_000});
  let received = '';
  socket.on('data', chunk => {
    received += chunk.toString('latin1');
  });
  socket.once('error', reject).once('close', () => resolve(received));
  socket.once('timeout', () => socket.destroy(new Error('no answer in time')));
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer key\r\nconnection: close\r\n\r\n`);
  const text = await promise;
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const location = /^location: (.*)$/im.exec(head)?.[1];
  return {status: Number(head.slice(9, 12)), location, body: rest.join('\r\n\r\n')};
}

beforeAll(async () => {
  const programs = await ensurePrograms([HELM, 'traefik', 'kube']);
  folder = await mkdtemp(join(tmpdir(), 'nameplate-traefik-'));
  [server, responder, ports] = await Promise.all([
    startApiServer({crds: [programs.asset('traefik-crds.yml')]}),
    startResponder(THUMBPRINT),
    freePorts(2),
  ]);
  others = createServer((request, response) => response.end(`${request.headers.host} ${request.url}`)).listen(0);
  const ofOthers = portOf(others);
  own = createServer((_, response) => response.end('own')).listen(0);
  for (const namespace of [RELEASE.namespace, 'tenant', 'other', 'platform']) {
    await server.kubectl('create', 'namespace', namespace);
  }
  const values = [
    '--set',
    'config.platform.baseDomain=apps.test,config.platform.targetDomain=edge.test,config.certificates.issuerRef.name=i',
    '--set',
    `challenges.enabled=true,networkPolicy.enabled=false,messages.enabled=true,messages.host=${MESSAGES}`,
  ];
  const written = await renderTemplates(programs.path('helm'), ['edge-http', 'challenges'], values);
  await server.apply(written);
  const routing = {...ON_GATEWAY, provider: 'traefik', ingressClassName: 'traefik'} as const;
  const routes = [
    routeOf(SERVING),
    routeOf(REDIRECTING, {to: SERVING, status: 301}),
    routeOf(WILDCARD),
    ownRouteOf(SPECIFIC),
  ];
  // Without their owner, which does not exist here: the garbage collector would delete them.
  const built = routes
    .flatMap(route => traefik(routing).build(route))
    .map(({intent}) => withoutNulls({...intent, metadata: {...intent.metadata, ownerReferences: []}}));
  await applyAll([
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: {name: 'traefik'},
      spec: {controller: 'traefik.io/ingress-controller'},
    },
    ...built,
    endpoints(RELEASE.namespace, 'nameplate-challenges', 'http', responder.port),
    endpoints('tenant', 'np-shop', 'http', ofOthers),
    endpoints('other', 'np-own', 'http', portOf(own)),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name: 'solver', namespace: 'platform'},
      spec: {ports: [{name: 'http', port: 8089}]},
    },
    endpoints('platform', 'solver', 'http', ofOthers),
    ...[SERVING, REDIRECTING, UNKNOWN].map(host => solver(host, 'of-cert-manager')),
  ]);
  const argv = [
    programs.path('traefik'),
    `--entrypoints.web.address=127.0.0.1:${ports[0]}`,
    `--entrypoints.websecure.address=127.0.0.1:${ports[1]}`,
    '--providers.kubernetesingress',
    '--providers.kubernetescrd',
    '--providers.providersthrottleduration=100ms',
    '--global.checknewversion=false',
    '--global.sendanonymoususage=false',
  ];
  const log = join(folder, 'log');
  edge = startChild('traefik', argv, {log, env: {...process.env, KUBECONFIG: server.kubeconfig}});
  const isReady = async () => (await get(REDIRECTING, '/')).location === `https://${SERVING}/`;
  const ready = until('Traefik has the routes', isReady);
  await Promise.race([ready, failOnExit(edge, log)]);
});
afterAll(async () => {
  await edge?.stop();
  await Promise.all([responder?.stop(), server?.stop()]);
  others?.close();
  own?.close();
  if (folder) await rm(folder, {recursive: true});
});

test.each([SERVING, REDIRECTING, UNKNOWN, MESSAGES, SPECIFIC, BELOW])('a challenge for %s is answered', async host => {
  expect(await get(host, `${CHALLENGES}token`)).toEqual({
    status: 200,
    location: undefined,
    body: `token.${THUMBPRINT}`,
  });
});

test.each([SERVING, REDIRECTING, UNKNOWN])(
  "cert-manager's solver for %s comes first, for its token alone",
  async host => {
    expect(await get(host, `${CHALLENGES}of-cert-manager`)).toMatchObject({
      status: 200,
      body: `${host} ${CHALLENGES}of-cert-manager`,
    });
    expect(await get(host, `${CHALLENGES}another`)).toMatchObject({body: `another.${THUMBPRINT}`});
  },
);

describe('everything else', () => {
  test.each([SERVING, UNKNOWN])('of %s is redirected to HTTPS once, with its path and query', async host => {
    for (const path of ['/', '/a/b?c=d&e=%2F', '/.well-known/acme-challenge', '/.well-known/x']) {
      expect(await get(host, path)).toMatchObject({status: 301, location: `https://${host}${path}`});
    }
    expect(await get(host, '/x', {method: 'POST'})).toMatchObject({status: 308, location: `https://${host}/x`});
  });

  test('of a host that redirects takes one hop', async () => {
    expect(await get(REDIRECTING, '/a?b=c')).toMatchObject({status: 301, location: `https://${SERVING}/a?b=c`});
  });

  // attack: challenge-responder
  test('of the messages API is refused, because a key must not be sent in clear text', async () => {
    for (const path of ['/', '/messages', '/.well-known/acme-challenge', `${CHALLENGES.toUpperCase()}x`]) {
      expect(await get(MESSAGES, path)).toMatchObject({status: 403, location: undefined});
    }
  });
});

// attack: wildcard-over-host
test('a wildcard serves each name one label below, except for the hosts of others, on any connection', async () => {
  const names = [
    BELOW,
    SPECIFIC,
    SPECIFIC.toUpperCase(),
    `${SPECIFIC}:443`,
    `x.${BELOW}`,
    'wild.test',
    'wc--any.wild.test',
  ];
  const want = [`200 ${BELOW} /`, '200 own', '200 own', '200 own', '404 404 page not found', '404 404 page not found'];
  for (const connection of [BELOW, SPECIFIC]) {
    expect(await overHttp2(connection, names), connection).toEqual([...want, '200 wc--any.wild.test /']);
  }
});

// attack: challenge-responder
test.each(REFLECTING_PATHS.map(path => ({path})))('$path is not answered, and nothing of it runs', async ({path}) => {
  const {status, body} = await get(UNKNOWN, path);
  expect(status).not.toBe(200);
  expect(body).not.toContain('<script>REFLECTED');
  expect(body).not.toContain('<b>REFLECTED');
});

// attack: wildcard-over-host
test('once a host below a wildcard is removed, the holder of the wildcard answers for it', async () => {
  const {namespace, name} = ownRouteOf(SPECIFIC);
  await server.kubectl('delete', 'ingress', '-n', namespace, name);
  const isOfWildcard = async () => (await overHttp2(SPECIFIC, [SPECIFIC]))[0] === `200 ${SPECIFIC} /`;
  await until('the wildcard serves it', isOfWildcard);
});

test('while no responder is ready, challenges are not answered, and the messages API is still refused', async () => {
  const slice = ['endpointslice', 'nameplate-challenges', '-n', RELEASE.namespace];
  await server.kubectl('patch', ...slice, '--type=merge', '-p', '{"endpoints":[]}');
  await until('Traefik knows', async () => (await get(UNKNOWN, `${CHALLENGES}token`)).status !== 200);
  expect(await get(MESSAGES, '/messages')).toMatchObject({status: 403, location: undefined});
  expect(await get(UNKNOWN, '/')).toMatchObject({status: 301});
});
