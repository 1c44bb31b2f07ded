/** The chart's admission policies on a real API server, and the users who write there. */
import {dirname, join} from 'node:path';
import {expect} from 'vitest';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {run} from '../../cluster/children.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import {installCertManagerCrds} from '../operator/cert-manager.ts';
import {type ObjectAttack, OTHER_EDGE, TENANT} from './manifests.ts';

const ROOT = join(import.meta.dirname, '../../..');
const RBAC = 'rbac.authorization.k8s.io';

/** A controller of Kubernetes. Here, kube-controller-manager itself acts as the administrator. */
function controller(name: string): readonly string[] {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'];
  return ['--as', `system:serviceaccount:kube-system:${name}`, ...groups.flatMap(group => ['--as-group', group])];
}

/** A service account as `namespace/name`, or what the administrator impersonates. */
const WHO = {
  tenant: `${TENANT}/tenant`,
  operator: `${RELEASE.namespace}/nameplate`,
  certManager: 'cert-manager/cert-manager',
  edge: 'traefik/traefik',
  /** Like `edge`, but with its rights only in the tenant's namespace, and listed in admission.statusWriters. */
  confinedEdge: 'traefik/confined',
  loadBalancer: 'metallb-system/controller',
  admin: [],
  garbageCollector: controller('generic-garbage-collector'),
  namespaceController: controller('namespace-controller'),
  replicaSets: controller('replicaset-controller'),
  node: ['--as', 'system:node:worker', '--as-group', 'system:nodes', '--as-group', 'system:authenticated'],
} as const;

export type Who = keyof typeof WHO;

export interface AdmissionWorld {
  readonly api: ApiServer;
  /** Runs kubectl as one of the users, in the tenant's namespace; rejects with its output. */
  kubectl(who: Who, args: readonly string[], input?: unknown): Promise<string>;
  /** `kubectl VERB -f -`. */
  act(who: Who, verb: string, object: unknown, ...flags: readonly string[]): Promise<string>;
  /** Runs kubectl with a separate kubeconfig. */
  kubectlWith(kubeconfig: string, ...args: readonly string[]): Promise<string>;
  /** Installs the chart's policies and rights again, with other values. */
  install(...values: readonly string[]): Promise<void>;
}

/** `values`: further flags for Helm. */
export async function startAdmissionWorld(...values: readonly string[]): Promise<AdmissionWorld> {
  const programs = await ensurePrograms([HELM, 'traefik', 'kube']);
  const api = await startApiServer({crds: [join(ROOT, 'crds'), programs.asset('traefik-crds.yml')]});
  const program = [programs.path('kubectl'), '--cache-dir', join(dirname(api.kubeconfig), 'kubectl-cache')];
  await installCertManagerCrds(api);
  await installOtherKinds(api);
  const kubeconfigs = await createIdentities(api);
  const kubectl: AdmissionWorld['kubectl'] = (who, args, input) => {
    const as = kubeconfigs.get(who) ?? ['--kubeconfig', api.kubeconfig, ...WHO[who]];
    const options = input === undefined ? {} : {input: JSON.stringify(input)};
    return run([...program, ...as, '-n', TENANT, ...args], options);
  };
  const act: AdmissionWorld['act'] = (who, verb, object, ...flags) => kubectl(who, [verb, ...flags, '-f', '-'], object);
  let installs = 0;
  const install = async (...values: readonly string[]) => {
    await api.apply(await renderChart(programs.path('helm'), values));
    const name = `installed-${++installs}`;
    await api.apply(markerPolicy(name));
    const marker = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}};
    await until(`the API server applies the policies of ${name}`, () =>
      act('admin', 'create', marker, '--dry-run=server').then(
        () => false,
        (error: Error) => error.message.includes(`${name} is in force`),
      ),
    );
  };
  await install(...values);
  await api.apply(rights());
  const kubectlWith = (kubeconfig: string, ...args: readonly string[]) =>
    run([...program, '--kubeconfig', kubeconfig, ...args]);
  return {api, kubectl, act, kubectlWith, install};
}

/** Expects that the tenant cannot create the object, but the operator can. */
export async function expectRefused({act}: AdmissionWorld, {object, says}: ObjectAttack): Promise<void> {
  await expect(act('tenant', 'create', object)).rejects.toThrow(says);
  const said = await act('operator', 'create', object, '--dry-run=server').catch((error: Error) => error.message);
  expect(said, 'the operator is not').not.toContain(says);
}

/**
 * Refuses the ConfigMap `name`. The API server reads policies and bindings in the order of their writes. So once it
 * applies this policy, it applies all earlier ones.
 */
function markerPolicy(name: string): string {
  const rule = {apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE']};
  const items = [
    {
      kind: 'ValidatingAdmissionPolicy',
      spec: {
        matchConstraints: {resourceRules: [rule]},
        validations: [{expression: `object.metadata.name != '${name}'`, message: `${name} is in force`}],
      },
    },
    {kind: 'ValidatingAdmissionPolicyBinding', spec: {policyName: name, validationActions: ['Deny']}},
  ];
  const apiVersion = 'admissionregistration.k8s.io/v1';
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: items.map(item => ({apiVersion, metadata: {name}, ...item})),
  });
}

function renderChart(helm: string, values: readonly string[]): Promise<string> {
  const files = ['admission*', 'configmap', 'rbac', 'serviceaccount', 'tenant-roles'];
  const shown = files.flatMap(file => ['--show-only', `templates/${file}.yaml`]);
  const [namespace, name] = WHO.confinedEdge.split('/');
  const confined = JSON.stringify([{kind: 'ServiceAccount', name, namespace}]);
  const listed = JSON.stringify(['any', 'mine'].map(issuer => ({name: issuer, kind: 'Issuer'})));
  const sets = [
    ...['--values', join(ROOT, 'examples/values.yaml')],
    ...['--set-json', `admission.statusWriters=${confined}`],
    // So that tenants' Certificates are refused for what a test is about, not for their issuer.
    ...['--set-json', `config.certificates.approval.tenantCertificates.hosts=${listed}`],
  ];
  const chart = ['template', 'nameplate', join(ROOT, 'charts/nameplate'), '-n', RELEASE.namespace];
  return run([helm, ...chart, ...sets, ...values, ...shown]);
}

/** Kinds of which the policies read little or nothing, installed without their schemas. */
async function installOtherKinds(api: ApiServer): Promise<void> {
  const gateway = 'gateway.networking.k8s.io';
  const kinds = [
    {group: gateway, kind: 'HTTPRoute', plural: 'httproutes'},
    {group: gateway, kind: 'Gateway', plural: 'gateways'},
    {group: gateway, kind: 'ListenerSet', plural: 'listenersets'},
    ...['GRPC', 'TLS', 'TCP', 'UDP'].map(protocol => ({
      group: gateway,
      kind: `${protocol}Route`,
      plural: `${protocol.toLowerCase()}routes`,
    })),
    {group: 'gateway.networking.x-k8s.io', kind: 'XListenerSet', plural: 'xlistenersets'},
    {group: 'gateway.envoyproxy.io', kind: 'EnvoyPatchPolicy', plural: 'envoypatchpolicies'},
    {group: 'gateway.envoyproxy.io', kind: 'EnvoyProxy', plural: 'envoyproxies'},
    {group: 'gateway.envoyproxy.io', kind: 'ClientTrafficPolicy', plural: 'clienttrafficpolicies'},
    {group: OTHER_EDGE, kind: 'TrafficPolicy', plural: 'trafficpolicies'},
    {group: 'externaldns.k8s.io', kind: 'DNSEndpoint', plural: 'dnsendpoints'},
  ];
  const schema = {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}};
  const items = kinds.map(({group, kind, plural}) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: `${plural}.${group}`, annotations: {'api-approved.kubernetes.io': 'unapproved, for a test'}},
    spec: {
      group,
      names: {kind, plural},
      scope: 'Namespaced',
      versions: [{name: 'v1', served: true, storage: true, schema, subresources: {status: {}}}],
    },
  }));
  await api.apply(JSON.stringify({apiVersion: 'v1', kind: 'List', items}));
  await untilEstablished(api.kubectl, ...items.map(({metadata}) => metadata.name));
}

async function createIdentities(api: ApiServer): Promise<ReadonlyMap<Who, readonly string[]>> {
  const accounts = Object.entries(WHO).flatMap(([who, account]) =>
    typeof account === 'string' ? [{who, account}] : [],
  );
  const namespaces = new Set(accounts.map(({account}) => account.split('/')[0] ?? ''));
  for (const namespace of namespaces) await api.kubectl('create', 'namespace', namespace);
  const kubeconfigs = new Map<Who, readonly string[]>();
  for (const {who, account} of accounts) {
    const [namespace = '', name = ''] = account.split('/');
    if (who !== 'operator') await api.kubectl('create', 'serviceaccount', name, '-n', namespace);
    else await api.apply(JSON.stringify({apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name, namespace}}));
    kubeconfigs.set(who as Who, ['--kubeconfig', await api.kubeconfigFor(namespace, name)]);
  }
  return kubeconfigs;
}

/**
 * Namespaced admin, everything else that a platform may have granted in the namespace, and the rights of controllers.
 */
function rights(): string {
  const role = (name: string, rules: readonly object[]) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: {name},
    rules,
  });
  const bind = (name: string, who: Who | 'nodes', everywhere = true) => {
    const account = who === 'nodes' ? '' : String(WHO[who]);
    const [namespace, subject] = account.split('/');
    return {
      apiVersion: `${RBAC}/v1`,
      kind: everywhere ? 'ClusterRoleBinding' : 'RoleBinding',
      metadata: {name: `${name}-${who.toLowerCase()}`, ...(!everywhere && {namespace: TENANT})},
      roleRef: {apiGroup: RBAC, kind: 'ClusterRole', name},
      subjects: [
        who === 'nodes'
          ? {kind: 'Group', name: 'system:nodes', apiGroup: RBAC}
          : {kind: 'ServiceAccount', name: subject, namespace},
      ],
    };
  };
  const write = ['get', 'update', 'patch'];
  const [gateway, traefik] = ['gateway.networking.k8s.io', 'traefik.io'];
  const others = [
    'networking.k8s.io',
    gateway,
    'gateway.networking.x-k8s.io',
    'gateway.envoyproxy.io',
    OTHER_EDGE,
    'discovery.k8s.io',
    'externaldns.k8s.io',
  ];
  const groups = ['', ...others, traefik, 'cert-manager.io', 'acme.cert-manager.io'];
  const items = [
    role('everything', [{apiGroups: groups, resources: ['*'], verbs: ['*']}]),
    role('all-of-ours', [{apiGroups: ['nameplate.dev'], resources: ['*'], verbs: ['*']}]),
    role('all-claims', [{apiGroups: ['nameplate.dev'], resources: ['domainclaims', 'keyclaims'], verbs: ['*']}]),
    role('label-namespaces', [{apiGroups: [''], resources: ['namespaces'], verbs: [...write, 'create']}]),
    role('edge', [
      {apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingresses/status'], verbs: write},
      {apiGroups: [gateway], resources: ['httproutes', 'httproutes/status'], verbs: write},
    ]),
    role('load-balancer', [{apiGroups: [''], resources: ['services', 'services/status'], verbs: write}]),
    bind('everything', 'tenant', false),
    bind('all-of-ours', 'tenant', false),
    bind('admin', 'tenant', false),
    bind('label-namespaces', 'tenant'),
    bind('everything', 'certManager'),
    bind('all-claims', 'certManager'),
    bind('edge', 'edge'),
    bind('edge', 'confinedEdge', false),
    bind('load-balancer', 'loadBalancer'),
    bind('system:node', 'nodes'),
    role('read-status', [{apiGroups: [''], resources: ['pods/status'], verbs: ['get']}]), // kubectl patch reads it first
    bind('read-status', 'nodes'),
  ];
  return JSON.stringify({apiVersion: 'v1', kind: 'List', items});
}
