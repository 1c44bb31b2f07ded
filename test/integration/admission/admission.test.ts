/**
 * The chart's admission policies on a real API server: attempts of a tenant that may write everything in its namespace.
 */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {type AdmissionWorld, expectRefused, startAdmissionWorld} from './admission-world.ts';
import {MANAGED, manifest, TENANT} from './manifests.ts';
import {objectAttacks, objectDeeds} from './objects.rows.ts';

let world: AdmissionWorld;

beforeAll(async () => {
  world = await startAdmissionWorld();
  for (const object of MANAGED) await world.act('operator', 'create', object);
});
afterAll(() => world?.api.stop());

const act: AdmissionWorld['act'] = (...args) => world.act(...args);

function asTenant(...args: readonly string[]): Promise<string> {
  return world.kubectl('tenant', args);
}

describe.concurrent('a tenant is refused', () => {
  test.each(objectAttacks)('$attack', attack => expectRefused(world, attack));

  // attack: managed-objects
  test.each(MANAGED.map(object => ({kind: object.kind, name: object.metadata.name})))(
    'an edit, a finalizer, and the deletion of the managed $kind',
    async ({kind, name}) => {
      const says = /managed by Nameplate|Only Nameplate may write/;
      const patches = [
        {metadata: {labels: {[LABEL.managedBy]: null}}},
        {metadata: {finalizers: ['mallory.example/stay']}},
        {metadata: {annotations: {'traefik.ingress.kubernetes.io/router.middlewares': 'mallory-any@kubernetescrd'}}},
      ];
      for (const patch of patches) {
        const args = ['patch', kind, name, '--type', 'merge', '--patch', JSON.stringify(patch)];
        await expect(asTenant(...args)).rejects.toThrow(says);
      }
      await expect(asTenant('delete', kind, name)).rejects.toThrow(says);
    },
  );

  test('the deletion of managed Services by their label', async () => {
    const collection = `/api/v1/namespaces/${TENANT}/services?labelSelector=${LABEL.managedBy}%3Dnameplate`;
    await expect(asTenant('delete', '--raw', collection)).rejects.toThrow('managed by Nameplate');
    await expect(asTenant('get', 'service', routeName(TENANT, 'shop.example.com'))).resolves.toContain('np-');
  });

  test('the address of the ingress for a Service that it has', async () => {
    await act('tenant', 'create', manifest('Service', 'honest', {spec: {ports: [{port: 80}]}}));
    const patch = ['--type', 'merge', '--patch', JSON.stringify({spec: {externalIPs: ['192.0.2.80']}})];
    await expect(asTenant('patch', 'service', 'honest', ...patch)).rejects.toThrow('Remove spec.externalIPs');
  });

  test('the status of an Order, from which Challenges would be created', async () => {
    const host = 'shop.apps.example.net'; // cert-manager may order for default hosts
    const order = {request: 'AA==', dnsNames: [host], issuerRef: {name: 'any', kind: 'ClusterIssuer'}};
    await act('certManager', 'create', manifest('Order', 'honest', {spec: order}));
    const status = {authorizations: [{url: 'https://ca.example/1', identifier: host}]};
    const patch = ['--subresource', 'status', '--type', 'merge', '--patch', JSON.stringify({status})];
    await expect(asTenant('patch', 'order', 'honest', ...patch)).rejects.toThrow('Only cert-manager may write this');
  });

  // attack: managed-objects
  test('the status of a managed Certificate, which would be reissued immediately', async () => {
    const status = {
      conditions: [{type: 'Issuing', status: 'True', reason: 'x', lastTransitionTime: '2026-01-01T00:00:00Z'}],
    };
    const patch = ['--subresource', 'status', '--type', 'merge', '--patch', JSON.stringify({status})];
    await expect(asTenant('patch', 'certificate', routeName(TENANT, 'shop.example.com'), ...patch)).rejects.toThrow(
      'managed by Nameplate',
    );
  });

  // attack: recreated-namespace
  test.each([LABEL.plan, LABEL.account, 'cert-manager.io/disable-validation'])(
    'the label %s, on an old or a new namespace',
    async label => {
      const says = 'Only the platform team may set the labels';
      await expect(asTenant('label', 'namespace', TENANT, `${label}=pro`)).rejects.toThrow(says);
      const metadata = {name: `new-${label.replace(/[./]/g, '-')}`, labels: {[label]: 'pro'}};
      await expect(act('tenant', 'create', {apiVersion: 'v1', kind: 'Namespace', metadata})).rejects.toThrow(says);
      await expect(
        asTenant('label', 'namespace', TENANT, `team=${label.replace('/', '-')}`, '--overwrite'),
      ).resolves.toBeDefined();
    },
  );
});

test('only the platform may pause a namespace', async () => {
  const says = 'the annotation nameplate.dev/paused of a namespace';
  await expect(asTenant('annotate', 'namespace', TENANT, `${ANNOTATION.paused}=true`)).rejects.toThrow(says);
  await expect(asTenant('annotate', 'namespace', TENANT, 'team=mine')).resolves.toBeDefined();
});

describe.concurrent('a tenant may', () => {
  test.each(objectDeeds)('$deed', async ({object}) => {
    await expect(act('tenant', 'create', object)).resolves.toContain('created');
  });
});

test('a tenant may have its objects named by the API server', async () => {
  const {metadata: _, ...service} = manifest('Service', '', {spec: {selector: {app: 'mine'}, ports: [{port: 80}]}});
  const metadata = {generateName: 'mine-', namespace: TENANT};
  await expect(act('tenant', 'create', {...service, metadata})).resolves.toContain('created');
});

test('a tenant may change a Service that got its address from the platform', async () => {
  const spec = {selector: {app: 'mine'}, ports: [{port: 80}], externalIPs: ['192.0.2.81']};
  await act('operator', 'create', manifest('Service', 'addressed', {spec}));
  await expect(asTenant('label', 'service', 'addressed', 'team=mine')).resolves.toContain('labeled');
});

// attack: managed-objects
test('the garbage collector and the namespace controller are not in the way', async () => {
  const name = 'leaving';
  const {api} = world;
  await api.kubectl('create', 'namespace', name);
  for (const object of MANAGED) {
    await world.kubectl('operator', ['create', '-n', name, '-f', '-'], {
      ...object,
      metadata: {...object.metadata, namespace: name},
    });
  }
  await api.kubectl('delete', 'namespace', name, '--wait', '--timeout=60s');
});

describe('of our own kinds', () => {
  const ofOurs = (kind: string, name: string, spec: object, namespace?: string) => ({
    apiVersion: 'nameplate.dev/v1alpha1',
    kind,
    metadata: {name, ...(namespace && {namespace})},
    spec,
  });
  const inside = (namespace: string) => [
    ofOurs('Project', 'shop', {service: {name: 'shop', port: 80}}, namespace),
    ofOurs('Domain', 'shop.example.com', {host: 'shop.example.com', projectRef: {name: 'shop'}}, namespace),
    ofOurs('APIKey', 'shop', {scopes: ['messages:read']}, namespace),
  ];
  const holder = {account: 'a', namespace: 'a', name: 'shop', uid: 'u', scopes: ['messages:read']};
  const claims = [
    ofOurs('DomainClaim', 'held.example.com', {account: 'a', namespace: 'a', since: '2026-01-01T00:00:00Z'}),
    ofOurs('KeyClaim', 'a'.repeat(64), holder),
  ];
  const patchOf = (patch: object) => ['--type', 'merge', '--patch', JSON.stringify(patch)];

  // attack: forged-status
  test('a tenant with every right in its namespace cannot write status, and the operator can', async () => {
    for (const object of inside(TENANT)) {
      await act('tenant', 'create', object);
      const {kind, metadata} = object;
      const patch = [kind, metadata.name, '--subresource', 'status', ...patchOf({status: {observedGeneration: 7}})];
      await expect(asTenant('patch', ...patch)).rejects.toThrow('Only Nameplate may write the status');
      await expect(asTenant('label', kind, metadata.name, 'team=mine')).resolves.toContain('labeled');
      const {spec: _, ...status} = {...object, status: {observedGeneration: 7}};
      const applied = act('operator', 'apply', status, '--server-side', '--subresource=status');
      await expect(applied).resolves.toContain('serverside-applied');
    }
  });

  // attack: forged-status
  test.each(claims.map(claim => ({kind: claim.kind, claim})))(
    'the operator writes a $kind, the platform team repairs it, and trust with routes is not enough',
    async ({claim}) => {
      const says = 'Only Nameplate may write DomainClaims and KeyClaims';
      const {kind, metadata} = claim;
      await expect(act('certManager', 'create', claim)).rejects.toThrow(says);
      await act('operator', 'create', claim);
      const asCertManager = (...args: readonly string[]) => world.kubectl('certManager', args);
      const change = patchOf({spec: {account: 'mallory'}});
      await expect(asCertManager('patch', kind, metadata.name, ...change)).rejects.toThrow(says);
      await expect(
        asCertManager('patch', kind, metadata.name, ...patchOf({metadata: {finalizers: ['mallory.example/stay']}})),
      ).rejects.toThrow(says);
      await expect(asCertManager('delete', kind, metadata.name)).rejects.toThrow(says);
      await expect(world.api.kubectl('patch', kind, metadata.name, ...change)).resolves.toContain('patched');
      await expect(act('operator', 'delete', claim)).resolves.toContain('deleted');
    },
  );

  test('a namespace with all of them can be deleted', async () => {
    await world.api.kubectl('create', 'namespace', 'ours-leaving');
    for (const object of inside('ours-leaving')) await world.api.apply(JSON.stringify(object));
    await world.api.kubectl('delete', 'namespace', 'ours-leaving', '--wait', '--timeout=60s');
  });
});

test('a user that may assign plans sets the labels', async () => {
  const {api} = world;
  await api.kubectl(
    'create',
    'clusterrolebinding',
    'billing',
    '--clusterrole=nameplate-assign-plans',
    `--serviceaccount=${TENANT}:billing`,
  );
  await api.kubectl(
    'create',
    'clusterrolebinding',
    'billing-labels',
    '--clusterrole=label-namespaces',
    `--serviceaccount=${TENANT}:billing`,
  );
  await api.kubectl('create', 'serviceaccount', 'billing', '-n', TENANT);
  const billing = await api.kubeconfigFor(TENANT, 'billing');
  const labelled = await world.kubectlWith(billing, 'label', 'namespace', TENANT, `${LABEL.plan}=pro`);
  expect(labelled).toContain('labeled');
});
