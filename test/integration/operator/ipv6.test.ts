/**
 * With IPv6 alone: the API server, the resolvers, the Services, the target, the endpoints, the edge, and the server of the
 * operator have no other address.
 */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {ENDPOINT_SLICE, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import {TARGET_DOMAIN} from '../../cluster/state.ts';
import * as objects from '../../support/objects.ts';
import {newDomainTenant} from './domain-tenant.ts';
import {installIngressClass, type OperatorWorld, startOperatorWorld} from './operator-world.ts';
import {startTlsEdge} from './tls-edge.ts';

const EDGE_ADDRESS = '2001:db8::10';

let world: OperatorWorld;

beforeAll(async () => {
  world = await startOperatorWorld({address: '::1'});
  await world.dns.set(`*.${TARGET_DOMAIN}`, 'A', []);
  await world.dns.set(`*.${TARGET_DOMAIN}`, 'AAAA', [EDGE_ADDRESS]);
  await world.certManager.install();
  await installIngressClass(world.client);
  await world.startOperator('ipv6', {routing: {...routing(), apexAddresses: [EDGE_ADDRESS]}});
});
afterAll(() => world?.stop());

function routing() {
  return world.config.routing as object;
}

test('a subdomain and an apex go live, are served by Services of that family, and are probed there', async () => {
  const tenant = await newDomainTenant(world, 'six');
  const [host, apex] = [tenant.host('shop'), tenant.zone];
  const {namespace} = tenant;
  await tenant.project({primary: host, aliases: [apex]});
  await world.client.apply(SERVICE, objects.service(namespace, 'shop', [{name: 'http', port: 80}]));
  const slice = {...objects.endpointSlice(namespace, 'shop', true), addressType: 'IPv6'};
  const endpoints = [{addresses: ['fd10::7'], conditions: {ready: true}}];
  await world.client.apply(ENDPOINT_SLICE, {...slice, endpoints});
  await tenant.live(host);

  const wanted = await tenant.becomes(apex, {DNSVerified: 'RecordMissing'}, [`${apex}. AAAA ${EDGE_ADDRESS}`]);
  const records = wanted.status?.dns?.required ?? [];
  expect(records.map(({type}) => type)).toEqual(['ALIAS', 'AAAA', 'TXT']);
  for (const {name, type, value} of records) if (type !== 'ALIAS') await world.dns.set(name, type, [value]);
  await tenant.becomes(apex, {state: 'Live'});

  const edge = await startTlsEdge(world, '::1');
  try {
    await world.operator().stop();
    const operator = await world.startOperator('probing', {probes: {addresses: [edge.address], steadySeconds: 1}});
    await tenant.becomes(host, {state: 'Live', Probed: 'Answering'});
    const {port} = new URL(operator.address);
    expect((await fetch(`http://[::1]:${port}/readyz`)).status).toBe(200);
  } finally {
    await edge.stop();
  }
});
