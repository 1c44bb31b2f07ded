/** The identities, the objects, and who may do what with them. */
import {API_VERSION, LABEL} from '../../../src/api/names.ts';
import {ACME, type ApiRequest, change, creation, DRY_RUN, ofTenant} from './requests.ts';

const HOST = 'shop.example.com';

export interface Binding {
  readonly role: string;
  /** With a ClusterRoleBinding; otherwise, with a RoleBinding in the tenant's namespace. */
  readonly everywhere?: true;
}

/** The first three are Kubernetes' own roles for users. The owner has every right in its namespace. */
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
  /** Rights from a platform's own role that is too broad. */
  claimant: [{role: 'every-claim', everywhere: true}],
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
  apiVersion: API_VERSION,
  kind: 'Project',
  metadata: {name: 'shop', namespace: ACME},
  spec: {service: {name: 'shop', port: 80}},
};
const domain = {
  apiVersion: API_VERSION,
  kind: 'Domain',
  metadata: {name: HOST, namespace: ACME},
  spec: {host: HOST, projectRef: {name: 'shop'}},
};
const apiKey = {
  apiVersion: API_VERSION,
  kind: 'APIKey',
  metadata: {name: 'shop', namespace: ACME},
  spec: {scopes: ['messages:read']},
};
const claim = {
  apiVersion: API_VERSION,
  kind: 'DomainClaim',
  metadata: {name: HOST},
  spec: {account: ACME, namespace: ACME, since: '2026-01-01T00:00:00Z'},
};

const HASH = 'a'.repeat(64);
const keyClaim = {
  apiVersion: API_VERSION,
  kind: 'KeyClaim',
  metadata: {name: HASH},
  spec: {account: ACME, namespace: ACME, name: 'shop', uid: 'u', scopes: ['messages:read']},
};

export const OBJECTS: readonly object[] = [
  clusterRole('every-right', [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]),
  clusterRole('every-claim', [{apiGroups: ['nameplate.dev'], resources: ['domainclaims', 'keyclaims'], verbs: ['*']}]),
  clusterRole('publish-and-label', [
    {apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['create']},
    {apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'patch']},
  ]),
  project,
  domain,
  apiKey,
  claim,
  keyClaim,
];

const rules = [
  {
    host: HOST,
    http: {paths: [{path: '/', pathType: 'Prefix', backend: {service: {name: 'shop', port: {number: 80}}}}]},
  },
];

export const EDGE_INGRESS = creation(ofTenant('networking.k8s.io/v1', 'ingresses'), {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: {name: 'mine'},
  spec: {ingressClassName: 'traefik', rules},
});

/** Allowed by a role with every right in the namespace. */
export const OWN_STATUS = change(`${ofTenant(API_VERSION, 'apikeys')}/shop/status`, {status: {account: 'victim'}});

interface Deed {
  readonly deed: string;
  readonly request: ApiRequest;
  readonly may: readonly Identity[];
}

const READERS: readonly Identity[] = ['viewer', 'editor', 'admin', 'owner', 'platform'];
const CLAIM_READERS: readonly Identity[] = ['platform', 'claimant'];
const WRITERS: readonly Identity[] = ['editor', 'admin', 'owner', 'platform'];

interface Subject {
  readonly metadata: {readonly name: string};
  readonly spec: object;
}

/** All actions on the objects at a path. `other` is created; the one with the name already exists. */
function withKind(
  path: string,
  name: string,
  other: Subject,
  readers: readonly Identity[],
  writers: readonly Identity[],
): Deed[] {
  const what = path.replace(/.*\//, '');
  return [
    {deed: `read one of the ${what}`, request: {method: 'GET', path: `${path}/${name}`}, may: readers},
    {deed: `list ${what}`, request: {method: 'GET', path}, may: readers},
    {deed: `create one of the ${what}`, request: creation(path, other), may: writers},
    {
      deed: `change one of the ${what}`,
      request: change(`${path}/${name}`, {metadata: {labels: {team: 'a'}}}),
      may: writers,
    },
    {deed: `delete one of the ${what}`, request: {method: 'DELETE', path: `${path}/${name}${DRY_RUN}`}, may: writers},
    {deed: `delete all ${what}`, request: {method: 'DELETE', path: path + DRY_RUN}, may: writers},
  ];
}

const OTHER_HOST = 'www.example.com';
const named = <T extends Subject>(name: string, object: T, spec: object = {}) => ({
  ...object,
  metadata: {name},
  spec: {...object.spec, ...spec},
});
const [PROJECTS, DOMAINS, API_KEYS] = [
  ofTenant(API_VERSION, 'projects'),
  ofTenant(API_VERSION, 'domains'),
  ofTenant(API_VERSION, 'apikeys'),
];

export const deeds: readonly Deed[] = [
  ...withKind(PROJECTS, 'shop', named('other', project), READERS, WRITERS),
  ...withKind(DOMAINS, HOST, named(OTHER_HOST, domain, {host: OTHER_HOST}), READERS, WRITERS),
  ...withKind(API_KEYS, 'shop', named('other', apiKey), READERS, WRITERS),
  ...[`${PROJECTS}/shop`, `${DOMAINS}/${HOST}`, `${API_KEYS}/shop`].map(path => ({
    // attack: forged-status
    deed: `write the status of ${path.split('/').slice(-2).join('/')}`,
    request: change(`${path}/status`, {status: {observedGeneration: 1}}),
    may: ['platform'] as const,
  })),
  // Claims are cluster-scoped, so rights in a namespace do not include them, but a platform's own role may.
  ...withKind(`/apis/${API_VERSION}/domainclaims`, HOST, named(OTHER_HOST, claim), CLAIM_READERS, ['platform']),
  ...withKind(`/apis/${API_VERSION}/keyclaims`, HASH, named('b'.repeat(64), keyClaim), CLAIM_READERS, ['platform']),
  {deed: 'write an Ingress of the edge', request: EDGE_INGRESS, may: ['platform']},
  ...[LABEL.plan, LABEL.account].map(label => ({
    // attack: forged-status
    deed: `set the label ${label}`,
    request: change(`/api/v1/namespaces/${ACME}`, {metadata: {labels: {[label]: 'pro'}}}),
    may: ['platform', 'billing'] as const,
  })),
];
