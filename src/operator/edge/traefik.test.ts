import {expect, test} from 'vitest';
import {ON_GATEWAY, ROUTE as route} from '../../../test/support/edge.ts';
import {withoutNulls} from '../../runtime/apply/merge-patch.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import type {HostRoute} from '../kinds/edge-provider.ts';
import {INGRESS, type Ingress, SERVICE} from '../kinds/kinds.ts';
import {MIDDLEWARE, type Middleware, traefik} from './traefik.ts';

const edge = traefik({...ON_GATEWAY, provider: 'traefik', ingressClassName: 'edge'});

const NO_PLATFORM = {get: () => undefined, list: () => []};

/** As the API server stores them. */
function objectsOf(of: HostRoute): KubeObject[] {
  return edge.build(of).map(({intent}) => withoutNulls(intent) as KubeObject);
}

/** Where Traefik redirects a request, computed like Go's ReplaceAllString; undefined if the request passes. */
function redirected(of: HostRoute, url: string): {to: string; permanent: boolean} | undefined {
  const built = edge.build(of).find(({resource}) => resource === MIDDLEWARE)?.intent as Middleware;
  const {regex, replacement, permanent} = built.spec.redirectRegex;
  const pattern = new RegExp(regex);
  if (!pattern.test(url)) return undefined;
  return {to: url.replace(pattern, replacement.replaceAll(/\$\{(\d)\}/g, '$$$1')), permanent};
}

test.each([
  ['http://a.test/x?y=1', 'https://b.test/x?y=1'],
  ['https://a.test/x?y=1', 'https://b.test/x?y=1'],
  ['https://a.test/https://evil.test/', 'https://b.test/https://evil.test/'],
  ['https://a.test/$1', 'https://b.test/$1'],
  ['http://a.test/x/y?z=1&w=%2F', 'https://b.test/x/y?z=1&w=%2F'],
  ['http://a.test:8000//evil.test/x', 'https://b.test//evil.test/x'],
  ['http://evil.test@a.test/', 'https://b.test/'],
])('a redirect answers %s with %s, in one hop', (url, to) => {
  expect(redirected({...route, redirect: {to: 'b.test', status: 301}}, url)).toEqual({to, permanent: true});
  expect(redirected({...route, redirect: {to: 'b.test', status: 302}}, url)).toEqual({to, permanent: false});
});

const redirecting: HostRoute = {...route, redirect: {to: 'b.test', status: 301}};
const ROUTER = 'traefik.ingress.kubernetes.io/router';

function ingressesOf(of: HostRoute) {
  const found = edge.build(of).filter(({resource}) => resource === INGRESS);
  return found.map(({intent}) => {
    const {metadata, spec} = intent as Ingress;
    return {
      name: metadata.name,
      entryPoint: metadata.annotations?.[`${ROUTER}.entrypoints`],
      priority: metadata.annotations?.[`${ROUTER}.priority`],
      middlewares: metadata.annotations?.[`${ROUTER}.middlewares`],
      secret: spec.tls?.[0]?.secretName,
      rules: spec.rules,
    };
  });
}

const rules = [
  {
    host: 'a.test',
    http: {paths: [{path: '/', pathType: 'Prefix', backend: {service: {name: 'np-b', port: {number: 80}}}}]},
  },
];

test('a host that serves has its Service and one Ingress, because the platform redirects all hosts to HTTPS', () => {
  const [service, ...others] = edge.build(route);
  expect(service?.resource).toBe(SERVICE);
  expect(service?.intent).toMatchObject({
    metadata: {name: 'np-b'},
    spec: {clusterIP: 'None', selector: {app: 'shop'}, ports: [{name: 'http', port: 80, targetPort: 8080}]},
  });
  expect(others).toHaveLength(1);
  // Null removes the Middleware of a redirect that it was.
  expect(ingressesOf(route)).toEqual([
    {name: 'np-a', entryPoint: 'websecure', priority: undefined, middlewares: null, secret: 'np-a', rules},
  ]);
});

test('a redirect has one Ingress for each entry point, after the Middleware that both name', () => {
  const kinds = edge.build(redirecting).map(({resource}) => resource);
  expect(kinds).toEqual([SERVICE, MIDDLEWARE, INGRESS, INGRESS]);
  const middlewares = 'acme-np-a-https@kubernetescrd';
  expect(ingressesOf(redirecting)).toEqual([
    {name: 'np-a', entryPoint: 'websecure', priority: undefined, middlewares, secret: 'np-a', rules},
    {name: 'np-a-http', entryPoint: 'web', priority: '2', middlewares, secret: undefined, rules},
  ]);
});

test('the Ingresses of a redirect refer to its Middleware, and nothing else does', () => {
  const refersTo = (of: HostRoute) => edge.build(of).map(({intent}) => edge.refersTo?.(intent as KubeObject));
  const middleware = ['Middleware/np-a-https'];
  expect(refersTo(redirecting)).toEqual([[], [], middleware, middleware]);
  expect(objectsOf(route).map(object => edge.refersTo?.(object))).toEqual([[], []]);
});

test('an emptied Ingress has no path, no certificate, and no default backend, and is not changed again', () => {
  const [service, , ...ingresses] = edge.build(redirecting).map(({intent}) => intent);
  expect(service && edge.emptied(service)).toBeUndefined();
  for (const ingress of ingresses as Ingress[]) {
    const patch = edge.emptied(ingress);
    expect(patch).toEqual({spec: {rules: [{host: 'a.test'}], tls: null, defaultBackend: null}});
    const {ingressClassName} = ingress.spec;
    const emptied: Ingress = {...ingress, spec: {ingressClassName, rules: [{host: 'a.test'}]}};
    expect(edge.emptied(emptied)).toBeUndefined();
    for (const rest of [{tls: [{hosts: ['a.test']}]}, {defaultBackend: {service: {name: 'np-a'}}}]) {
      expect(edge.emptied({...emptied, ...{spec: {...emptied.spec, ...rest}}})).toEqual(patch);
    }
  }
});

test('an Ingress whose rules somebody has replaced with a default backend is emptied, too', () => {
  const ingress = edge.build(route).find(({intent}) => intent.kind === 'Ingress')?.intent as KubeObject;
  const edited = {...ingress, spec: {ingressClassName: 'traefik', defaultBackend: {service: {name: 'np-a'}}}};
  const patch = edge.emptied(edited);
  expect(patch).toEqual({spec: {rules: [{host: 'nothing.invalid'}], tls: null, defaultBackend: null}});
  expect(edge.serves('np-a', [edited])).toBe(true);
});

test('what is emptied serves nothing', () => {
  const objects = objectsOf(route);
  expect(edge.serves('np-a', objects)).toBe(true);
  expect(
    edge.serves(
      'np-a',
      objects.map(object => ({...object, ...edge.emptied(object)})),
    ),
  ).toBe(false);
});

test.each([
  {of: route, missing: 'Ingress/np-a', want: false},
  {of: redirecting, missing: 'Ingress/np-a', want: false},
  {of: redirecting, missing: 'Middleware/np-a-https', want: false},
  {of: redirecting, missing: 'Ingress/np-a-http', want: true},
])('without $missing, the route serves the host over HTTPS: $want', ({of, missing, want}) => {
  const objects = objectsOf(of);
  expect(edge.serves('np-a', objects)).toBe(true);
  const left = objects.filter(({kind, metadata}) => `${kind}/${metadata.name}` !== missing);
  expect(left).toHaveLength(objects.length - 1);
  expect(edge.serves('np-a', left)).toBe(want);
});

test('for a status that Traefik cannot respond with, the message names the one to use', () => {
  expect(edge.unsupportedStatus(301, NO_PLATFORM)).toBeUndefined();
  expect(edge.unsupportedStatus(302, NO_PLATFORM)).toBeUndefined();
  expect(edge.unsupportedStatus(308, NO_PLATFORM)).toContain('Use 301');
  expect(edge.unsupportedStatus(307, NO_PLATFORM)).toContain('Use 302');
});

// attack: wildcard-over-host
test('a wildcard has the lowest priority: otherwise its rule, which is longer, would take the hosts of others', () => {
  const wildcard = {...route, host: '*.example.com', tlsSecret: 'np-b'};
  expect(ingressesOf(wildcard)).toMatchObject([
    {entryPoint: 'websecure', priority: '1', rules: [{host: '*.example.com'}]},
  ]);
  expect(ingressesOf(route)[0]?.priority, 'any other host: the length of its rule').toBeUndefined();
});
