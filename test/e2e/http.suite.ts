/** What the edge does on port 80: challenges for all hosts, with which they renew, and the redirect to HTTPS. On either edge. */
import {randomUUID} from 'node:crypto';
import {connect} from 'node:net';
import {expect, it} from 'vitest';
import {ANNOTATION} from '../../src/api/names.ts';
import {routeName} from '../../src/operator/kinds/derived-names.ts';
import {CERTIFICATE, NAMESPACE, SECRET} from '../../src/operator/kinds/kinds.ts';
import {until} from '../cluster/wait.ts';
import {CHALLENGES, REFLECTING_PATHS} from '../support/challenge-paths.ts';
import {failuresOf} from '../support/http.ts';
import {MESSAGES_HOST, thumbprint} from '../support/install.ts';
import {newKey} from './tenant-key.ts';
import {admin, cluster, hideFromCa, newClusterTenant, showToCa, visitor} from './world.ts';

const TOKEN = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';

/** As a CA asks: it follows redirects to port 80. */
async function expectAnswered(host: string, what: string): Promise<void> {
  const {last, answers} = await visitor.visit(`http://${host}${CHALLENGES}${TOKEN}`);
  expect({...last, what}).toMatchObject({status: 200, what, body: `${TOKEN}.${await thumbprint(cluster)}`});
  // A CA checks no certificate, but a host that it was redirected to by https would answer itself.
  for (const {location} of answers) expect(location ?? '', what).not.toMatch(/^https:/);
}

/** Sends bytes as they are, and returns all that the edge sends. */
async function raw(bytes: string): Promise<string> {
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const socket = connect({host: cluster.info.ingress.address, port: 80, timeout: 10_000});
  let received = '';
  socket.on('data', chunk => {
    received += chunk.toString('latin1');
  });
  socket.once('error', reject).once('close', () => resolve(received));
  socket.once('timeout', () => socket.destroy(new Error('no answer in time')));
  socket.write(bytes);
  return await promise;
}

export function challengesOnPort80(): void {
  it('answers a challenge for a host that is unknown, waits, serves, redirects, or is paused', async () => {
    const tenant = await newClusterTenant('http');
    const [host, old, waits] = [tenant.host('shop'), tenant.host('old'), tenant.host('waits')];
    await tenant.goLive({primary: host, redirects: [{from: old}]});
    await tenant.applyProject({primary: host, aliases: [waits], redirects: [{from: old}]});
    await tenant.sees(waits, {state: 'Unverified'});
    await expectAnswered(tenant.host('unknown'), 'unknown');
    await expectAnswered(waits, 'waiting');
    await expectAnswered(host, 'serving');
    await expectAnswered(old, 'redirecting');
    await expectAnswered(await tenant.defaultHost(), 'default host');
    await admin.patch(NAMESPACE, {name: tenant.namespace}, {metadata: {annotations: {[ANNOTATION.paused]: 'true'}}});
    await expectAnswered(host, 'serving, paused');
    await expectAnswered(old, 'redirecting, paused');
    await admin.patch(NAMESPACE, {name: tenant.namespace}, {metadata: {annotations: {[ANNOTATION.paused]: null}}});
    await tenant.applyProject({primary: old, redirects: [{from: host}]});
    await tenant.sees(old, {state: 'Live', Routed: 'Serving'});
    await tenant.sees(host, {state: 'Live', Routed: 'Redirecting'});
    await visitor.untilAnswer(`https://${host}/`, ({location}) => location === `https://${old}/`);
    await expectAnswered(host, 'redirecting, which served');
    await expectAnswered(old, 'serving, which redirected');
  });

  it('renews a host that serves and one that redirects, while they are live and while they have lost their certificates', async () => {
    const tenant = await newClusterTenant('renewing');
    const hosts = [tenant.host('shop'), tenant.host('old')] as const;
    const [primary, from] = hosts;
    const each = (act: (host: string) => Promise<unknown>) => Promise.all(hosts.map(act));
    await tenant.goLive({primary, redirects: [{from}]});
    const observed = visitor.observe(...hosts.flatMap(host => [`https://${host}/`, `http://${host}/`]));
    await each(async host => {
      const {certificate: former} = await visitor.request(`https://${host}/`);
      await tenant.seesReissued(host, await tenant.renew(host));
      await visitor.untilAnswer(`https://${host}/`, ({certificate}) => certificate?.serial !== former?.serial);
    });
    expect(failuresOf(await observed.stop())).toEqual([]);

    await each(hideFromCa);
    const {namespace} = tenant;
    await each(host => admin.delete(SECRET, {namespace, name: routeName(namespace, host)}));
    await each(host => tenant.sees(host, {state: 'Degraded', CertificateReady: 'Failed'}));
    await each(showToCa);
    await each(host => expectAnswered(host, 'degraded'));
    await each(host => tenant.reverify(host));
    await each(host => tenant.sees(host, {state: 'Live'}));
    await each(host => visitor.untilServed(host));
  });

  it('redirects all other paths of any host to HTTPS', async () => {
    const host = `${randomUUID()}.example.com`;
    for (const path of ['/', '/a/b?c=d&e=%2F', '/.well-known/acme-challenges', '/.well-known/other/x']) {
      expect(await visitor.request(`http://${host}${path}`)).toMatchObject({
        status: 301,
        location: `https://${host}${path}`,
      });
    }
    const {location, status} = await visitor.request(`http://${host}/x`, {method: 'POST', body: 'a=b'});
    expect({location, status}).toEqual({
      location: `https://${host}/x`,
      status: cluster.info.edge === 'gateway' ? 301 : 308,
    });
  });

  it('repeats nothing of a request that is no challenge', async () => {
    const host = `${randomUUID()}.example.com`;
    for (const path of REFLECTING_PATHS) {
      const received = await raw(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      expect(received, path).not.toMatch(/^HTTP\/1\.1 200 /);
      const [, body = ''] = received.split('\r\n\r\n');
      expect(body, path).not.toContain('REFLECTED');
      expect(received, path).not.toMatch(/^set-cookie:/im);
    }
  });

  it('bodies that nobody reads make no other request fail', async () => {
    const host = `${randomUUID()}.example.com`;
    const body = 'a'.repeat(200_000);
    const posts = Array.from({length: 100}, () =>
      visitor.request(`http://${host}${CHALLENGES}x`, {method: 'POST', body}),
    );
    const gets = Array.from({length: 200}, async () => (await visitor.request(`http://${host}${CHALLENGES}x`)).status);
    const statuses = await Promise.all(gets);
    await Promise.allSettled(posts); // The edge may end these early.
    expect(statuses.filter(status => status !== 200)).toEqual([]);
  });

  it('refuses a key that is sent to the messages API in clear text, and redirects it nowhere', async () => {
    const key = await newKey('messages-clear');
    await key.until('', {status: 200});
    const headers = {authorization: 'Bearer any'};
    for (const path of ['/messages', '/', '/.well-known/other']) {
      const {status, location} = await visitor.request(`http://${MESSAGES_HOST}${path}`, {headers});
      expect({status, location}, path).toEqual({status: cluster.info.edge === 'gateway' ? 404 : 403});
    }
  });

  it("a certificate of the platform's own, by cert-manager's HTTP-01, is issued and renewed past the responder", async () => {
    const name = `own-${randomUUID().slice(0, 8)}`;
    const namespace = cluster.info.edge === 'gateway' ? 'gateway' : 'traefik';
    const host = `${name}.edge.nameplate.test`;
    await admin.create(CERTIFICATE, {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: {name, namespace},
      spec: {
        secretName: name,
        dnsNames: [host],
        issuerRef: {name: cluster.info.issuers.acme, kind: 'ClusterIssuer', group: 'cert-manager.io'},
      },
    } as never);
    const isIssued = async (revision: number) => {
      const {status} = (await admin.get(CERTIFICATE, {namespace, name})) ?? {};
      return status?.revision === revision ? status : undefined;
    };
    const {conditions = []} = await until('the certificate is issued', () => isIssued(1));
    const issuing = {type: 'Issuing', status: 'True', reason: 'Test', message: 'as cmctl renew does'};
    const status = {conditions: [...conditions, {...issuing, lastTransitionTime: new Date().toISOString()}]};
    await admin.patch(CERTIFICATE, {namespace, name}, {status}, {subresource: 'status'});
    await until('the certificate is renewed', () => isIssued(2));
    await admin.delete(CERTIFICATE, {namespace, name});
  });
}
