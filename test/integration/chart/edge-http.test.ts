/** What the chart makes the edge do on port 80 for all hosts. The tests on the full cluster send requests. */
import {expect, test} from 'vitest';
import {enabled, objectsIn, type Rendered, useChart} from './chart-world.ts';

const {template} = useChart();
const OFF = ['--set', 'challenges.enabled=false'];
const GATEWAY = ['provider=gateway', 'gateway.namespace=edge', 'gateway.name=g'];
const onGateway = (...more: readonly string[]) => [
  '--set',
  [...GATEWAY, ...more].map(setting => `config.routing.${setting}`).join(),
];

interface Ingress extends Rendered {
  readonly spec: {
    readonly tls?: unknown;
    readonly rules: readonly {
      readonly host?: string;
      readonly http: {readonly paths: readonly {readonly path: string; readonly backend: object}[]};
    }[];
  };
}

const ROUTER = 'traefik.ingress.kubernetes.io/router';

/** The Ingresses that have a written priority, as entry point, host, path, and priority. */
function written(rendered: string): string[] {
  const ingresses = objectsIn(rendered).filter(({kind}) => kind === 'Ingress') as Ingress[];
  return ingresses.flatMap(({metadata: {annotations = {}}, spec}) => {
    const priority = annotations[`${ROUTER}.priority`];
    const [{host = '*', http} = {http: {paths: []}}] = spec.rules;
    const tls = annotations[`${ROUTER}.tls`] === 'true' ? ' tls' : '';
    const [path] = http.paths;
    return priority === undefined
      ? []
      : [`${annotations[`${ROUTER}.entrypoints`]}${tls} ${host}${path?.path} ${priority}`];
  });
}

const routes = (rendered: string) => objectsIn(rendered).filter(({kind}) => kind === 'HTTPRoute');

test('on Traefik, priorities are written: the redirect below the hosts, the hosts below challenges', async () => {
  expect(written(await template(...OFF))).toEqual(['web */ 1']);
  expect(written(await template(...enabled)).sort()).toEqual([
    'web */ 1',
    'web */.well-known/acme-challenge/ 3',
    'web api.example.test/ 2',
    'websecure tls */.well-known/acme-challenge/ 3',
  ]);
});

test('no route of a host names a Service whose endpoints come and go, except that of challenges', async () => {
  const objects = objectsIn(await template(...enabled));
  const ingresses = objects.filter(({kind, metadata}) => kind === 'Ingress' && metadata.annotations) as Ingress[];
  const backends = ingresses
    .filter(({metadata}) => metadata.annotations?.[`${ROUTER}.priority`] !== undefined)
    .map(({metadata, spec}) => `${metadata.name} ${JSON.stringify(spec.rules[0]?.http.paths[0]?.backend)}`);
  const to = (service: string, port = 'http') => JSON.stringify({service: {name: service, port: {name: port}}});
  expect(backends.sort()).toEqual([
    `nameplate-challenges ${to('nameplate-challenges')}`,
    `nameplate-challenges-https ${to('nameplate-challenges')}`,
    `nameplate-https ${to('nameplate-nowhere', 'nowhere')}`,
    `nameplate-messages-http ${to('nameplate-nowhere', 'nowhere')}`,
  ]);
  const nowhere = objects.find(({kind}) => kind === 'EndpointSlice');
  expect(nowhere).toMatchObject({
    metadata: {labels: {'kubernetes.io/service-name': 'nameplate-nowhere'}},
    endpoints: [{addresses: ['192.0.2.1'], conditions: {ready: true}}],
  });
});

test('the host of the messages API is refused on port 80 by a Middleware, not redirected', async () => {
  const objects = objectsIn(await template(...enabled));
  const route = objects.find(({metadata}) => metadata.name === 'nameplate-messages-http');
  const middlewares = objects.filter(({kind}) => kind === 'Middleware');
  expect(middlewares.map(({metadata, spec}) => [metadata.name, spec])).toEqual([
    ['nameplate-https', {redirectScheme: {scheme: 'https', permanent: true}}],
    ['nameplate-messages-http', {ipAllowList: {sourceRange: ['255.255.255.255/32']}}],
  ]);
  expect(objects.filter(({kind}) => kind === 'Ingress')).toContainEqual(
    expect.objectContaining({
      metadata: expect.objectContaining({
        annotations: expect.objectContaining({
          [`${ROUTER}.middlewares`]: 'nameplate-system-nameplate-messages-http@kubernetescrd',
        }),
      }),
    }),
  );
  expect(route).toBeDefined();
  // Another ingress controller serves it.
  expect(await template(...enabled, '--set', 'messages.ingress.className=nginx')).not.toContain('messages-http');
});

test('on a Gateway, one route without a host name has the challenges and the redirect', async () => {
  const parentRefs = [
    {group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'edge', name: 'g', sectionName: 'http'},
  ];
  const redirect = {filters: [{type: 'RequestRedirect', requestRedirect: {scheme: 'https', statusCode: 301}}]};
  const challenges = {
    matches: [{path: {type: 'PathPrefix', value: '/.well-known/acme-challenge/'}}],
    backendRefs: [{name: 'nameplate-challenges', port: 80}],
  };
  const off = await template(...onGateway(), ...OFF);
  expect(off).not.toMatch(/^kind: (Ingress|Middleware)$/m);
  expect(routes(off).map(({spec}) => spec)).toEqual([{parentRefs, rules: [redirect]}]);
  const on = routes(await template(...onGateway(), ...enabled));
  const named = (name: string) => on.find(({metadata}) => metadata.name === name)?.spec;
  expect(named('nameplate-https')).toEqual({parentRefs, rules: [challenges, redirect]});
  expect(named('nameplate-messages-http')).toEqual({
    parentRefs,
    hostnames: ['api.example.test'],
    rules: [{backendRefs: [{name: 'nameplate-challenges', port: 80}]}],
  });
});

test('while a platform moves from Traefik to a Gateway, both edges have them', async () => {
  const moving = await template(...onGateway('movingFrom=traefik'));
  expect(written(moving)).toHaveLength(3);
  expect(routes(moving)).toHaveLength(1);
});
