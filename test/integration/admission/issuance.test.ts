/**
 * What a tenant tries to make cert-manager do, and what cert-manager may do: on a real API server, with the chart's
 * policies.
 */
import {randomUUID} from 'node:crypto';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {hostBytes, MAX_RECORD_BYTES} from '../../../src/api/held-hosts-size.ts';
import {API_VERSION} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/model/derived-names.ts';
import {CHALLENGE, type Challenge, HELD_HOSTS, HELD_HOSTS_NAME} from '../../../src/operator/model/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {createTestClient} from '../../support/kube.ts';
import {type AdmissionWorld, expectRefused, startAdmissionWorld} from './admission-world.ts';
import {BY_DNS, challenge, HELD, LISTED, NEXT_KEY, solverIngress, solverRoute} from './challenges.ts';
import {answers, issuanceAttacks, issuanceDeeds, shimCertificate, solverPod, unheld} from './issuance.rows.ts';
import {MANAGED, manifest, TENANT, VICTIM} from './manifests.ts';

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
  const record = manifest('HeldHosts', 'nameplate', {spec: {hosts: {[HELD]: 'any'}}});
  const heldPatch = (uid: string | null) => JSON.stringify({spec: {hosts: {[HELD]: uid}}});
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

  const resource = {apiGroup: 'any.example', kind: 'Any', name: 'any'};
  const resourcePath = {path: '/any', pathType: 'Exact', backend: {resource}};

  test.each(unheld)('$deed is refused while the namespace holds nothing', async ({object}) => {
    await expect(act('certManager', 'create', object)).rejects.toThrow('nameplate-challenges');
  });

  test('a Certificate from an issuer that is not listed is refused, and a request for one of the operator’s is not', async () => {
    await expect(act('certManager', 'create', shimCertificate)).rejects.toThrow('Nameplate would not approve');
    const spec = {request: 'AA==', issuerRef: {name: 'letsencrypt', kind: 'ClusterIssuer'}};
    const request = manifest('CertificateRequest', 'of-the-operator', {spec});
    await expect(act('certManager', 'create', request)).resolves.toContain('created');
  });

  test('a Pod of a solver, which a trusted controller cannot create from a tenant’s template', async () => {
    await expect(act('replicaSets', 'create', solverPod)).rejects.toThrow(
      'Only cert-manager may create challenge solvers',
    );
  });

  test('a Secret with the next private key of a Certificate, which a tenant cannot change, and may delete', async () => {
    const secret = manifest('Secret', 'next', {data: {}}, {labels: NEXT_KEY});
    await expect(act('certManager', 'create', secret)).resolves.toContain('created');
    const finalizers = {metadata: {finalizers: ['mallory.example/keep']}};
    await expect(asTenant(...patched('secret', 'next', finalizers))).rejects.toThrow('Only cert-manager may write');
    await expect(asTenant('delete', 'secret', 'next')).resolves.toContain('deleted');
  });

  test('a Challenge and its solver for a host that the namespace holds', async () => {
    await act('operator', 'create', record);
    const created = () => act('certManager', 'create', challenge('held', HELD, {solver: {http01: {ingress: {}}}}));
    await until('the policy sees the record', () =>
      created().then(
        () => true,
        () => false,
      ),
    );
    await expect(act('certManager', 'create', solverIngress('held', [{host: HELD}]))).resolves.toContain('created');
    await expect(act('certManager', 'create', solverRoute('held', [HELD]))).resolves.toContain('created');
    await expect(act('certManager', 'create', challenge('by-dns', HELD, BY_DNS))).resolves.toContain('created');
  });

  test.each(unheld)('$deed is refused', async ({object}) => {
    await expect(act('certManager', 'create', object)).rejects.toThrow('This namespace does not hold');
    await expect(act('admin', 'create', object)).rejects.toThrow('This namespace does not hold');
  });

  test('an Ingress without the label of a solver', async () => {
    const {metadata, ...rest} = solverIngress('unlabeled', [{host: HELD}]);
    const unlabeled = {...rest, metadata: {...metadata, labels: {}}};
    await expect(act('certManager', 'create', unlabeled)).rejects.toThrow(
      'may write only the routes of its own solvers',
    );
    const annotations = {metadata: {annotations: {any: 'any'}}};
    const name = routeName(TENANT, HELD);
    await expect(asCertManager(...patched('ingress', name, annotations))).rejects.toThrow(
      'may write only the routes of its own solvers',
    );
  });

  test.each([
    {edit: 'another host', kind: 'ingress', spec: solverIngress('held', [{host: VICTIM}]).spec},
    {edit: 'every host', kind: 'ingress', spec: solverIngress('held', [{}]).spec},
    {edit: 'another host', kind: 'httproute', spec: {hostnames: [VICTIM]}},
    {edit: 'one more host', kind: 'httproute', spec: {hostnames: [HELD, VICTIM]}},
    {edit: 'every host', kind: 'httproute', spec: {hostnames: null}},
  ])('an edit that moves a solver ($kind) to $edit', async ({kind, spec}) => {
    const says = "The host of a challenge, and of its solver's route, cannot be changed";
    for (const who of ['certManager', 'admin'] as const) {
      await expect(world.kubectl(who, patched(kind, 'held', {spec}))).rejects.toThrow(says);
    }
  });

  test('an edit that leaves the host of a solver as it is', async () => {
    const spec = {parentRefs: [{name: 'other', namespace: 'gateway'}]};
    await expect(asCertManager(...patched('httproute', 'held', {spec}))).resolves.toContain('patched');
  });

  test.each([
    {edit: 'a rule without a path', spec: {rules: [{host: HELD}]}},
    {edit: 'a backend that is no Service', spec: {rules: [{host: HELD, http: {paths: [resourcePath]}}]}},
    {edit: 'no label', metadata: {labels: {'acme.cert-manager.io/http01-solver': null}}},
  ])(
    'a tenant cannot change the route of a challenge, which cert-manager reads unchecked: $edit, with another class',
    async ({spec, metadata = {}}) => {
      const edit = {metadata, spec: {...spec, ingressClassName: 'internal'}};
      await expect(asTenant(...patched('ingress', 'held', edit))).rejects.toThrow(
        'Only cert-manager may change the route of a challenge',
      );
    },
  );

  test.each([
    {kind: 'challenge', name: 'held'},
    {kind: 'order', name: 'managed'},
    {kind: 'certificaterequest', name: 'managed'},
  ])('a tenant cannot label, keep, or delete a $kind', async ({kind, name}) => {
    const spec = {request: 'AA==', issuerRef: {name: 'any'}};
    const username = 'system:serviceaccount:cert-manager:cert-manager';
    const objects = [
      manifest('Order', 'managed', {spec: {...spec, dnsNames: [HELD]}}),
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

  test.each(answers)('an Order with an ACME server’s answer: $answer', async ({authorizations, says}) => {
    const name = 'answered';
    const order = manifest('Order', name, {spec: {request: 'AA==', issuerRef: {name: 'any'}, dnsNames: [HELD]}});
    await act('certManager', 'apply', order);
    const status = patched('order', name, {status: {authorizations}}, '--subresource', 'status');
    const answered = asCertManager(...status);
    await (says ? expect(answered).rejects.toThrow(says) : expect(answered).resolves.toContain('patched'));
    await asCertManager('delete', 'order', name);
  });

  test('its cleanup passes after the namespace has lost the host', async () => {
    const hosts = JSON.stringify({spec: {hosts: {[HELD]: null}}});
    await world.kubectl('admin', ['patch', 'heldhosts', 'nameplate', '--type', 'merge', '--patch', hosts]);
    let tries = 0;
    const refused = () =>
      act('certManager', 'create', challenge(`late-${++tries}`, HELD)).then(
        () => false,
        () => true,
      );
    await until('the policy sees the loss', refused);
    const processing = {status: {processing: true, presented: true}};
    await asCertManager(...patched('challenge', 'held', processing, '--subresource', 'status'));
    await asCertManager(...patched('challenge', 'held', {metadata: {finalizers: ['acme.cert-manager.io/finalizer']}}));
    await asCertManager('delete', 'challenge', 'held', '--wait=false');
    await asCertManager(...patched('challenge', 'held', {metadata: {finalizers: null}}));
    await asCertManager('delete', 'ingress', 'held');
    await asCertManager('delete', 'httproute', 'held');
  });

  test('its cleanup passes where the record is gone, as while a namespace is being deleted', async () => {
    const finalizers = ['acme.cert-manager.io/finalizer'];
    await world.kubectl('admin', ['patch', 'heldhosts', 'nameplate', '--type', 'merge', '--patch', heldPatch('any')]);
    const object = challenge('orphan', HELD, {solver: {http01: {ingress: {}}}});
    const created = {...object, metadata: {...object.metadata, finalizers}};
    await until('the host is held again', () =>
      act('certManager', 'create', created).then(
        () => true,
        () => false,
      ),
    );
    await world.kubectl('admin', ['delete', 'heldhosts', 'nameplate']);
    let tries = 0;
    const refused = () =>
      act('certManager', 'create', challenge(`later-${++tries}`, HELD)).then(
        () => false,
        () => true,
      );
    await until('the record is gone', refused);
    await asCertManager('delete', 'challenge', 'orphan', '--wait=false');
    await asCertManager(...patched('challenge', 'orphan', {metadata: {finalizers: null}}));
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

  test('a tenant cannot write the record', async () => {
    const says = 'Only Nameplate may write DomainClaims, KeyClaims, and HeldHosts';
    await act('operator', 'create', record);
    await expect(asTenant(...patched('heldhosts', 'nameplate', {spec: {hosts: {any: 'any'}}}))).rejects.toThrow(says);
    await expect(asTenant('delete', 'heldhosts', 'nameplate')).rejects.toThrow(says);
  });
});

test.each([
  {names: 'short', label: ''},
  {names: 'the longest', label: 'a'.repeat(59)},
])('a full record of $names names can be written, and the policy reads it', async ({names, label}) => {
  const namespace = `full-of-${names.replace(' ', '-')}`;
  await world.kubectl('admin', ['create', 'namespace', namespace]);
  const hosts: Record<string, string> = {};
  const nameOf = (index: number) =>
    [`${10_000_000 + index}`, label, label, label, label, 'test'].filter(Boolean).join('.');
  for (let bytes = 0, index = 0; bytes + hostBytes(nameOf(index)) <= MAX_RECORD_BYTES; index++) {
    bytes += hostBytes(nameOf(index));
    hosts[nameOf(index)] = randomUUID();
  }
  const client = createTestClient(world.api.kubeconfig);
  onTestFinished(() => client.close());
  const [last = ''] = Object.keys(hosts).slice(-1);
  const {[last]: uid, ...others} = hosts;
  const key = {namespace, name: HELD_HOSTS_NAME};
  const object = {apiVersion: API_VERSION, kind: HELD_HOSTS.kind, metadata: key, spec: {hosts: others}};
  await client.create(HELD_HOSTS, object);
  await client.patch(HELD_HOSTS, key, {spec: {hosts: {[last]: uid}}}, {metadataOnly: true});
  const create = (name: string, host: string) => {
    const {metadata, ...rest} = challenge(name, host, {solver: {http01: {ingress: {}}}});
    return client.create(CHALLENGE, {...rest, metadata: {...metadata, namespace}} as unknown as Challenge);
  };
  await until('the policy sees the record', () => create('held', last));
  await expect(create('foreign', 'foreign.test')).rejects.toThrow('This namespace does not hold foreign.test');
});

test('in audit mode, a challenge passes where no record exists', async () => {
  await world.install('--set', 'admission.mode=audit');
  const namespace = 'adopting';
  await world.kubectl('admin', ['create', 'namespace', namespace]);
  const object = challenge('unheld', 'adopting.example.com');
  const created = {...object, metadata: {...object.metadata, namespace}};
  await world.kubectl('certManager', ['create', '-n', namespace, '-f', '-'], created);
});
