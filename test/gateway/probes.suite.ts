/** What probes see on a Gateway, with the default pauses: each fault, and only at the hosts that it affects. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {LISTENER_SET} from '../../src/operator/edge/gateway-kinds.ts';
import {routeName} from '../../src/operator/kinds/derived-names.ts';
import {PROBE_PATH} from '../../src/operator/kinds/edge-provider.ts';
import {SECRET} from '../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../src/runtime/kube/object.ts';
import {until} from '../cluster/wait.ts';
import {admin, cluster, newClusterTenant, visitor} from '../e2e/world.ts';
import type {ClusterTenant, ExpectedDomain} from '../support/cluster-tenant.ts';
import {leaderPod, RELEASE} from '../support/install.ts';
import {scale} from '../support/pods.ts';
import {selfSigned} from '../support/self-signed.ts';
import {kindOf} from '../support/workload.ts';

const CERT_MANAGER = {namespace: 'cert-manager', name: 'cert-manager'};
const PLATFORM = {namespace: 'gateway', name: 'platform'};
const ENVOY_PROXY: ResourceType = {
  ...kindOf('gateway.envoyproxy.io', 'EnvoyProxy', 'v1alpha1'),
  plural: 'envoyproxies',
};

/** HTTPRoutes of any form. The operator itself writes only a few forms. */
const HTTP_ROUTE = kindOf(LISTENER_SET.group, 'HTTPRoute');

let tenant: ClusterTenant;
let right: string;
/** The tenant whose pods answer 500. */
let failing: ClusterTenant;
const probed: ExpectedDomain = {state: 'Live', Probed: 'Answering'};

const secretOf = (host: string) => ({namespace: tenant.namespace, name: routeName(tenant.namespace, host)});

async function sees(host: string, fault: () => Promise<unknown>, expected: ExpectedDomain): Promise<void> {
  const startMs = performance.now();
  await fault();
  await tenant.sees(host, {state: 'Degraded', ...expected});
  tookSince(`${expected.Probed ?? expected.CertificateReady} of ${host}`, startMs);
}

/** The soak's final report needs the seconds. */
function tookSince(what: string, startMs: number): void {
  console.info(`${what}: seen after ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
}

export function probeFaults(): void {
  beforeAll(async () => {
    tenant = await newClusterTenant('probes');
    right = tenant.host('right');
    const aliases = ['bare', 'foreign', 'mistaken'].map(label => tenant.host(label));
    failing = await newClusterTenant('failing');
    const failingHost = failing.host('shop');
    await Promise.all([tenant.goLive({primary: right, aliases}), failing.goLive({primary: failingHost})]);
    await Promise.all([
      ...[right, ...aliases].map(host => tenant.sees(host, probed)),
      failing.sees(failingHost, probed),
    ]);
  });

  describe('while cert-manager is stopped, the pods of a project are gone, and those of another one fail', () => {
    const answering = () => [tenant.domain(right), failing.domain(failing.host('shop'))];
    let before: Awaited<ReturnType<ClusterTenant['domain']>>[];
    beforeAll(async () => {
      await scale(admin, CERT_MANAGER, 0); // it would issue the certificates again
      before = await Promise.all(answering());
      await scale(admin, {namespace: tenant.namespace, name: 'web'}, 0);
      await failing.deploy('web', 500);
      await visitor.untilAnswer(`https://${right}/`, ({status}) => status === 503);
      await visitor.untilAnswer(`https://${failing.host('shop')}/`, ({status}) => status === 500);
    });
    afterAll(async () => {
      await scale(admin, CERT_MANAGER, 1);
      await scale(admin, {namespace: tenant.namespace, name: 'web'}, 1);
    });

    test.concurrent('a deleted Secret', async () => {
      const host = tenant.host('bare');
      const fault = () => admin.delete(SECRET, secretOf(host));
      await sees(host, fault, {
        CertificateReady: 'Issuing',
        says: `Secret ${secretOf(host).name} was deleted, so the host has no certificate at the edge.`,
      });
    });

    test.concurrent('the certificate of another host', async () => {
      const host = tenant.host('foreign');
      const folder = await mkdtemp(join(tmpdir(), 'foreign-'));
      const {cert, key} = await selfSigned(folder, 'foreign', 'DNS:foreign.example.com').finally(() =>
        rm(folder, {recursive: true}),
      );
      const data = {'tls.crt': cert.toString('base64'), 'tls.key': key.toString('base64')};
      await sees(host, () => admin.patch(SECRET, secretOf(host), {data}), {
        Probed: 'WrongCertificate',
        says: `The edge presents a certificate for foreign.example.com (`,
      });
    });

    test.concurrent('the route of another host', async () => {
      const host = tenant.host('mistaken');
      const set = secretOf(host);
      const path = {type: 'ReplaceFullPath', replaceFullPath: `${PROBE_PATH}/theirs`};
      const route = {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: HTTP_ROUTE.kind,
        metadata: {namespace: set.namespace, name: 'theirs'},
        spec: {
          parentRefs: [{group: LISTENER_SET.group, kind: LISTENER_SET.kind, name: set.name}],
          hostnames: [host],
          rules: [
            {
              // More specific than the operator's own rule.
              matches: [{path: {type: 'Exact', value: PROBE_PATH}, method: 'GET'}],
              filters: [{type: 'RequestRedirect', requestRedirect: {path, statusCode: 302}}],
            },
          ],
        },
      };
      await sees(host, () => admin.apply(HTTP_ROUTE, route), {
        Probed: 'WrongRoute',
        says: `Another route answers requests for ${host} (${PROBE_PATH}: 302 to `,
      });
      await admin.delete(HTTP_ROUTE, {namespace: set.namespace, name: 'theirs'});
      await tenant.sees(host, probed);
    });

    // A fault is reported after 30 s, so each host was probed twice or more.
    test("no other host is affected: the project's own 500 or 503 is no fault, and its probes wrote nothing", async () => {
      expect((await visitor.request(`https://${right}/`)).status).toBe(503);
      expect((await visitor.request(`https://${failing.host('shop')}/`)).status).toBe(500);
      await Promise.all([tenant.sees(right, probed), failing.sees(failing.host('shop'), probed)]);
      expect(await Promise.all(answering())).toEqual(before);
    });
  });

  test('once cert-manager runs, all hosts recover', async () => {
    for (const label of ['bare', 'foreign', 'mistaken']) await tenant.sees(tenant.host(label), probed);
  });

  test('a stopped Envoy: the operator says so, and the hosts keep their state', async () => {
    const run = (replicas: number | null) =>
      admin.patch(ENVOY_PROXY, PLATFORM, {spec: {provider: {kubernetes: {envoyDeployment: {replicas}}}}});
    const readyz = `/api/v1/namespaces/${RELEASE.namespace}/pods/${await leaderPod(cluster)}:8080/proxy/readyz?verbose`;
    const says = async () => (await cluster.kubectl('get', '--raw', readyz)).includes('The edge cannot be reached');
    expect(await says()).toBe(false);
    const startMs = performance.now();
    await run(0);
    try {
      await until('the operator says so', says);
      tookSince('a stopped Envoy', startMs);
      await tenant.sees(right, probed);
    } finally {
      await run(null);
    }
    await until('the operator no longer says so', async () => !(await says()));
    await tenant.sees(right, probed);
  });
}
