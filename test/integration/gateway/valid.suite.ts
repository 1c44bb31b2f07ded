/** The API server accepts each kind of route that the provider builds, with the CRDs of one version of Gateway API. */
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {ANNOTATION} from '../../../src/api/names.ts';
import {gateway} from '../../../src/operator/edge/gateway.ts';
import {backendName, routeName} from '../../../src/operator/kinds/derived-names.ts';
import type {HostRoute} from '../../../src/operator/kinds/edge-provider.ts';
import {NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import {includes, withHash} from '../../../src/runtime/apply/apply.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import {objectKey} from '../../../src/runtime/kube/object.ts';
import type {ApiServer} from '../../cluster/apiserver.ts';
import {ON_GATEWAY} from '../../support/edge.ts';

export const edge = gateway(ON_GATEWAY, 'challenges.edge.test');

export function clientOf({kubeconfig}: ApiServer): KubeClient {
  const logger = pino({level: 'silent'});
  const [userAgent, fieldManager] = ['nameplate-test', 'test'];
  return createKubeClient({kubeconfig, userAgent, fieldManager, logger, registry: new Registry()});
}

export async function routeIn(
  client: KubeClient,
  namespace: string,
  host: string,
  changes: Partial<HostRoute> = {},
): Promise<HostRoute> {
  const object = {apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}};
  const {uid = ''} = (await client.apply(NAMESPACE, object)).metadata;
  const name = routeName(namespace, host);
  return {
    ...{namespace, name, host, tlsSecret: name},
    backend: {
      name: backendName(namespace, 'shop', {port: 80}),
      project: 'shop',
      selector: {app: 'shop'},
      port: {name: 'http', port: 80, targetPort: 8080},
    },
    owner: {apiVersion: 'v1', kind: 'Namespace', name: namespace, uid},
    ...changes,
  };
}

const longest = `${'a.'.repeat(90)}example.com`;

export function validObjects(clientNow: () => KubeClient): void {
  test.each<{what: string; host: string; changes?: Partial<HostRoute>}>([
    {what: 'a host that serves', host: 'serves.example.com'},
    {what: 'a host that proves its route', host: 'proves.example.com', changes: {proof: 'a'.repeat(32)}},
    {what: 'the longest host', host: longest},
    {what: 'a wildcard', host: '*.wild.example.com'},
    {what: 'a wildcard that proves its route', host: `*.${longest}`, changes: {proof: 'a'.repeat(32)}},
    ...([301, 302, 303, 307, 308] as const).map(status => ({
      what: `a redirect with ${status}`,
      host: `redirects-${status}.example.com`,
      changes: {redirect: {to: longest, status}},
    })),
  ])('$what is valid, is not applied again, and can be emptied', async ({host, changes = {}}) => {
    const client = clientNow();
    const route = await routeIn(client, 'valid', host, changes);
    for (const {resource, intent} of edge.build(route)) {
      const wanted = withHash(resource, intent, ANNOTATION.appliedHash);
      const stored = await client.apply(resource, wanted);
      expect(includes(stored, wanted)).toBe(true);
      const patch = edge.emptied(stored);
      if (!patch) continue;
      expect(edge.emptied(await client.patch(resource, objectKey(stored), patch))).toBeUndefined();
    }
  });

  test('a default host on the shared listener is valid', async () => {
    const client = clientNow();
    const {tlsSecret: _, ...route} = await routeIn(client, 'shared', 'shop.apps.example.net', {project: 'shop'});
    for (const {resource, intent} of edge.build(route)) expect(await client.apply(resource, intent)).toBeDefined();
  });
}
