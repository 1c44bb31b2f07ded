/**
 * Faults that affect all tenants: killed operators, an operator outage, DNS, cert-manager, or the edge down. Run one
 * after another, without other tests.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, expect, it} from 'vitest';
import {findCondition} from '../../src/api/conditions.ts';
import {ANNOTATION} from '../../src/api/names.ts';
import {routeName} from '../../src/operator/kinds/derived-names.ts';
import {DOMAIN, NAMESPACE, SECRET} from '../../src/operator/kinds/kinds.ts';
import {until} from '../cluster/wait.ts';
import type {ClusterTenant} from '../support/cluster-tenant.ts';
import {failuresOf} from '../support/http.ts';
import {leaderPod, RELEASE} from '../support/install.ts';
import {listAll} from '../support/kube.ts';
import {kill, scale} from '../support/pods.ts';
import {selfSigned} from '../support/self-signed.ts';
import {POD} from '../support/workload.ts';
import {leadersThatDie} from './orders.suite.ts';
import {admin, cluster, newClusterTenant, visitor} from './world.ts';

const OPERATOR = {namespace: RELEASE.namespace, name: RELEASE.name};
const DNS = ['ns1', 'ns2', 'resolver'].map(name => ({namespace: 'dns', name}));
const CERT_MANAGER = {namespace: 'cert-manager', name: 'cert-manager'};
const EDGE = {namespace: 'traefik', name: 'traefik'};

leadersThatDie();

afterEach(async () => {
  const single = [...DNS, CERT_MANAGER, EDGE];
  await Promise.all([scale(admin, OPERATOR, 2), ...single.map(each => scale(admin, each, 1))]);
});

it('operators are killed while domains go live: all become live, and nothing is created twice', async () => {
  const tenants = await Promise.all([
    newClusterTenant('kill-a'),
    ...['kill-b', 'kill-c', 'kill-d'].map(name => newClusterTenant(name)),
  ]);
  const attempts = tenants.map(tenant => tenant.recordAttempts());
  const hostsOf = (tenant: ClusterTenant) => ['one', 'two', 'old'].map(label => tenant.host(label));
  const allLive = Promise.all(
    tenants.map(async tenant => {
      const [primary = '', alias = '', from = ''] = hostsOf(tenant);
      await tenant.goLive({primary, aliases: [alias], redirects: [{from}]});
    }),
  );
  await Promise.all([allLive, killAsTheyGo(tenants.map(tenant => ({tenant, hosts: hostsOf(tenant)})))]);
  // Each Certificate was created once and never changed.
  expect(attempts.map(each => each.names().certificates.length)).toEqual([3, 3, 3, 3]);
  for (const tenant of tenants) {
    for (const [index, host] of hostsOf(tenant).entries()) {
      expect((await tenant.certificate(host))?.metadata.generation).toBe(1);
      const kinds = index === 2 ? ['Ingress', 'Ingress', 'Middleware'] : ['Ingress']; // the last one redirects
      expect((await tenant.routes(host)).map(({kind}) => kind).sort()).toEqual(kinds);
      expect(await visitor.visit(`http://${host}/`)).toMatchObject({last: {status: 200}});
    }
  }
  await Promise.all(attempts.map(each => each.stop()));
});

/** Kills the leader once a host is proved, then, when some hosts are live, any replica, and later the leader again. */
async function killAsTheyGo(all: readonly {tenant: ClusterTenant; hosts: readonly string[]}[]): Promise<void> {
  const statesOf = async () => {
    const domains = await Promise.all(all.flatMap(({tenant, hosts}) => hosts.map(host => tenant.domain(host))));
    return domains.map(domain => domain?.status?.state);
  };
  const count = async (...wanted: string[]) =>
    (await statesOf()).filter(state => state && wanted.includes(state)).length;
  await until('a host is proved', () => count('Verified', 'Live'));
  await killOperator('leader');
  await until('two hosts are live', async () => (await count('Live')) >= 2);
  await killOperator('any');
  await until('five hosts are live', async () => (await count('Live')) >= 5);
  await killOperator('leader');
}

async function killOperator(which: 'leader' | 'any'): Promise<void> {
  const labelSelector = `app.kubernetes.io/name=${RELEASE.name},app.kubernetes.io/component=operator`;
  const pod = await until(`there is an operator to kill: ${which}`, async () => {
    const pods = await listAll(admin, POD, {namespace: OPERATOR.namespace, labelSelector});
    const running = pods.filter(({status, metadata}) => status?.phase === 'Running' && !metadata.deletionTimestamp);
    if (which === 'any') return running[Math.floor(Math.random() * running.length)];
    const leader = await leaderPod(cluster);
    return running.find(({metadata}) => leader.startsWith(metadata.name));
  });
  await kill(admin, pod);
}

it('a namespace can be deleted while the operator is down; once it is back, it catches up', async () => {
  const [gone, wiped, orphaned, kept] = await Promise.all([
    newClusterTenant('down-gone'),
    newClusterTenant('down-wiped'),
    newClusterTenant('down-orphan'),
    newClusterTenant('down-kept'),
  ]);
  const hostOf = (tenant: ClusterTenant) => tenant.host('shop');
  const attempts = wiped.recordAttempts();
  await Promise.all([gone, wiped, orphaned, kept].map(tenant => tenant.goLive({primary: hostOf(tenant)})));
  const before = attempts.names();
  const uids = await wiped.routeUids(hostOf(wiped));
  const observed = visitor.observe(`https://${hostOf(wiped)}/`, `https://${hostOf(kept)}/`);

  await scale(admin, OPERATOR, 0);
  await admin.delete(NAMESPACE, {name: gone.namespace});
  await wiped.wipe(hostOf(wiped));
  await orphaned.deleteProject();
  const isGone = async () => (await admin.get(NAMESPACE, {name: gone.namespace})) === undefined;
  await until(`namespace ${gone.namespace} is gone`, isGone);

  await scale(admin, OPERATOR, 2);
  await Promise.all([gone, orphaned].map(tenant => tenant.seesNothingOf(hostOf(tenant))));
  await Promise.all([wiped, kept].map(tenant => tenant.sees(hostOf(tenant), {state: 'Live', Claimed: 'Claimed'})));
  for (const tenant of [gone, orphaned]) {
    await visitor.untilGone(hostOf(tenant));
    const isForgotten = async () => (await tenant.claim(hostOf(tenant))) === undefined;
    await until(`the claim of ${hostOf(tenant)} is forgotten`, isForgotten);
  }
  expect(await wiped.routeUids(hostOf(wiped))).toEqual(uids);
  expect(attempts.names()).toEqual(before);
  expect(failuresOf(await observed.stop())).toEqual([]);
  await attempts.stop();
});

it('the edge presents another certificate: only that host says so, and none whose own pods answer 500', async () => {
  const [wrong, right] = await Promise.all([newClusterTenant('probe-wrong'), newClusterTenant('probe-right')]);
  const [host, other] = [wrong.host('shop'), right.host('shop')];
  await Promise.all([wrong.goLive({primary: host}), right.goLive({primary: other})]);
  await wrong.sees(host, {Probed: 'Answering'});
  const before = await right.sees(other, {Probed: 'Answering'});
  await right.deploy('web', 500);
  await visitor.untilAnswer(`https://${other}/`, ({status}) => status === 500);

  await scale(admin, CERT_MANAGER, 0); // it would replace the Secret
  const folder = await mkdtemp(join(tmpdir(), 'foreign-'));
  const {cert, key} = await selfSigned(folder, 'foreign', 'DNS:foreign.example.com').finally(() =>
    rm(folder, {recursive: true}),
  );
  const data = {'tls.crt': cert.toString('base64'), 'tls.key': key.toString('base64')};
  await admin.patch(SECRET, {namespace: wrong.namespace, name: routeName(wrong.namespace, host)}, {data});
  await wrong.sees(host, {
    state: 'Degraded',
    CertificateReady: 'Issued',
    Probed: 'WrongCertificate',
    Ready: 'WrongCertificate',
  });
  expect((await visitor.request(`https://${other}/`)).status).toBe(500);
  expect(await right.domain(other), 'nothing was written to the Domain').toEqual(before);

  await scale(admin, CERT_MANAGER, 1);
  await wrong.sees(host, {state: 'Live', Probed: 'Answering'});
});

it('the edge cannot be reached: live hosts stay live, new ones wait for the CA, and the operator says so', async () => {
  const tenant = await newClusterTenant('probe-edge');
  const [host, young] = [tenant.host('shop'), tenant.host('young')];
  await tenant.goLive({primary: host});
  await scale(admin, EDGE, 0);
  await tenant.applyProject({primary: host, aliases: [young]});
  await tenant.createRecords(young);
  await tenant.sees(young, {state: 'Verified', CertificateReady: 'Failed'}); // the CA cannot validate it
  await tenant.sees(host, {state: 'Live', Probed: 'Answering'});
  const pod = `/api/v1/namespaces/${OPERATOR.namespace}/pods/${await leaderPod(cluster)}:8080/proxy`;
  const says = async () =>
    (await cluster.kubectl('get', '--raw', `${pod}/readyz?verbose`)).includes('cannot be reached');
  await until('the operator says so', says);

  await scale(admin, EDGE, 1);
  await tenant.reverify(young);
  await tenant.sees(young, {state: 'Live', Probed: 'Answering'});
});

// promise: uncertainty
it('DNS is down for longer than drift takes: no live domain is demoted, and new ones wait and continue automatically', async () => {
  const tenant = await newClusterTenant('outage');
  const [host, young] = [tenant.host('shop'), tenant.host('young')];
  await tenant.goLive({primary: host});
  await tenant.applyProject({primary: host, aliases: [young]});
  await tenant.sees(young, {DNSVerified: 'RecordMissing'});
  const transitions = async () => {
    const {status} = (await tenant.domain(host)) ?? {};
    return ['DNSVerified', 'Ready'].map(type => findCondition(status?.conditions, type)?.lastTransitionTime);
  };
  const before = await transitions();

  await Promise.all(DNS.map(server => scale(admin, server, 0)));
  await tenant.sees(young, {state: 'Unverified', DNSVerified: 'NameServersUnreachable'});
  const requested = {[ANNOTATION.verifyRequestedAt]: 'during the outage'};
  await admin.patch(DOMAIN, {namespace: tenant.namespace, name: host}, {metadata: {annotations: requested}});
  await tenant.sees(host, {state: 'Live', DNSVerified: 'Verified', Ready: 'Live'});
  expect(await transitions()).toEqual(before);
  expect(await visitor.request(`https://${host}/`)).toMatchObject({status: 200});

  await Promise.all(DNS.map(server => scale(admin, server, 1)));
  await tenant.createRecords(young);
  await tenant.sees(young, {state: 'Live'});
  const handled = async () => (await tenant.domain(host))?.status?.lastHandledVerifyRequest === 'during the outage';
  await until('the verify request is handled', handled);
});
