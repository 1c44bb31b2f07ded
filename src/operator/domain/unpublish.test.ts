/** Which routes the holder of a host removes in other namespaces. Without an API server. */

import {beforeEach, expect, test} from 'vitest';
import {apiOf, domainView, memoryOperator} from '../../../test/support/memory-operator.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import {ApiError, classifyFailure} from '../../runtime/kube/errors.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../runtime/kube/object.ts';
import {BehindError} from '../caches/fresh.ts';
import {traefik} from '../edge/traefik.ts';
import {routeName} from '../kinds/derived-names.ts';
import {dropOtherRoutes} from './unpublish.ts';

const HOST = 'shop.example.com';
const config = operatorConfig();
const edge = traefik(config.routing);

let put: (object: KubeObject) => void;
let deleted: string[];
let refusal: Error | undefined;
/** The spec of the claim at the API server. */
let claim: object | undefined;
let drop: () => Promise<unknown>;

beforeEach(() => {
  const memory = memoryOperator({config, edge});
  const {operator} = memory;
  put = memory.put;
  deleted = [];
  refusal = undefined;
  claim = {namespace: 'holder'};
  const client = {
    get: async () => claim && {spec: claim},
    delete: async ({kind}: ResourceType, key: {namespace: string; name: string}) => {
      if (refusal) throw refusal;
      deleted.push(`${kind} ${key.namespace}/${key.name}`);
    },
  };
  const context = {...operator, ...apiOf(client)};
  drop = () => dropOtherRoutes(context, domainView({host: HOST, namespace: 'holder'}));
});

/** The objects of a route, except its Service, which other hosts may use. */
function routeOf(namespace: string, host = HOST, project?: string): KubeObject[] {
  const name = routeName(namespace, host);
  const owner = {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', name: host, uid: host};
  const backend = {name: 'np-b', project: 'shop', selector: {app: 'shop'}, port: {port: 80}};
  const redirect = {to: 'target.example.com', status: 301 as const}; // so that it has all kinds of objects
  const route = {
    namespace,
    name,
    host,
    tlsSecret: name,
    backend,
    owner,
    redirect,
    ...(project !== undefined && {project}),
  };
  const built = edge.build(route).filter(({resource}) => resource.kind !== 'Service');
  return built.map(({intent}) => ({...intent, metadata: {...intent.metadata, uid: keyOf(intent)}}) as KubeObject);
}

const former = `former/${routeName('former', HOST)}`;

test('the holder removes the route of a former one: first what matches requests, and never its own', async () => {
  for (const object of [...routeOf('holder'), ...routeOf('former')]) put(object);
  expect(await drop()).toBeUndefined();
  expect(deleted).toEqual([`Ingress ${former}`, `Ingress ${former}-http`, `Middleware ${former}-https`]);
});

test.each<{what: string; given: object | undefined}>([
  {what: 'another namespace has it', given: {namespace: 'former'}},
  {what: 'it was released', given: {namespace: 'holder', releasedAt: '2026-11-27T00:00:00Z'}},
  {what: 'it was deleted', given: undefined},
])('if $what at the API server, the cache is behind, and nothing is removed', async ({given}) => {
  for (const object of routeOf('former')) put(object);
  claim = given;
  await expect(drop()).rejects.toThrow(BehindError);
  expect(deleted).toEqual([]);
});

// promise: dns-owner
test('what only looks like a route of the host stays', async () => {
  const [ingress] = routeOf('other', 'another.example.com').filter(({kind}) => kind === 'Ingress');
  if (!ingress) throw new Error('a route has an Ingress');
  const {metadata} = ingress;
  put({...ingress, metadata: {...metadata, annotations: {[ANNOTATION.host]: HOST}}});
  put({...ingress, metadata: {...metadata, name: 'mine', labels: {[LABEL.host]: HOST}}});
  for (const object of routeOf('platform', HOST, 'shop')) put(object); // that of a default host
  expect(await drop()).toBeUndefined();
  expect(deleted).toEqual([]);
});

test('a route that a finalizer keeps, but that matches no request, is left to its owner', async () => {
  for (const object of routeOf('former')) put({...object, ...edge.emptied(object)} as KubeObject);
  claim = undefined; // not even asked
  expect(await drop()).toBeUndefined();
});

test('a refusal is the failure of the step, for the log; no other error names the former holder', async () => {
  for (const object of routeOf('former')) put(object);
  refusal = new ApiError('DELETE', 403, {message: 'not in namespace former'});
  expect(await drop()).toMatchObject({condition: {reason: 'Refused'}, failure: refusal});
  refusal = new ApiError('DELETE', 503, {message: 'not in namespace former'});
  const outage = await drop().catch((error: unknown) => error);
  expect(classifyFailure(outage)).toBe('outage');
  expect((outage as Error).message).not.toContain('namespace former');
  refusal = new TypeError('a mistake');
  await expect(drop()).rejects.toBe(refusal);
});
