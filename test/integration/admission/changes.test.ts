/**
 * Subresources, deletions, and connections: a tenant gains nothing through them, and their legitimate writers still
 * work.
 */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {LABEL} from '../../../src/api/names.ts';
import {ingressSpec} from '../../support/objects.ts';
import {type AdmissionWorld, startAdmissionWorld, type Who} from './admission-world.ts';
import {allowedChanges, type ObjectChange, refusedChanges} from './changes.rows.ts';
import {MANAGED, type Manifest, manifest, ports, TENANT} from './manifests.ts';

let world: AdmissionWorld;

beforeAll(async () => {
  world = await startAdmissionWorld();
  for (const object of MANAGED) await world.act('operator', 'create', object);
});
afterAll(() => world?.api.stop());

function change(who: Who, {object, patch, subresource}: ObjectChange): Promise<string> {
  const {kind, metadata} = object;
  const how = [...(subresource ? ['--subresource', subresource] : []), '--type', 'merge'];
  return world.kubectl(who, ['patch', kind, metadata.name, ...how, '--patch', JSON.stringify(patch)]);
}

async function prepare({object, creator = 'tenant'}: ObjectChange): Promise<void> {
  if ('apiVersion' in object) await world.act(creator, 'create', object);
}

describe.concurrent('refuses a change to', () => {
  test.each(refusedChanges)('$what', async row => {
    await prepare(row);
    await expect(change(row.by ?? 'tenant', row)).rejects.toThrow(row.says);
  });

  // attack: recreated-namespace
  test.each([LABEL.plan, LABEL.account, 'cert-manager.io/disable-validation'])(
    'the label %s, by finalizing the namespace',
    async label => {
      const namespace = JSON.parse(await world.api.kubectl('get', 'namespace', TENANT, '-o', 'json')) as Manifest;
      const {metadata} = namespace;
      const finalized = {
        ...namespace,
        metadata: {...metadata, labels: {...(metadata.labels as object), [label]: 'pro'}},
      };
      const write = world.kubectl(
        'tenant',
        ['replace', '--raw', `/api/v1/namespaces/${TENANT}/finalize`, '-f', '-'],
        finalized,
      );
      await expect(write).rejects.toThrow('Only the platform team may set the labels');
    },
  );
});

describe.concurrent('allows a change to', () => {
  test.each(allowedChanges)('$what, by $by', async row => {
    await prepare(row);
    await expect(change(row.by, row)).resolves.toContain('patched');
  });
});

const OWN: readonly Manifest[] = [
  manifest('Service', 'leaving', {spec: {selector: {app: 'mine'}, ports}}),
  manifest('Ingress', 'leaving', {spec: ingressSpec('mine.example', 'internal')}),
  manifest('Pod', 'leaving', {spec: {containers: [{name: 'a', image: 'a.example/a'}]}}),
  manifest('Secret', 'leaving', {type: 'Opaque'}),
  manifest('DNSEndpoint', 'leaving', {spec: {}}),
  manifest('Certificate', 'leaving', {
    spec: {secretName: 'leaving', dnsNames: ['mine.example'], issuerRef: {name: 'mine'}},
  }),
];

// attack: managed-objects
test.each(OWN)('a tenant deletes its own $kind', async object => {
  await world.act('tenant', 'create', object);
  await expect(
    world.kubectl('tenant', ['delete', object.kind, 'leaving', '--grace-period=0', '--force']),
  ).resolves.toContain('deleted');
});

test('a tenant deletes an object that has named a reserved Secret since before the policies', async () => {
  const tls = [{hosts: ['next.example.com'], secretName: MANAGED[0]?.metadata.name}];
  await world.act(
    'operator',
    'create',
    manifest('Ingress', 'old-shim', {spec: {...ingressSpec('mine.example', 'internal'), tls}}),
  );
  await expect(world.kubectl('tenant', ['delete', 'ingress', 'old-shim'])).resolves.toContain('deleted');
});

describe('by their own accounts', () => {
  const name = 'ending';
  const inEnding = (object: Manifest) => ({...object, metadata: {...object.metadata, namespace: name}});
  beforeAll(async () => {
    await world.api.kubectl('create', 'namespace', name);
    await world.api.kubectl('label', 'namespace', name, `${LABEL.account}=victim`);
    for (const object of MANAGED) await world.kubectl('admin', ['create', '-n', name, '-f', '-'], inEnding(object));
  });

  // attack: managed-objects
  test.each(MANAGED.map(({kind, metadata}) => ({kind, object: metadata.name})))(
    'the garbage collector removes a finalizer from the managed $kind and deletes it',
    async ({kind, object}) => {
      const finalize = (finalizers: string[] | null) => JSON.stringify({metadata: {finalizers}});
      await world.kubectl('admin', [
        'patch',
        '-n',
        name,
        kind,
        object,
        '--type',
        'merge',
        '-p',
        finalize(['a.example/a']),
      ]);
      await world.kubectl('admin', ['delete', '-n', name, kind, object, '--wait=false']);
      const free = ['patch', '-n', name, kind, object, '--type', 'merge', '-p', finalize(null)];
      await expect(world.kubectl('garbageCollector', free)).resolves.toContain('patched');
      await world.kubectl('admin', ['create', '-n', name, '-f', '-'], inEnding(managedAs(kind)));
      await expect(world.kubectl('garbageCollector', ['delete', '-n', name, kind, object])).resolves.toContain(
        'deleted',
      );
    },
  );

  // attack: managed-objects
  test('the namespace controller empties and finalizes a namespace with an account', async () => {
    await world.kubectl('admin', ['create', '-n', name, '-f', '-'], inEnding(managedAs('Service')));
    const services = `/api/v1/namespaces/${name}/services`;
    await expect(world.kubectl('namespaceController', ['delete', '--raw', services])).resolves.toContain('Service');
    const namespace = JSON.parse(await world.api.kubectl('get', 'namespace', name, '-o', 'json')) as object;
    const finalize = ['replace', '--raw', `/api/v1/namespaces/${name}/finalize`, '-f', '-'];
    await expect(world.kubectl('namespaceController', finalize, namespace)).resolves.toContain(name);
  });
});

function managedAs(kind: string): Manifest {
  const found = MANAGED.find(object => object.kind === kind);
  if (!found) throw new Error(`no managed ${kind}`);
  return found;
}

/** No node runs here: the API server searches for one, which proves that admission let the request pass. */
// attack: managed-objects
test.each([
  ['exec', ['exec', 'connected', '--', 'true']],
  ['attach', ['attach', 'connected']],
  ['port-forward', ['port-forward', 'connected', ':80']],
  ['a proxy to a Pod', ['get', '--raw', `/api/v1/namespaces/${TENANT}/pods/connected/proxy/`]],
  ['a proxy to a Service', ['get', '--raw', `/api/v1/namespaces/${TENANT}/services/connected/proxy/`]],
])('a tenant connects through %s, and no policy applies', async (_, args) => {
  const pod = manifest('Pod', 'connected', {spec: {nodeName: 'none', containers: [{name: 'a', image: 'a.example/a'}]}});
  await world.kubectl('tenant', ['apply', '-f', '-'], pod);
  await world.kubectl('tenant', ['apply', '-f', '-'], manifest('Service', 'connected', {spec: {ports}}));
  const said = await world.kubectl('tenant', args).catch(String);
  expect(said).not.toMatch(/ValidatingAdmissionPolicy|[Ff]orbidden/);
  expect(said).toMatch(
    /not have a host assigned|not found|no endpoints available|address not allowed|pod is not running|does not exist/,
  );
});

describe('where classes and annotations are configured', () => {
  const annotated = (kind: string, key: string, value: string) => {
    const spec = kind === 'Ingress' ? ingressSpec('victim.example') : {ports};
    return manifest(kind, 'annotated', {spec}, {annotations: {[key]: value}});
  };
  const tryOut = (object: Manifest) => world.act('tenant', 'create', object, '--dry-run=server');
  beforeAll(async () => {
    const classes = 'config.routing.ingressClassName=edge,admission.edgeClasses={second}';
    const annotations = 'admission.edgeAddresses.annotations=["lb\\\\.example/address"]';
    await world.install('--set', classes, '--set-json', annotations);
  });

  // attack: foreign-route
  test.each(['traefik', 'edge', 'Edge', 'second'])('an Ingress whose annotation says %s is refused', async value => {
    const created = tryOut(annotated('Ingress', 'kubernetes.io/ingress.class', value));
    await expect(created).rejects.toThrow('list it in spec.domains of a Project');
  });

  test('a Service that requests an address with such an annotation is refused', async () => {
    const created = tryOut(annotated('Service', 'lb.example/address', '192.0.2.80'));
    await expect(created).rejects.toThrow('may take the traffic of an address');
    await expect(tryOut(annotated('Service', 'lbxexample/address', '192.0.2.80'))).resolves.toContain('created');
  });
});

test('in audit mode, everything passes, with a warning to the writer', async () => {
  await world.install('--set', 'admission.mode=audit');
  const steal = manifest('Ingress', 'audited', {});
  await world.act('tenant', 'create', steal);
  // kubectl writes warnings to stderr; this flag makes it treat them as errors.
  const warned = world.kubectl('tenant', ['label', 'ingress', 'audited', 'team=mine', '--warnings-as-errors']);
  await expect(warned).rejects.toThrow('list it in spec.domains of a Project');
});
