/** The chart's admission policies if Nameplate serves hosts on a Gateway and tenants may use other Gateways. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type AdmissionWorld, expectRefused, startAdmissionWorld} from './admission-world.ts';
import {gatewayAttacks, gatewayDeeds, PLATFORM, TENANT_CLASS} from './gateway.rows.ts';
import {solverRoute} from './issuance.rows.ts';
import {managed, manifest, OTHER_EDGE, OURS} from './manifests.ts';

const https = {parentRefs: [{name: OURS, kind: 'ListenerSet'}], hostnames: ['shop.example.com']};
const MANAGED = [
  manifest('ListenerSet', OURS, {spec: {parentRef: PLATFORM, listeners: []}}, managed),
  manifest('HTTPRoute', OURS, {spec: https}, managed),
  // attack: wildcard-over-host
  manifest('ClientTrafficPolicy', OURS, {spec: {targetRefs: [{kind: 'ListenerSet', name: OURS}]}}, managed),
];
let world: AdmissionWorld;

beforeAll(async () => {
  const routing = {provider: 'gateway', gateway: {...PLATFORM, clientTrafficPolicy: 'traffic'}};
  world = await startAdmissionWorld(
    ...['--set-json', `config.routing=${JSON.stringify(routing)}`],
    ...['--set-json', `admission.tenantGatewayClasses=["${TENANT_CLASS}"]`],
    ...['--set-json', `admission.edgeApiGroups=["${OTHER_EDGE}"]`],
  );
  for (const object of MANAGED) await world.act('operator', 'create', object);
});
afterAll(() => world?.api.stop());

describe.concurrent('a tenant is refused', () => {
  test.each(gatewayAttacks)('$attack', attack => expectRefused(world, attack));

  test.each(MANAGED.map(({kind}) => ({kind})))('a change of the managed $kind, and its deletion', async ({kind}) => {
    const patch = (object: object) => ['patch', kind, OURS, '--type', 'merge', '--patch', JSON.stringify(object)];
    for (const args of [
      patch({metadata: {finalizers: ['mallory.example/stay']}}),
      patch({spec: {parentRef: null, parentRefs: null}}),
      [...patch({status: {parents: []}}), '--subresource', 'status'],
      ['delete', kind, OURS],
    ]) {
      await expect(world.kubectl('tenant', args)).rejects.toThrow(/managed by Nameplate|Only Nameplate may write/);
    }
  });

  // attack: foreign-route
  test('the route of a solver, whoever writes it', async () => {
    for (const who of ['certManager', 'admin'] as const) {
      await expect(world.act(who, 'create', solverRoute)).rejects.toThrow('Nothing solves challenges');
    }
  });
});

describe.concurrent('a tenant may', () => {
  test.each(gatewayDeeds)('$deed', async ({object}) => {
    await expect(world.act('tenant', 'create', object)).resolves.toContain('created');
  });
});

test('the edge writes the status of our routes, and nothing else', async () => {
  const args = (patch: object) => ['patch', 'httproute', OURS, '--type', 'merge', '--patch', JSON.stringify(patch)];
  const status = {status: {parents: [{conditions: [{type: 'Accepted', status: 'True'}]}]}};
  await expect(world.kubectl('edge', [...args(status), '--subresource', 'status'])).resolves.toContain('patched');
  const moved = {spec: {parentRefs: [{name: 'mine'}]}};
  await expect(world.kubectl('edge', args(moved))).rejects.toThrow(/managed by Nameplate|Only Nameplate may write/);
});
