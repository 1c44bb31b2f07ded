/** Who there is, what there is, and who may do what with it. */
import {LABEL} from '../../../src/api/names.ts';

export const TENANT = 'acme';
const HOST = 'shop.example.com';
const API = 'nameplate.dev/v1alpha1';

export interface Binding {
  readonly role: string;
  /** By a ClusterRoleBinding; else by a RoleBinding in the tenant's namespace. */
  readonly everywhere?: true;
}

/** The first three are what Kubernetes calls its users; the owner has every right in its namespace. */
export const identities = {
  viewer: [{role: 'view'}],
  editor: [{role: 'edit'}],
  admin: [{role: 'admin'}],
  owner: [{role: 'every-right'}],
  platform: [
    {role: 'nameplate-platform-admin', everywhere: true},
    {role: 'publish-and-label', everywhere: true},
  ],
  billing: [
    {role: 'nameplate-assign-plans', everywhere: true},
    {role: 'publish-and-label', everywhere: true},
  ],
  nobody: [],
} satisfies Readonly<Record<string, readonly Binding[]>>;

export type Identity = keyof typeof identities;

const clusterRole = (name: string, rules: readonly object[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: {name},
  rules,
});

const project = {
  apiVersion: API,
  kind: 'Project',
  metadata: {name: 'shop', namespace: TENANT},
  spec: {service: {name: 'shop', port: 80}},
};
const domain = {
  apiVersion: API,
  kind: 'Domain',
  metadata: {name: HOST, namespace: TENANT},
  spec: {host: HOST, projectRef: {name: 'shop'}},
};
const apiKey = {
  apiVersion: API,
  kind: 'APIKey',
  metadata: {name: 'shop', namespace: TENANT},
  spec: {scopes: ['messages:read']},
};
const claim = {
  apiVersion: API,
  kind: 'DomainClaim',
  metadata: {name: HOST},
  spec: {account: TENANT, namespace: TENANT, since: '2026-01-01T00:00:00Z'},
};

export const OBJECTS: readonly object[] = [
  clusterRole('every-right', [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]),
  clusterRole('publish-and-label', [
    {apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['create']},
    {apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'patch']},
  ]),
  project,
  domain,
  apiKey,
  claim,
];

const rules = [
  {
    host: HOST,
    http: {paths: [{path: '/', pathType: 'Prefix', backend: {service: {name: 'shop', port: {number: 80}}}}]},
  },
];

/** What `attempt` takes after the identity. */
export const EDGE_INGRESS = [
  ['create', '--dry-run=server', '-f', '-'],
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {name: 'mine', namespace: TENANT},
    spec: {ingressClassName: 'traefik', rules},
  },
] as const;

interface Deed {
  readonly deed: string;
  /** Of kubectl. */
  readonly args: readonly string[];
  readonly object?: object;
  readonly may: readonly Identity[];
}

const READERS: readonly Identity[] = ['viewer', 'editor', 'admin', 'owner', 'platform'];
const WRITERS: readonly Identity[] = ['editor', 'admin', 'owner', 'platform'];

function patch(target: readonly string[], change: object, ...flags: readonly string[]): readonly string[] {
  return ['patch', ...target, '--type=merge', `--patch=${JSON.stringify(change)}`, '--dry-run=server', ...flags];
}

interface Subject {
  readonly metadata: {readonly name: string};
  readonly spec: object;
}

/** All deeds with one kind; `other` is to be created, `existing` stands. */
function withKind(
  kind: string,
  existing: Subject,
  other: Subject,
  readers: readonly Identity[],
  writers: readonly Identity[],
): Deed[] {
  const where = ['-n', TENANT];
  const target = [kind, existing.metadata.name, ...where];
  const object = {...existing, metadata: {...existing.metadata, ...other.metadata}, spec: other.spec};
  return [
    {deed: `read a ${kind}`, args: ['get', ...target], may: readers},
    {deed: `list ${kind}s`, args: ['get', kind, ...where], may: readers},
    {deed: `create a ${kind}`, args: ['create', '--dry-run=server', '-f', '-'], object, may: writers},
    {deed: `change a ${kind}`, args: patch(target, {metadata: {labels: {team: 'a'}}}), may: writers},
    {deed: `delete a ${kind}`, args: ['delete', ...target, '--dry-run=server'], may: writers},
  ];
}

const OTHER_HOST = 'www.example.com';
const named = (name: string, spec: object): Subject => ({metadata: {name}, spec});
const otherDomain = named(OTHER_HOST, {...domain.spec, host: OTHER_HOST});

export const deeds: readonly Deed[] = [
  ...withKind('project', project, named('other', project.spec), READERS, WRITERS),
  ...withKind('domain', domain, otherDomain, READERS, WRITERS),
  ...withKind('apikey', apiKey, named('other', apiKey.spec), READERS, WRITERS),
  ...['project/shop', `domain/${HOST}`, 'apikey/shop'].map(name => ({
    deed: `write the status of ${name}`,
    args: patch([name, '-n', TENANT], {status: {observedGeneration: 1}}, '--subresource=status'),
    may: ['owner', 'platform'] as const,
  })),
  // Claims are of the cluster, so every right in a namespace does not reach them.
  ...withKind('domainclaim', claim, named(OTHER_HOST, claim.spec), ['platform'], ['platform']),
  {deed: 'write an Ingress of the edge', args: EDGE_INGRESS[0], object: EDGE_INGRESS[1], may: ['platform']},
  ...[LABEL.plan, LABEL.account].map(label => ({
    deed: `set the label ${label}`,
    args: patch(['namespace', TENANT], {metadata: {labels: {[label]: 'pro'}}}),
    may: ['platform', 'billing'] as const,
  })),
];
