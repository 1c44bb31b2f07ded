/**
 * A policy that judges an object also judges it when it is written through a subresource. The API server itself says
 * which subresources exist.
 */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type AdmissionWorld, startAdmissionWorld, type Who} from './admission-world.ts';
import {manifest, TENANT} from './manifests.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly string[];
}
interface Policy {
  readonly metadata: {readonly name: string};
  readonly spec: {readonly matchConstraints: {readonly resourceRules: readonly Rule[]}};
}
interface Subresource {
  readonly group: string;
  /** `resource/subresource`. */
  readonly name: string;
  readonly operations: readonly string[];
}

const OPERATIONS: Readonly<Record<string, string>> = {create: 'CREATE', update: 'UPDATE', patch: 'UPDATE'};

/** Subresources that no policy needs to match, by what they cannot change. */
const EXCUSED: ReadonlyMap<string, string> = new Map([
  // The API server connects the client to a pod, a node, or a Service. These are CONNECT operations, and no object
  // changes.
  ...['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'services/proxy', 'nodes/proxy'].map(
    name => [name, 'connects'] as const,
  ),
  // It issues a token for an account; what it stores, if anything, is in the request.
  ['serviceaccounts/token', 'a token'],
]);

let world: AdmissionWorld;

beforeAll(async () => {
  world = await startAdmissionWorld();
});
afterAll(() => world?.api.stop());

async function get<T>(...args: readonly string[]): Promise<T> {
  return JSON.parse(await world.api.kubectl('get', ...args)) as T;
}

/** Those that can be written, of all kinds of the API server. */
async function writableSubresources(): Promise<readonly Subresource[]> {
  const {groups} = await get<{groups: {name: string; versions: {groupVersion: string}[]}[]}>('--raw', '/apis');
  const paths = [
    {group: '', path: '/api/v1'},
    ...groups.flatMap(({name: group, versions}) =>
      versions.map(({groupVersion}) => ({group, path: `/apis/${groupVersion}`})),
    ),
  ];
  const lists = await Promise.all(
    paths.map(async ({group, path}) => {
      const {resources} = await get<{resources: {name: string; verbs: string[]}[]}>('--raw', path);
      return resources.map(({name, verbs}) => ({group, name, operations: operationsOf(verbs)}));
    }),
  );
  return lists.flat().filter(({name, operations}) => name.includes('/') && operations.length > 0);
}

function operationsOf(verbs: readonly string[]): readonly string[] {
  return [...new Set(verbs.flatMap(verb => OPERATIONS[verb] ?? []))];
}

function covers(rule: Rule, group: string, name: string, operation: string): boolean {
  const [resource = '', sub] = name.split('/');
  const names = sub === undefined ? [resource, '*', '*/*'] : [name, `${resource}/*`, `*/${sub}`, '*/*'];
  return (
    (rule.apiGroups.includes(group) || rule.apiGroups.includes('*')) &&
    names.some(each => rule.resources.includes(each)) &&
    (rule.operations.includes(operation) || rule.operations.includes('*'))
  );
}

/** The ways around the policy: a subresource of what it judges, with an operation that it judges, that it ignores. */
function gapsOf({metadata, spec}: Policy, subresources: readonly Subresource[], custom: ReadonlySet<string>): string[] {
  const rules = spec.matchConstraints.resourceRules;
  const isCovered = (group: string, name: string, operation: string) =>
    rules.some(rule => covers(rule, group, name, operation));
  return subresources.flatMap(({group, name, operations}) => {
    const [resource = '', sub = ''] = name.split('/');
    // A test below shows that nothing but the status of a custom resource can be written through it.
    if (EXCUSED.has(name) || (sub === 'status' && custom.has(group))) return [];
    return operations
      .filter(operation => isCovered(group, resource, operation) && !isCovered(group, name, operation))
      .map(operation => `${metadata.name}: ${operation} ${group}/${name}`);
  });
}

async function gaps(): Promise<string[]> {
  const {items: policies} = await get<{items: Policy[]}>('validatingadmissionpolicies', '-o', 'json');
  const ofChart = policies.filter(({metadata}) => metadata.name.startsWith('nameplate-'));
  const {items: crds} = await get<{items: {spec: {group: string}}[]}>('crds', '-o', 'json');
  const subresources = await writableSubresources();
  expect(ofChart.length).toBeGreaterThan(10);
  expect(subresources.map(({name}) => name)).toEqual(expect.arrayContaining(['ingresses/status', 'pods/binding']));
  const custom = new Set(crds.map(({spec}) => spec.group));
  return ofChart.flatMap(policy => gapsOf(policy, subresources, custom));
}

test('every policy matches each subresource through which what it judges can change', async () => {
  await expect(gaps()).resolves.toEqual([]);
});

test('also with a Gateway as the edge', async () => {
  const routing = {provider: 'gateway', gateway: {namespace: 'gateway', name: 'platform'}};
  await world.install('--set-json', `config.routing=${JSON.stringify(routing)}`);
  await expect(gaps()).resolves.toEqual([]);
});

const CHANGED = {
  labels: {changed: 'yes'},
  annotations: {changed: 'yes'},
  finalizers: ['changed.example/yes'],
};

describe('the API server', () => {
  test('changes nothing but the status of a custom resource through it', async () => {
    const spec = {secretName: 'whole', dnsNames: ['mine.example'], issuerRef: {name: 'mine'}};
    await world.act('admin', 'create', manifest('Certificate', 'whole', {spec}));
    const patch = JSON.stringify({metadata: CHANGED, spec: {secretName: 'changed'}, status: {revision: 7}});
    const how = ['--subresource', 'status', '--type', 'merge', '--patch', patch];
    await world.kubectl('admin', ['patch', 'certificate', 'whole', ...how]);
    const {metadata, ...rest} = JSON.parse(
      await world.kubectl('admin', ['get', 'certificate', 'whole', '-o', 'json']),
    ) as Record<string, Record<string, unknown>>;
    expect(rest).toMatchObject({spec: {secretName: 'whole'}, status: {revision: 7}});
    for (const field of Object.keys(CHANGED)) expect(metadata?.[field]).toBeUndefined();
  });
});

/** Each resource whose writes change the object of another, and the subresource that it stands for. */
test.each([['bindings', 'pods/binding']])('a policy that matches %s also matches %s', async (alias, name) => {
  const {items} = await get<{items: Policy[]}>('validatingadmissionpolicies', '-o', 'json');
  for (const {metadata, spec} of items) {
    const matches = (each: string) =>
      spec.matchConstraints.resourceRules.some(rule => covers(rule, '', each, 'CREATE'));
    expect(matches(alias), metadata.name).toBe(matches(name));
  }
});

test('a binding sets labels and annotations of its Pod', async () => {
  await world.act(
    'admin',
    'create',
    manifest('Pod', 'bound', {spec: {containers: [{name: 'a', image: 'a.example/a'}]}}),
  );
  const {finalizers: _, ...metadata} = CHANGED;
  const binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: {name: 'bound', namespace: TENANT, ...metadata},
    target: {apiVersion: 'v1', kind: 'Node', name: 'none'},
  };
  const bind = (who: Who, object: object) =>
    world.kubectl(who, ['create', '--raw', `/api/v1/namespaces/${TENANT}/bindings`, '-f', '-'], object);
  const solver = {...binding, metadata: {...binding.metadata, labels: {'acme.cert-manager.io/http01-solver': 'true'}}};
  await expect(bind('admin', solver)).rejects.toThrow('Nothing solves challenges');
  await bind('admin', binding);
  const pod = await world.kubectl('admin', ['get', 'pod', 'bound', '-o', 'json']);
  expect((JSON.parse(pod) as {metadata: object}).metadata).toMatchObject(metadata);
});
