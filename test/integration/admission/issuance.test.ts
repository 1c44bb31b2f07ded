/**
 * What a tenant tries to make cert-manager do, and what cert-manager may do: on a real API server, with the chart's
 * policies.
 */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type AdmissionWorld, expectRefused, startAdmissionWorld} from './admission-world.ts';
import {BY_DNS, challenge, DEFAULT_HOST, HELD, LISTED, NEXT_KEY, order} from './challenges.ts';
import {
  challenges,
  issuanceAttacks,
  issuanceDeeds,
  ordersOfPlatform,
  shimCertificate,
  solvers,
} from './issuance.rows.ts';
import {MANAGED, manifest} from './manifests.ts';

let world: AdmissionWorld;

beforeAll(async () => {
  world = await startAdmissionWorld(...LISTED);
  for (const object of MANAGED) await world.act('operator', 'create', object);
});
afterAll(() => world?.api.stop());

const act: AdmissionWorld['act'] = (...args) => world.act(...args);

function asTenant(...args: readonly string[]): Promise<string> {
  return world.kubectl('tenant', args);
}

function asCertManager(...args: readonly string[]): Promise<string> {
  return world.kubectl('certManager', args);
}

describe.concurrent('a tenant is refused', () => {
  test.each(issuanceAttacks)('$attack', attack => expectRefused(world, attack));
});

describe.concurrent('a tenant may', () => {
  test.each(issuanceDeeds)('$deed', async ({object}) => {
    await expect(act('tenant', 'create', object)).resolves.toContain('created');
  });
});

describe('what cert-manager creates', () => {
  const patched = (kind: string, name: string, patch: object, ...flags: string[]) => [
    'patch',
    kind,
    name,
    '--type',
    'merge',
    '--patch',
    JSON.stringify(patch),
    ...flags,
  ];

  // attack: tenant-issuer
  // promise: outage
  test.each([...challenges, ...solvers])('$deed is refused, whoever writes it', async ({object}) => {
    const says = /cert-manager must not solve challenges|Nothing solves challenges/;
    for (const who of ['certManager', 'admin'] as const) {
      await expect(act(who, 'create', object)).rejects.toThrow(says);
    }
    await expect(act('tenant', 'create', object)).rejects.toThrow('denied request'); // several policies refuse it
  });

  // attack: tenant-issuer
  test('a Pod of a solver is refused from a tenant’s template, too', async () => {
    await expect(act('replicaSets', 'create', solvers[0]?.object)).rejects.toThrow('Nothing solves challenges');
  });

  // attack: tenant-issuer
  test.each(ordersOfPlatform)('$deed passes, and a tenant cannot write it', async ({object}) => {
    await expect(act('tenant', 'create', object)).rejects.toThrow('Only cert-manager may write this');
    await expect(act('certManager', 'create', object)).resolves.toContain('created');
  });

  // attack: cert-manager-work
  test('a Certificate from an issuer that is not listed is refused, and a request for one of the operator’s is not', async () => {
    await expect(act('certManager', 'create', shimCertificate)).rejects.toThrow('Nameplate would not approve');
    const spec = {request: 'AA==', issuerRef: {name: 'letsencrypt', kind: 'ClusterIssuer'}};
    const request = manifest('CertificateRequest', 'of-the-operator', {spec});
    await expect(act('certManager', 'create', request)).resolves.toContain('created');
  });

  test('a Secret with the next private key of a Certificate, which a tenant cannot change, and may delete', async () => {
    const secret = manifest('Secret', 'next', {data: {}}, {labels: NEXT_KEY});
    await expect(act('certManager', 'create', secret)).resolves.toContain('created');
    const finalizers = {metadata: {finalizers: ['mallory.example/keep']}};
    await expect(asTenant(...patched('secret', 'next', finalizers))).rejects.toThrow('Only cert-manager may write');
    await expect(asTenant('delete', 'secret', 'next')).resolves.toContain('deleted');
  });

  // attack: tenant-issuer
  test.each([
    {kind: 'challenge', name: 'managed'},
    {kind: 'order', name: 'managed'},
    {kind: 'certificaterequest', name: 'managed'},
  ])('a tenant cannot label, keep, or delete a $kind', async ({kind, name}) => {
    const spec = {request: 'AA==', issuerRef: {name: 'any'}};
    const username = 'system:serviceaccount:cert-manager:cert-manager';
    const objects = [
      order('managed', [DEFAULT_HOST]),
      challenge('managed', DEFAULT_HOST, BY_DNS),
      manifest('CertificateRequest', 'managed', {spec: {...spec, username}}),
    ];
    for (const object of objects.filter(each => each.kind.toLowerCase() === kind))
      await act('certManager', 'create', object);
    for (const metadata of [{labels: {solver: 'other'}}, {finalizers: ['mallory.example/stay']}]) {
      await expect(asTenant(...patched(kind, name, {metadata}))).rejects.toThrow('Only cert-manager may write this');
    }
    const status = patched(kind, name, {status: {state: 'valid', conditions: []}}, '--subresource', 'status');
    await expect(asTenant(...status)).rejects.toThrow('Only cert-manager may write this');
    await expect(asTenant('delete', kind, name)).rejects.toThrow('Only cert-manager may write this');
  });

  // attack: tenant-issuer
  test('its cleanup passes: an Order and a Challenge of before, and what they left', async () => {
    await world.install(...LISTED, '--set', 'admission.mode=audit');
    const finalizers = ['acme.cert-manager.io/finalizer'];
    const old = challenge('old', HELD);
    const objects = [
      order('old', [HELD]),
      {...old, metadata: {...old.metadata, finalizers}},
      ...solvers.map(it => it.object),
    ];
    for (const object of objects) await act('certManager', 'create', object);
    await world.install(...LISTED);
    await expect(act('certManager', 'create', order('new', [HELD]))).rejects.toThrow('must not solve challenges');
    const processing = {status: {processing: true, presented: true}};
    await asCertManager(...patched('challenge', 'old', processing, '--subresource', 'status'));
    await asCertManager(...patched('order', 'old', {status: {state: 'errored'}}, '--subresource', 'status'));
    await asCertManager('delete', 'challenge', 'old', '--wait=false');
    await asCertManager(...patched('challenge', 'old', {metadata: {finalizers: null}}));
    for (const {kind, metadata} of [objects[0], ...solvers.map(it => it.object)].flatMap(it => it ?? [])) {
      await asCertManager('delete', kind, metadata.name, '--wait=false');
    }
  });

  test('a tenant does not approve or change its own request, though cert-manager’s webhook is not there', async () => {
    const says = 'Only cert-manager may write this CertificateRequest';
    await act(
      'tenant',
      'create',
      manifest('CertificateRequest', 'own', {spec: {request: 'AA==', issuerRef: {name: 'any'}}}),
    );
    const approved = {
      type: 'Approved',
      status: 'True',
      reason: 'Mine',
      message: 'mine',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const approve = patched('certificaterequest', 'own', {status: {conditions: [approved]}}, '--subresource', 'status');
    await expect(asTenant(...approve)).rejects.toThrow(says);
    const username = 'system:serviceaccount:cert-manager:cert-manager';
    await expect(asTenant(...patched('certificaterequest', 'own', {spec: {username}}))).rejects.toThrow(says);
    await expect(
      asTenant(...patched('certificaterequest', 'own', {metadata: {labels: {team: 'mine'}}})),
    ).resolves.toBeDefined();
  });
});

test('in audit mode, a challenge passes', async () => {
  await world.install('--set', 'admission.mode=audit');
  await expect(act('certManager', 'create', challenge('audited', HELD))).resolves.toContain('created');
});
