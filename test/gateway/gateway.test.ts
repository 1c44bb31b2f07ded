/** The life of a Domain on a Gateway: Envoy Gateway, and certificates by HTTP-01 through its http listener. */
import {afterAll, expect, test} from 'vitest';
import {GATEWAY, HTTP_ROUTE, LISTENER_SET} from '../../src/operator/edge/gateway-kinds.ts';
import {routeName} from '../../src/operator/kinds/derived-names.ts';
import {CERTIFICATE, SECRET} from '../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../src/runtime/kube/object.ts';
import {BASE_DOMAIN} from '../cluster/state.ts';
import {until} from '../cluster/wait.ts';
import {settings} from '../e2e/setup.ts';
import {admin, cluster, newClusterTenant, visitor} from '../e2e/world.ts';
import type {ClusterTenant} from '../support/cluster-tenant.ts';
import {type Answer, failuresOf} from '../support/http.ts';
import {installOperator, RELEASE} from '../support/install.ts';
import {listAll} from '../support/kube.ts';
import {LISTENERS_ALLOWED} from '../support/objects.ts';
import {scale} from '../support/pods.ts';
import {POD} from '../support/workload.ts';

const PLATFORM = {namespace: 'gateway', name: 'platform'};
const CODES = [301, 302, 303, 307, 308] as const;
const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS'] as const;
const PATH = '/a/b?c=d&e=%2F';

let tenant: ClusterTenant;

afterAll(async () => {
  await installOperator(cluster, settings(cluster)); // one test changes them
});

test('the default host is served by the listener of the Gateway', async () => {
  tenant = await newClusterTenant('gateway');
  await tenant.applyProject(undefined);
  await tenant.seesProject('shop', {Ready: 'Published'});
  const host = await tenant.defaultHost();
  await visitor.untilServed(host);
  const hasHttp2 = async () => (await visitor.protocolOf(host)) === 'h2';
  await until('no certificate of an earlier run is left', hasHttp2);
  const answer = await visitor.request(`https://${host}${PATH}`);
  expect(answer.body).toContain(`host=${host} path=${PATH} `);
  expect(await visitor.request(`http://${host}${PATH}`)).toMatchObject({
    status: 301,
    location: `https://${host}${PATH}`,
  });
});

test('a correct record makes the host live: https from the ACME CA, http redirected once', async () => {
  const host = tenant.host('shop');
  await tenant.applyProject({primary: host});
  await tenant.createRecords(host);
  await tenant.sees(host, {state: 'Live', CertificateReady: 'Issued', Routed: 'Serving', Ready: 'Live'});
  await visitor.untilServed(host);
  const answer = await visitor.request(`https://${host}${PATH}`);
  expect(answer).toMatchObject({status: 200, certificate: {names: `DNS:${host}`}});
  expect(answer.certificate?.issuer).toMatch(/^Pebble/);
  expect(answer.body).toContain(`host=${host} path=${PATH} `);
  for (const method of METHODS) {
    const http = await visitor.request(`http://${host}${PATH}`, {method});
    expect(http, method).toMatchObject({status: 301, location: `https://${host}${PATH}`});
  }
});

test('redirects respond to every method with exactly their status, in one hop', async () => {
  const primary = tenant.host('shop');
  const redirects = CODES.map(status => ({from: tenant.host(`old-${status}`), to: primary, status}));
  await tenant.applyProject({primary, redirects});
  await Promise.all(
    redirects.map(async ({from, status}) => {
      await tenant.createRecords(from);
      await tenant.sees(from, {state: 'Live', Routed: 'Redirecting'});
      await visitor.untilServed(from);
      for (const scheme of ['http', 'https']) {
        for (const method of METHODS) {
          const answer = await visitor.request(`${scheme}://${from}${PATH}`, {method});
          const wanted = {status, location: `https://${primary}${PATH}`};
          expect(answer, `${method} ${scheme} ${status}`).toMatchObject(wanted);
        }
      }
    }),
  );
});

test('a ListenerSet without a Secret, from a namespace that the Gateway does not allow, takes no host', async () => {
  const host = tenant.host('shop');
  const thief = {namespace: PLATFORM.namespace, name: 'thief'};
  const [https, http] = [
    {name: 'https', port: 443, protocol: 'HTTPS', hostname: host, tls: {certificateRefs: [{name: 'missing'}]}},
    {name: 'http', port: 80, protocol: 'HTTP', hostname: host},
  ];
  const spec = {parentRef: PLATFORM, listeners: [https, http]};
  const observed = visitor.observe(`https://${host}/`, `http://${host}/`);
  const [apiVersion, kind] = ['gateway.networking.k8s.io/v1', LISTENER_SET.kind];
  await admin.create(LISTENER_SET as ResourceType, {apiVersion, kind, metadata: thief, ...{spec}});
  try {
    await setIsAccepted(thief, false);
    await visitor.untilServed(host);
    expect(failuresOf(await observed.stop())).toEqual([]);
  } finally {
    await admin.delete(LISTENER_SET, thief);
  }
});

/** Allows listeners from tenants' namespaces, or only from the Gateway's own. */
function allow(tenants: boolean): Promise<unknown> {
  const namespaces = tenants
    ? {from: 'Selector', selector: {matchLabels: LISTENERS_ALLOWED}}
    : {from: 'Same', selector: null};
  return admin.patch(GATEWAY, PLATFORM, {spec: {allowedListeners: {namespaces}}});
}

test('a Gateway that no longer allows the ListenerSet: the condition says so, and nothing is deleted', async () => {
  const host = tenant.host('shop');
  const before = await tenant.routeUids(host);
  await allow(false);
  try {
    const says = 'The Gateway does not accept ListenerSet';
    await tenant.sees(host, {state: 'Degraded', Routed: 'NotAccepted', says});
    expect(await tenant.routeUids(host)).toEqual(before);
  } finally {
    await allow(true);
  }
  await tenant.sees(host, {state: 'Live', Routed: 'Serving'});
  await visitor.untilServed(host);
});

test('the Gateway changes while the operator is stopped: it reports the change when it runs again', async () => {
  const host = tenant.host('shop');
  const before = await tenant.routeUids(host);
  const set = {namespace: tenant.namespace, name: routeName(tenant.namespace, host)};
  const whileStopped = async (isAllowed: boolean) => {
    await scale(admin, RELEASE, 0);
    try {
      await allow(isAllowed);
      await setIsAccepted(set, isAllowed);
    } finally {
      await scale(admin, RELEASE, 2);
    }
  };
  try {
    await whileStopped(false);
    await tenant.sees(host, {state: 'Degraded', Routed: 'NotAccepted'});
  } finally {
    await whileStopped(true);
  }
  await tenant.sees(host, {state: 'Live', Routed: 'Serving'});
  expect(await tenant.routeUids(host)).toEqual(before);
});

/** Waits until the Gateway's controller accepts the set, or no longer does. */
async function setIsAccepted(key: {readonly namespace: string; readonly name: string}, wanted: boolean): Promise<void> {
  const isAsWanted = async () => {
    const found = (await admin.get(LISTENER_SET, key))?.status?.conditions?.find(({type}) => type === 'Accepted');
    return found?.status === (wanted ? 'True' : 'False');
  };
  await until(`ListenerSet ${key.name} is${wanted ? '' : ' not'} accepted`, isAsWanted);
}

test('a host that the platform served itself moves to Nameplate, and every request is answered', async () => {
  const [primary, host] = [tenant.host('shop'), tenant.host('former')];
  const former = await serveManually(host);
  const isServed = ({status}: Answer) => status === 200;
  await visitor.untilAnswer(`https://${host}/`, isServed);
  const observed = visitor.observe(`https://${host}/`);
  await tenant.applyProject({primary, aliases: [host]});
  await tenant.createRecords(host);
  await tenant.sees(host, {state: 'Degraded', CertificateReady: 'Issued', Routed: 'NotAccepted'});
  for (const {resource, name} of former) await admin.delete(resource, {namespace: tenant.namespace, name});
  await tenant.sees(host, {state: 'Live', Routed: 'Serving'});
  // Envoy Gateway reports what it has sent to Envoy, which may use it a moment later.
  const isOurs = ({certificate}: Answer) => certificate?.issuer.startsWith('Pebble') ?? false;
  await visitor.untilAnswer(`https://${host}/`, isOurs);
  // Envoy Gateway does not order its updates, so Envoy may get the new route before its backend and answer 503
  // meanwhile.
  expect(failuresOf(await observed.stop()).filter(failure => !failure.endsWith(': 503'))).toEqual([]);
  await isServedSteadily(host);
});

async function isServedSteadily(host: string): Promise<void> {
  for (let visit = 0; visit < 20; visit++) expect((await visitor.request(`https://${host}/`)).status).toBe(200);
}

/** Serves the host on the Gateway as docs/edges.md describes. Returns what to delete, in this order. */
async function serveManually(host: string) {
  const {namespace} = tenant;
  const tls = await issuedManually(host);
  await admin.create(SECRET, {apiVersion: 'v1', kind: 'Secret', metadata: {namespace, name: 'former-tls'}, ...tls});
  const [apiVersion, metadata] = ['gateway.networking.k8s.io/v1', {namespace, name: 'former'}];
  const https = {name: 'https', port: 443, protocol: 'HTTPS', hostname: host};
  const listeners = [{...https, tls: {certificateRefs: [{name: 'former-tls'}]}}];
  const set = {apiVersion, kind: LISTENER_SET.kind, metadata, spec: {parentRef: PLATFORM, listeners}};
  const parentRefs = [{group: LISTENER_SET.group, kind: LISTENER_SET.kind, name: 'former'}];
  const rules = [{backendRefs: [{name: 'web', port: 80}]}];
  const route = {apiVersion, kind: HTTP_ROUTE.kind, metadata, spec: {parentRefs, hostnames: [host], rules}};
  await admin.create(LISTENER_SET as ResourceType, set);
  await admin.create(HTTP_ROUTE as ResourceType, route);
  return [
    {resource: LISTENER_SET, name: 'former'},
    {resource: HTTP_ROUTE, name: 'former'},
    {resource: SECRET, name: 'former-tls'},
  ] as const;
}

/** Issues a certificate from a CA that the visitor trusts, in a namespace of the platform. */
async function issuedManually(host: string) {
  const {namespace} = PLATFORM;
  const issuerRef = {name: cluster.info.issuers.fast, kind: 'ClusterIssuer'};
  const spec = {dnsNames: [host], secretName: host, privateKey: {algorithm: 'ECDSA', size: 256}, issuerRef};
  const certificate = {
    apiVersion: 'cert-manager.io/v1',
    kind: CERTIFICATE.kind,
    metadata: {namespace, name: host},
    spec,
  };
  await admin.create(CERTIFICATE as ResourceType, certificate);
  return until(`a certificate of ${host}`, async () => {
    const {type = '', data} = (await admin.get(SECRET, {namespace, name: host})) ?? {};
    return data && {type, data};
  });
}

test('a default host with its own certificate gets a ListenerSet, and its shared route serves until then', async () => {
  expect(await refusedRequests()).toEqual([]); // the counters are lost with the pods
  const host = await tenant.defaultHost();
  const observed = visitor.observe(`https://${host}/`);
  await installOperator(cluster, [...settings(cluster), 'config.defaultHost.tls=certificate']);
  const isOwn = ({status, certificate}: Answer) => status === 200 && certificate?.names === `DNS:${host}`;
  await visitor.untilAnswer(`https://${host}/`, isOwn);
  // Once the host has its own listener, Envoy Gateway removes it from the shared listener's routes. Envoy gets this
  // update just before the new listener's routes, and answers 404 for milliseconds.
  expect(failuresOf(await observed.stop()).filter(failure => !failure.endsWith(': 404'))).toEqual([]);
  await isServedSteadily(host);
  // The certificate of the shared listener covers the host, too, so browsers would reach it over that listener's
  // HTTP/2 connections.
  expect(await visitor.protocolOf(host)).toBe('h2');
  expect(await visitor.protocolOf(`another.${BASE_DOMAIN}`)).toBe('http/1.1');
  await tenant.seesProject('shop', {Ready: 'Published'});
});

/** Requests that were refused to all replicas since they started. */
async function refusedRequests(): Promise<string[]> {
  const labelSelector = 'app.kubernetes.io/component=operator';
  const pods = await listAll(admin, POD, {namespace: RELEASE.namespace, labelSelector});
  const lines = pods.map(async ({metadata: {name}}) => {
    const path = `/api/v1/namespaces/${RELEASE.namespace}/pods/${name}:8080/proxy/metrics`;
    return (await cluster.kubectl('get', '--raw', path)).split('\n');
  });
  const requests = (await Promise.all(lines)).flat().filter(line => line.startsWith('rest_client_requests_total{'));
  expect(requests.length).toBeGreaterThan(0);
  return requests.filter(line => line.includes('code="403"'));
}

test('removal stops the traffic of a host, over https and http', async () => {
  const host = tenant.host('shop');
  await tenant.applyProject(undefined);
  await tenant.seesNothingOf(host);
  await visitor.untilGone(host);
  expect(await refusedRequests()).toEqual([]);
});
