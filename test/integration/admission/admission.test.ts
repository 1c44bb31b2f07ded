/** The chart's admission policies on a real API server: what a tenant who may write everything in its namespace tries. */
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/identity.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {run} from '../../cluster/children.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {installCertManagerCrds} from '../operator/cert-manager.ts';
import {allowed, attacks, MANAGED, manifest, TENANT} from './rows.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SYSTEM = 'nameplate-system';

let api: ApiServer;
let kubectl: string;
/** Kubeconfigs by who they act as. */
const identities: Record<'tenant' | 'operator' | 'certManager', string> = {tenant: '', operator: '', certManager: ''};

beforeAll(async () => {
  const programs = await ensurePrograms(['helm', 'traefik', 'kube']);
  kubectl = programs.path('kubectl');
  api = await startApiServer({crds: [join(ROOT, 'crds'), programs.asset('traefik-crds.yml')]});
  await installCertManagerCrds(api);
  await api.apply(gatewayKind());
  await api.kubectl(
    'wait',
    '--for=condition=Established',
    '--timeout=30s',
    'crd',
    'httproutes.gateway.networking.k8s.io',
  );
  for (const namespace of [TENANT, SYSTEM, 'cert-manager']) await api.kubectl('create', 'namespace', namespace);
  await api.kubectl('create', 'serviceaccount', 'cert-manager', '-n', 'cert-manager');
  await api.kubectl('create', 'serviceaccount', 'tenant', '-n', TENANT);
  await api.apply(await renderChart(programs.path('helm')));
  await api.apply(tenantRights());
  // As much as the real ones have, in what matters here.
  const rights = ['--clusterrole=cluster-rw', '--serviceaccount=cert-manager:cert-manager'];
  await api.kubectl('create', 'clusterrolebinding', 'cert-manager', ...rights);
  identities.tenant = await api.kubeconfigFor(TENANT, 'tenant');
  identities.operator = await api.kubeconfigFor(SYSTEM, 'nameplate');
  identities.certManager = await api.kubeconfigFor('cert-manager', 'cert-manager');
  await until('the policies are in force', () =>
    act('tenant', 'create', manifest('Ingress', 'canary', {})).then(
      async () => {
        await api.kubectl('delete', 'ingress', 'canary', '-n', TENANT);
        return false;
      },
      (error: Error) => error.message.includes('ValidatingAdmissionPolicy'),
    ),
  );
  for (const object of MANAGED) await act('certManager', 'create', object);
});
afterAll(() => api?.stop());

async function renderChart(helm: string): Promise<string> {
  const files = ['admission', 'rbac', 'serviceaccount', 'tenant-roles'];
  const shown = files.flatMap(file => ['--show-only', `templates/${file}.yaml`]);
  const values = ['--values', join(ROOT, 'examples/values.yaml')];
  return run([helm, 'template', 'nameplate', join(ROOT, 'charts/nameplate'), '-n', SYSTEM, ...values, ...shown]);
}

/** The kind alone: the policies look at nothing in it. */
function gatewayKind(): string {
  const group = 'gateway.networking.k8s.io';
  const names = {kind: 'HTTPRoute', plural: 'httproutes'};
  const schema = {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}};
  const versions = [{name: 'v1', served: true, storage: true, schema}];
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: `httproutes.${group}`, annotations: {'api-approved.kubernetes.io': 'unapproved, for a test'}},
    spec: {group, names, scope: 'Namespaced', versions},
  });
}

/** Namespaced admin, and everything else that a platform may have given away in the namespace. */
function tenantRights(): string {
  const rbac = 'rbac.authorization.k8s.io';
  const groups = [
    '',
    'networking.k8s.io',
    'gateway.networking.k8s.io',
    'discovery.k8s.io',
    'traefik.io',
    'cert-manager.io',
    'acme.cert-manager.io',
  ];
  const bind = (name: string) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: {name, namespace: TENANT},
    roleRef: {apiGroup: rbac, kind: 'ClusterRole', name},
    subjects: [{kind: 'ServiceAccount', name: 'tenant', namespace: TENANT}],
  });
  const role = (name: string, resources: readonly string[]) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: {name},
    rules: [{apiGroups: groups, resources, verbs: ['*']}],
  });
  const label = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: {name: 'label-namespaces'},
    rules: [{apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'update', 'patch', 'create']}],
  };
  const labels = {...bind('label-namespaces'), kind: 'ClusterRoleBinding', metadata: {name: 'label-namespaces'}};
  const items = [role('cluster-rw', ['*']), bind('cluster-rw'), bind('admin'), label, labels];
  return JSON.stringify({apiVersion: 'v1', kind: 'List', items});
}

/** As an identity; rejects with what kubectl says. */
function act(as: keyof typeof identities, verb: string, object: unknown, ...flags: readonly string[]): Promise<string> {
  return run([kubectl, '--kubeconfig', identities[as], verb, ...flags, '-f', '-'], {input: JSON.stringify(object)});
}

function asTenant(...args: readonly string[]): Promise<string> {
  return run([kubectl, '--kubeconfig', identities.tenant, '-n', TENANT, ...args]);
}

describe.concurrent('a tenant is refused', () => {
  test.each(attacks)('$attack', async ({object, says}) => {
    await expect(act('tenant', 'create', object)).rejects.toThrow(says);
    const said = await act('operator', 'create', object, '--dry-run=server').catch((error: Error) => error.message);
    expect(said, 'the operator is not').not.toContain(says);
  });

  test.each(MANAGED.map(object => ({kind: object.kind, name: object.metadata.name})))(
    'an edit, a finalizer, and the deletion of the managed $kind',
    async ({kind, name}) => {
      const says = /(managed|written) by Nameplate/;
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
    await expect(asTenant('patch', 'service', 'honest', ...patch)).rejects.toThrow('Leave spec.externalIPs out');
  });

  test('the status of an Order, of which Challenges would be made', async () => {
    const order = {request: 'AA==', dnsNames: ['shop.example.com'], issuerRef: {name: 'mine'}};
    await act('certManager', 'create', manifest('Order', 'honest', {spec: order}));
    const status = {authorizations: [{url: 'https://ca.example/1', identifier: 'login.victim.example'}]};
    const patch = ['--subresource', 'status', '--type', 'merge', '--patch', JSON.stringify({status})];
    await expect(asTenant('patch', 'order', 'honest', ...patch)).rejects.toThrow('made by cert-manager');
  });

  test('the status of a managed Certificate, by which it would be issued anew at once', async () => {
    const status = {
      conditions: [{type: 'Issuing', status: 'True', reason: 'x', lastTransitionTime: '2026-01-01T00:00:00Z'}],
    };
    const patch = ['--subresource', 'status', '--type', 'merge', '--patch', JSON.stringify({status})];
    await expect(asTenant('patch', 'certificate', routeName(TENANT, 'shop.example.com'), ...patch)).rejects.toThrow(
      'managed by Nameplate',
    );
  });

  test.each([LABEL.plan, LABEL.account])('the label %s, on an old or a new namespace', async label => {
    const says = "the platform team's to set";
    await expect(asTenant('label', 'namespace', TENANT, `${label}=pro`)).rejects.toThrow(says);
    const metadata = {name: `new-${label.replace(/[./]/g, '-')}`, labels: {[label]: 'pro'}};
    await expect(act('tenant', 'create', {apiVersion: 'v1', kind: 'Namespace', metadata})).rejects.toThrow(says);
    await expect(
      asTenant('label', 'namespace', TENANT, `team=${label.replace('/', '-')}`, '--overwrite'),
    ).resolves.toBeDefined();
  });
});

describe.concurrent('a tenant may', () => {
  test.each(allowed)('$deed', async ({object}) => {
    await expect(act('tenant', 'create', object)).resolves.toContain('created');
  });
});

test('a tenant may have its objects named by the API server', async () => {
  const {metadata: _, ...service} = manifest('Service', '', {spec: {selector: {app: 'mine'}, ports: [{port: 80}]}});
  const metadata = {generateName: 'mine-', namespace: TENANT};
  await expect(act('tenant', 'create', {...service, metadata})).resolves.toContain('created');
});

test('a tenant may change a Service to which the platform gave an address', async () => {
  const spec = {selector: {app: 'mine'}, ports: [{port: 80}], externalIPs: ['192.0.2.81']};
  await act('operator', 'create', manifest('Service', 'addressed', {spec}));
  await expect(asTenant('label', 'service', 'addressed', 'team=mine')).resolves.toContain('labeled');
});

test('the garbage collector and the namespace controller are not in the way', async () => {
  const name = 'leaving';
  await api.kubectl('create', 'namespace', name);
  for (const object of MANAGED)
    await act('certManager', 'create', {...object, metadata: {...object.metadata, namespace: name}});
  await api.kubectl('delete', 'namespace', name, '--wait', '--timeout=60s');
});

test('who may assign plans sets the labels', async () => {
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
  const labelled = await run([kubectl, '--kubeconfig', billing, 'label', 'namespace', TENANT, `${LABEL.plan}=pro`]);
  expect(labelled).toContain('labeled');
});
