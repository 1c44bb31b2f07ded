/** A platform moves from Traefik to the Gateway, with both running, as docs/edges.md describes. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {ensurePrograms} from '../cluster/programs.ts';
import {ADDRESSES} from '../cluster/state.ts';
import {settings} from '../e2e/setup.ts';
import {cluster, newClusterTenant, visitor} from '../e2e/world.ts';
import type {ClusterTenant} from '../support/cluster-tenant.ts';
import {createVisitor, failuresOf, type Visitor} from '../support/http.ts';
import {installOperator} from '../support/install.ts';

/** Traefik uses the node's network, but kube-proxy gets connections to the Gateway's address first. */
const FORMER = ADDRESSES.node;
const NEXT = cluster.info.ingress.address;
const MANIFESTS = join(import.meta.dirname, '../cluster/manifests');
const MOVING = ['config.routing.movingFrom=traefik', `config.routing.formerAddresses={${FORMER}}`];

let tenant: ClusterTenant;
let host: string;
/** It redirects to `host`. */
let old: string;
let onFormer: Visitor;

async function resolveTo(address: string): Promise<void> {
  const {baseDomain, targetDomain} = cluster.info;
  for (const domain of [baseDomain, targetDomain]) await cluster.zones.set(`*.${domain}`, 'A', address);
}

async function install(...values: readonly string[]): Promise<void> {
  await installOperator(cluster, [...settings(cluster), ...MOVING, ...values]);
}

/** Renews both hosts while visitors of both edges watch. */
async function renews(at: readonly Visitor[] = [visitor, onFormer]): Promise<void> {
  const hosts = [host, old];
  const observed = at.map(each => each.observe(...hosts.flatMap(name => [`https://${name}/`, `http://${name}/`])));
  await Promise.all(
    hosts.map(async name => {
      await tenant.seesReissued(name, await tenant.renew(name));
      await tenant.seesNoIssuing(name);
    }),
  );
  for (const each of observed) expect(failuresOf(await each.stop())).toEqual([]);
}

beforeAll(async () => {
  const programs = await ensurePrograms(['traefik']);
  await cluster.apply(await readFile(programs.asset('traefik-crds.yml'), 'utf8'));
  await cluster.apply(await readFile(join(MANIFESTS, 'traefik.yaml'), 'utf8'));
  onFormer = await createVisitor({...cluster.info, ingress: {...cluster.info.ingress, address: FORMER}});
  await resolveTo(FORMER);
  await install(`config.probes.addresses={${FORMER}}`);
  await cluster.kubectl('-n', 'traefik', 'rollout', 'status', '--timeout=120s', 'deployment/traefik');
  tenant = await newClusterTenant('moving');
  host = tenant.host('shop');
  old = tenant.host('old');
});
afterAll(async () => {
  await resolveTo(NEXT);
  for (const name of [host, old]) await cluster.zones.remove(name, undefined, {server: 'ca'});
  await cluster.kubectl('delete', 'namespace', 'traefik', '--wait=false');
});

test('the former edge sends challenges to the responder, serves, and decides, until DNS points to the next one', async () => {
  await tenant.applyProject({primary: host, redirects: [{from: old}]});
  for (const name of [host, old]) await tenant.createRecords(name);
  await tenant.sees(host, {state: 'Live', Routed: 'Serving', Probed: 'Answering'});
  await tenant.sees(old, {state: 'Live', Routed: 'Redirecting', Probed: 'Answering'});
  for (const each of [onFormer, visitor]) for (const name of [host, old]) await each.untilServed(name);
  await renews();
});

test('after the change of the records, a renewal works whichever edge the CA still reaches', async () => {
  await resolveTo(NEXT);
  await install(`config.routing.edgeAddresses={${NEXT}}`, 'config.probes.addresses=null');
  await tenant.sees(host, {state: 'Live', Routed: 'Serving', Probed: 'Answering'});
  await renews();
  for (const name of [host, old]) await cluster.zones.set(name, 'A', FORMER, {server: 'ca'}); // as if it cached them
  await renews();
});

test('once the platform has left the former edge, the next one alone serves and renews the host', async () => {
  const observed = visitor.observe(`https://${host}/`, `http://${host}/`);
  await install('config.routing.movingFrom=none', 'config.probes.addresses=null');
  const ours = ['-l', 'app.kubernetes.io/managed-by=nameplate'];
  await cluster.kubectl('delete', 'ingresses,middlewares.traefik.io', '-n', tenant.namespace, ...ours);
  await tenant.seesRoutes(host, routes => routes.length === 2);
  await tenant.seesRoutes(old, routes => routes.length === 3);
  await onFormer.untilGone(host);
  expect(failuresOf(await observed.stop())).toEqual([]);
  await renews([visitor]);
  await tenant.sees(host, {state: 'Live', Routed: 'Serving', Probed: 'Answering'});
});
