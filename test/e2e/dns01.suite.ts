/** Hosts with certificates by DNS-01. Each delegates its challenges to a zone of the platform with a CNAME. */
import {afterAll, beforeAll, expect, it} from 'vitest';
import {INGRESS, ISSUER, SECRET} from '../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import {ADDRESSES, CHALLENGE_ZONE} from '../cluster/state.ts';
import {until} from '../cluster/wait.ts';
import type {ClusterTenant} from '../support/cluster-tenant.ts';
import {ISSUER_NAME, issuerObjects, TENANTS_ISSUER} from '../support/issuers.ts';
import {follow, listAll} from '../support/kube.ts';
import {startUpdateServer, type UpdateServer} from '../support/update-server.ts';
import {kindOf} from '../support/workload.ts';
import {newAttacker} from './attacks/attackers.ts';
import {orderFromTenantsIssuer} from './attacks/tenants-issuer.ts';
import {admin, cluster, newClusterTenant, visitor} from './world.ts';

interface Challenge extends KubeObject {
  spec: {type: string; dnsName: string; solver: object};
}
const CHALLENGE: ResourceType<Challenge> = kindOf('acme.cert-manager.io', 'Challenge');
const SOLVER = {labelSelector: 'acme.cert-manager.io/http01-solver=true'};
const WAIT = {timeoutMs: 60_000};
const TSIG_SECRET = {name: 'updates', key: 'secret'};

export function solvingByDns(): void {
  let server: UpdateServer;
  beforeAll(async () => {
    server = await startUpdateServer(ADDRESSES.challenges, CHALLENGE_ZONE);
  });
  afterAll(() => server?.stop());

  it('the platform’s issuer solves by DNS-01: the host goes live, and no route of a solver is created', async () => {
    const tenant = await newClusterTenant('dns01', {issuer: 'none'});
    const host = tenant.host('shop');
    const record = await delegate(tenant, host);
    await createIssuer(admin, tenant, ISSUER_NAME, [{...solverAt(server), waitInsteadOfSelfCheck: '0s'}], server);
    const {namespace} = tenant;
    const challenges = new Map<string, object>();
    const solvers = new Set<string>();
    const stops = [
      follow(admin, CHALLENGE, {namespace}, ({metadata, spec}) => {
        const owners = metadata.ownerReferences?.map(({kind}) => kind);
        challenges.set(metadata.name, {owners, type: spec.type, host: spec.dnsName, by: Object.keys(spec.solver)});
      }),
      follow(admin, INGRESS, {namespace, ...SOLVER}, ({metadata}) => solvers.add(metadata.name)),
    ];
    await tenant.goLive({primary: host});
    expect((await visitor.request(`https://${host}/`)).certificate).toMatchObject({
      issuer: expect.stringMatching(/^Pebble/),
      names: `DNS:${host}`,
    });
    await until('cert-manager has removed its record', async () => (await server.txt(record)).length === 0, WAIT);
    await Promise.all(stops.map(stop => stop()));
    const by = expect.arrayContaining(['dns01']);
    expect([...challenges.values()]).toEqual([{owners: ['Order'], type: 'DNS-01', host, by}]);
    expect([...solvers]).toEqual([]);
  });

  it('a custom host beside a DNS-01 solver of the platform’s zones goes live by HTTP-01', async () => {
    const tenant = await newClusterTenant('dns01-zones', {issuer: 'none'});
    const host = tenant.host('shop');
    await delegate(tenant, host);
    const ofPlatform = {...solverAt(server), selector: {dnsZones: [cluster.info.baseDomain]}};
    const {className} = cluster.info.ingress;
    const byHttp = {http01: {ingress: {ingressClassName: className, serviceType: 'ClusterIP'}}};
    await createIssuer(admin, tenant, ISSUER_NAME, [ofPlatform, byHttp], server);
    const types = new Set<string>();
    const stop = follow(admin, CHALLENGE, {namespace: tenant.namespace}, ({spec}) => types.add(spec.type));
    await tenant.goLive({primary: host});
    await stop();
    expect([...types]).toEqual(['HTTP-01']);
  });

  it('a DNS-01 challenge whose namespace loses the host is withdrawn, and cert-manager removes its record', async () => {
    const attacker = await newAttacker('dns01-lost');
    const {self} = attacker;
    const host = self.host('shop');
    const record = await delegate(self, host);
    await self.goLive({primary: host});
    const solvers = [{...solverAt(server), waitInsteadOfSelfCheck: '1h'}];
    await createIssuer(attacker.client, self, TENANTS_ISSUER, solvers, server);
    await orderFromTenantsIssuer(attacker, 'more', host);
    await until('the challenge is in DNS', async () => (await server.txt(record)).length === 1, WAIT);
    await self.applyProject(undefined);
    await until('the record is removed', async () => (await server.txt(record)).length === 0, WAIT);
    const isGone = async () => (await listAll(admin, CHALLENGE, {namespace: self.namespace})).length === 0;
    await until('the challenge is gone', isGone, WAIT);
  });
}

/** Returns the name that cert-manager then writes. */
async function delegate({namespace}: ClusterTenant, host: string): Promise<string> {
  const record = `${namespace}.${CHALLENGE_ZONE}`;
  await cluster.zones.set(`_acme-challenge.${host}`, 'CNAME', record);
  return record;
}

/** cert-manager's own check of DNS always takes a minute. */
function solverAt({key}: UpdateServer) {
  const tsig = {tsigKeyName: key.name, tsigAlgorithm: 'HMACSHA256', tsigSecretSecretRef: TSIG_SECRET};
  return {dns01: {cnameStrategy: 'Follow', rfc2136: {nameserver: ADDRESSES.challenges, ...tsig}}};
}

/** Creates an issuer at the platform's ACME CA. */
async function createIssuer(
  by: KubeClient,
  {namespace}: ClusterTenant,
  name: string,
  solvers: readonly object[],
  {key}: UpdateServer,
): Promise<void> {
  const data = {stringData: {[TSIG_SECRET.key]: key.secret}};
  await by.apply(SECRET, {apiVersion: 'v1', kind: 'Secret', metadata: {namespace, name: TSIG_SECRET.name}, ...data});
  for (const {object} of await issuerObjects(admin, cluster.info, namespace, 'acme')) {
    const {acme} = (object as {spec?: {acme?: object}}).spec ?? {};
    const spec: object = {acme: {...acme, solvers}};
    await by.apply(ISSUER, {...object, metadata: {namespace, name}, ...{spec}});
  }
}
