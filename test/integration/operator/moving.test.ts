/**
 * Two edges. No edge runs: the test writes the statuses of the Gateway's controller, which decide when the next edge
 * serves a host.
 */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {type Condition, findCondition} from '../../../src/api/conditions.ts';
import {GATEWAY, HTTP_ROUTE, LISTENER_SET} from '../../../src/operator/edge/gateway-kinds.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {DOMAIN, PROJECT, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {claimed, issue, prepareForHand} from './by-hand.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import {
  acceptRoutes,
  createGateway,
  GATEWAY_KEY,
  installGateway,
  refuseRoutes,
  supportFeatures,
} from './gateway-controller.ts';
import {INGRESS_ADDRESS, INGRESS_CLASS_NAME, type OperatorWorld, startOperatorWorld} from './operator-world.ts';
import {pause} from './pause.suite.ts';
import {revertedEdit, THEIRS} from './theirs.ts';

const NEW_ADDRESS = '192.0.2.20';

let world: OperatorWorld;

beforeAll(async () => {
  world = await startOperatorWorld();
  const {api, dns} = world;
  await installGateway(world);
  await prepareForHand(world);
  await dns.addZone(BASE_DOMAIN);
  await resolveTo(INGRESS_ADDRESS);
  const routing = {
    provider: 'gateway',
    movingFrom: 'traefik',
    edgeAddresses: [NEW_ADDRESS],
    formerAddresses: [INGRESS_ADDRESS],
    ingressClassName: INGRESS_CLASS_NAME,
    gateway: GATEWAY_KEY,
  };
  // As in the chart: no identities of the CA, so CAA is not checked.
  const certificates = {...(world.config.certificates as object), caaIdentities: []};
  await world.startOperator('moving', {routing, certificates}, api.kubeconfig);
});
afterAll(() => world?.stop());

/** Points the platform's wildcard records to an address. */
async function resolveTo(address: string): Promise<void> {
  for (const domain of [TARGET_DOMAIN, BASE_DOMAIN]) await world.dns.set(`*.${domain}`, 'A', [address]);
}

/** A tenant whose host `shop` is on both edges. */
async function onBothEdges(name: string) {
  const tenant = await newDomainTenant(world, name);
  const host = tenant.host('shop');
  await tenant.deployedProject({primary: host});
  await claimed(tenant, host);
  await issue(tenant, host);
  const set = routeName(tenant.namespace, host);
  await tenant.until('both edges have a route', () => tenant.ingress(host) && tenant.get(LISTENER_SET, set));
  await acceptRoutes(world.client, tenant.namespace);
  await tenant.becomesLive(host);
  return {tenant, host};
}

const projectSays = (tenant: DomainTenant) =>
  findCondition(tenant.get(PROJECT, 'shop')?.status?.conditions, 'Ready')?.message ?? '';

test('what others add to a ListenerSet and its HTTPRoutes survives our changes', async () => {
  const {tenant, host} = await onBothEdges('theirs');
  const {namespace} = tenant;
  const name = routeName(namespace, host);
  const hostnames = {spec: {hostnames: ['theirs.example.com']}};
  for (const [kind, object, edit] of [
    [LISTENER_SET, name, {spec: {parentRef: {name: 'theirs'}}}],
    [HTTP_ROUTE, name, hostnames],
  ] as const) {
    const {metadata} = await revertedEdit(tenant, kind, {namespace, name: object}, edit);
    expect(metadata, `${kind.kind} ${object}`).toMatchObject(THEIRS);
  }
});

test.each([
  {records: 'of the former edge', address: INGRESS_ADDRESS, target: NEW_ADDRESS},
  {records: 'of the next edge', address: NEW_ADDRESS, target: INGRESS_ADDRESS},
])(
  'a host that has the addresses $records is proved, whichever edge the targets point to',
  async ({address, target}) => {
    await resolveTo(target);
    const tenant = await newDomainTenant(world, address === NEW_ADDRESS ? 'early' : 'late'); // its target is new
    const {zone} = tenant;
    await tenant.deployedProject({primary: zone});
    const shown = await tenant.becomes(zone, {DNSVerified: 'RecordMissing'});
    for (const {type, name, value} of shown.status?.dns?.required ?? []) {
      await tenant.createRecord(type === 'ALIAS' ? 'A' : type, name, type === 'ALIAS' ? address : value);
    }
    await tenant.becomes(zone, {DNSVerified: 'Verified'});
  },
);

test('without a Gateway that can be used, or if it refuses, hosts and Projects say who must act, then continue', async () => {
  const {client} = world;
  await resolveTo(NEW_ADDRESS);
  const tenant = await newDomainTenant(world, 'gateless');
  const host = tenant.host('shop');
  const both = async (reason: string, says: string, project: string = reason) => {
    await tenant.becomes(host, {Routed: reason, Ready: reason}, [says]);
    await tenant.projectBecomes('shop', {Ready: project});
    await tenant.until('the Project says why', () => projectSays(tenant).includes(says));
  };
  await client.delete(GATEWAY, GATEWAY_KEY);
  await tenant.deployedProject({primary: host});
  await claimed(tenant, host);
  await issue(tenant, host);
  await both('GatewayNotFound', 'The platform team must create it, or correct config.routing.gateway.');
  await supportFeatures(client, ['HTTPRouteHostRewrite']);
  await createGateway(client);
  await both('GatewayUnsuitable', 'The platform team must choose another implementation of Gateway API.');
  await supportFeatures(client, []);
  await tenant.until('it has a route', () => tenant.get(HTTP_ROUTE, routeName(tenant.namespace, host)));
  await refuseRoutes(client, tenant.namespace, 'No listener allows it');
  await both('NotAccepted', 'No listener allows it', 'RouteNotAccepted');
  await acceptRoutes(client, tenant.namespace);
  await tenant.becomesLive(host);
  await tenant.projectBecomes('shop', {Ready: 'Published'});
});

test.each([HTTP_ROUTE, LISTENER_SET, SERVICE])('a paused host that has lost its $kind is not Ready', async kind => {
  const {tenant, host} = await onBothEdges(`lost-${kind.plural}`);
  await pause(world, tenant, 'Project');
  await tenant.delete(kind, kind === SERVICE ? tenant.backendName(host) : routeName(tenant.namespace, host));
  const {status} = await tenant.becomes(host, {state: 'Verified', Routed: 'Paused', Ready: 'Paused'});
  expect(findCondition(status?.conditions, 'Ready')?.status).toBe('False');
});

/** Its routes move to a new Service. */
async function changePort({namespace}: DomainTenant): Promise<void> {
  const port = {name: 'http', port: 8080, targetPort: 80, protocol: 'TCP'};
  await world.client.patch(SERVICE, {namespace, name: 'shop'}, {spec: {ports: [port]}});
}

test('a change of a route keeps the host and the Project Ready until the Gateway has accepted or rejected it', async () => {
  const {tenant, host} = await onBothEdges('pending');
  const redirect = tenant.host('www');
  await tenant.project({primary: host, redirects: [{from: redirect}]});
  await claimed(tenant, redirect);
  await issue(tenant, redirect);
  await tenant.until('it is routed', () => tenant.get(LISTENER_SET, routeName(tenant.namespace, redirect)));
  await acceptRoutes(world.client, tenant.namespace);
  for (const each of [host, redirect]) await tenant.becomesLive(each);
  await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'AllLive'});
  const versions = () => [...world.history.versions(DOMAIN), ...world.history.versions(PROJECT)];
  const since = Math.max(...versions().map(({at}) => at));
  const generation = () => tenant.get(HTTP_ROUTE, routeName(tenant.namespace, host))?.metadata.generation ?? 0;
  const before = generation();
  await changePort(tenant);
  await tenant.until('the route has changed', () => generation() > before);
  for (const each of [host, redirect]) await tenant.verify(each, 'after the change');
  const isUnready = ({status}: {readonly status?: {conditions?: Condition[]}}) =>
    findCondition(status?.conditions, 'Ready')?.status !== 'True';
  const later = versions().filter(({key, at}) => key.startsWith(`${tenant.namespace}/`) && at > since);
  expect(later.filter(({object}) => isUnready(object))).toEqual([]);
  await refuseRoutes(world.client, tenant.namespace, 'not here');
  await tenant.becomes(host, {state: 'Degraded', Routed: 'NotAccepted'});
});
