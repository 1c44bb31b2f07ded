import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {ROUTE as route} from '../../../test/support/edge.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import type {KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import type {PlatformReader} from '../kinds/edge-provider.ts';
import {INGRESS, SERVICE} from '../kinds/kinds.ts';
import {gateway} from './gateway.ts';
import {HTTP_ROUTE, LISTENER_SET} from './gateway-kinds.ts';
import {moving} from './moving.ts';
import {MIDDLEWARE, traefik} from './traefik.ts';

const {routing} = operatorConfig(`
routing:
  provider: gateway
  movingFrom: traefik
  gateway: {namespace: edge, name: platform, supportedFeatures: [HTTPRoute308RedirectStatusCode]}
`);
const former = traefik(routing);
const next = gateway(routing, 'challenges.edge.test');
const both = moving(next, former, {...routing, edgeAddresses: ['192.0.2.20']});
/** The platform has not changed its records. */
const beforeTheChange = moving(next, former, routing);

function platformWith(...kinds: string[]): PlatformReader {
  const object = {spec: {gatewayClassName: 'edge', controllerName: 'example.com/edge'}};
  return {get: ({kind}: ResourceType<never>) => (kinds.includes(kind) ? object : undefined) as never, list: () => []};
}

const platform = platformWith('Gateway', 'GatewayClass', 'IngressClass');

test('a route has the objects of both edges, and one Service', () => {
  const kinds = both.build(route).map(({resource}) => resource);
  expect(kinds).toEqual([SERVICE, INGRESS, HTTP_ROUTE, LISTENER_SET]);
  expect(new Set(both.resources)).toEqual(new Set([...kinds, MIDDLEWARE]));
});

test('a redirect has the Service that only an Ingress needs', () => {
  const kinds = both.build({...route, redirect: {to: 'b.test', status: 301}}).map(({resource}) => resource);
  expect(kinds.filter(kind => kind === SERVICE)).toHaveLength(1);
});

test('a wildcard needs both edges to support it, and the policy of the Gateway', () => {
  const wildcard = {...route, host: '*.a.test'};
  expect(both.unsupportedWildcard(platform)).toContain('config.routing.gateway.clientTrafficPolicy');
  const withPolicy = gateway({...routing, gateway: {...routing.gateway, clientTrafficPolicy: 'traffic'}}, 'c.test');
  const either = moving(withPolicy, former, routing);
  const found = platformWith('ClientTrafficPolicy');
  expect(either.unsupportedWildcard(platform)).toContain('ClientTrafficPolicy edge/traffic');
  expect(either.unsupportedWildcard(found)).toBeUndefined();
  expect(either.prepare?.(wildcard, found).map(({resource}) => resource.kind)).toEqual(['ClientTrafficPolicy']);
  expect(either.build(wildcard).map(({resource}) => resource)).toEqual([SERVICE, INGRESS, HTTP_ROUTE, LISTENER_SET]);
});

test('the edge that visitors use must serve the host', () => {
  const [onFormer, onNext] = [former, next].map(edge => edge.build(route).map(({intent}) => intent as KubeObject));
  expect([onFormer, onNext].map((objects = []) => beforeTheChange.serves('np-a', objects))).toEqual([true, false]);
  expect([onFormer, onNext].map((objects = []) => both.serves('np-a', objects))).toEqual([false, true]);
});

test('the objects of both can be emptied, and both send requests to the Service', () => {
  const objects = both.build(route).map(({intent}) => intent as KubeObject);
  const kindsOf = (found: readonly KubeObject[]) => new Set(found.map(({kind}) => kind));
  expect(kindsOf(objects.filter(both.emptied))).toEqual(new Set(['Ingress', 'HTTPRoute', 'ListenerSet']));
  expect(kindsOf(objects.filter(object => both.backends(object).length > 0))).toEqual(
    new Set(['Ingress', 'HTTPRoute']),
  );
});

test('once the platform has named the new addresses, only a verdict of the next edge makes a host live', () => {
  const objects = both.build(route).map(({intent}) => intent as KubeObject);
  expect(both.verdict(objects, platform).kind).toBe('pending');
});

test('until then, a host that the former edge serves is live, and the verdict names what the next one lacks', () => {
  const objects = beforeTheChange.build(route).map(({intent}) => intent as KubeObject);
  const note = ' The next edge does not serve the host yet, because it has not accepted ListenerSet np-a.';
  expect(beforeTheChange.verdict(objects, platform)).toEqual({kind: 'accepted', note});
  const onNext = next.build(route).map(({intent}) => intent as KubeObject);
  expect(beforeTheChange.verdict(onNext, platform).kind).toBe('pending');
  const page = readFileSync(join(import.meta.dirname, '../../../docs/edges.md'), 'utf8');
  const [, searched] = /contains\("(.+?)"\)/.exec(page) ?? [];
  expect(note, 'the command in docs/edges.md finds it').toContain(searched);
});

test('the edge that visitors use is probed', () => {
  const reader = {get: () => ({spec: {}, status: {addresses: [{value: '192.0.2.20'}]}})} as unknown as PlatformReader;
  expect(both.addresses?.(reader)).toEqual(['192.0.2.20']);
  expect(beforeTheChange.addresses?.(reader)).toEqual([]);
  expect(beforeTheChange.provesRoutes?.(reader)).toBe(false);
});

test('both edges must be there, and be able to serve a redirect exactly', () => {
  expect(both.problem(platform)).toBeUndefined();
  expect(both.problem(platformWith('IngressClass'))?.reason).toBe('GatewayNotFound');
  expect(both.problem(platformWith('Gateway', 'GatewayClass'))?.reason).toBe('IngressClassNotFound');
  expect(both.unsupportedStatus(301, platform)).toBeUndefined();
  expect(both.unsupportedStatus(303, platform)).toContain('Gateway');
  expect(both.unsupportedStatus(308, platform)).toContain('Traefik');
});
