/**
 * The chart's roles on a real API server: each identity, a separate service account, does what it may and tries what it
 * may not, with dry runs, which pass through RBAC and admission as usual but store nothing.
 */

import {Agent, request as send} from 'undici';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import {renderRoles} from './chart.ts';
import {ACME, type ApiRequest, creation, RBAC} from './requests.ts';
import {type Binding, deeds, EDGE_INGRESS, type Identity, identities, OBJECTS, OWN_STATUS} from './roles.rows.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
const NAMES = Object.keys(identities) as Identity[];

let api: ApiServer;
let agent: Agent;
let tokens: ReadonlyMap<Identity, string>;

beforeAll(async () => {
  const programs = await ensurePrograms([HELM, 'kube']);
  api = await startApiServer({crds: [`${ROOT}crds`]});
  agent = new Agent({connect: {ca: api.ca}});
  for (const namespace of [ACME, RELEASE.namespace]) await api.kubectl('create', 'namespace', namespace);
  await api.apply(await renderRoles(programs.path('helm')));
  await api.apply(JSON.stringify({apiVersion: 'v1', kind: 'List', items: OBJECTS}));
  tokens = new Map(await Promise.all(NAMES.map(newIdentity)));
  for (const {deed, request, may} of deeds) {
    for (const name of may) {
      await until(`${name} has the right to ${deed}`, async () => (await attempt(name, request)).status !== 403);
    }
  }
  const isRefused = async (name: Identity, request: ApiRequest) =>
    (await attempt(name, request)).said.includes('ValidatingAdmissionPolicy');
  await until('the policies are in force', () => isRefused('admin', EDGE_INGRESS));
  await until('this also applies to the policy on our own kinds', () => isRefused('owner', OWN_STATUS));
});
afterAll(async () => {
  await agent?.close();
  await api?.stop();
});

async function newIdentity(name: Identity): Promise<readonly [Identity, string]> {
  await api.kubectl('create', 'serviceaccount', name, '-n', ACME);
  for (const {role, everywhere} of identities[name] as readonly Binding[]) {
    const flags = [`--clusterrole=${role}`, `--serviceaccount=${ACME}:${name}`];
    const kind = everywhere ? ['clusterrolebinding'] : ['rolebinding', '-n', ACME];
    await api.kubectl('create', ...kind, `${name}-${role}`, ...flags);
  }
  return [name, (await api.kubectl('create', 'token', name, '-n', ACME)).trim()];
}

async function attempt(
  as: Identity,
  {method, path, body}: ApiRequest,
): Promise<{readonly status: number; readonly said: string}> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = {authorization: `Bearer ${tokens.get(as)}`, 'content-type': type};
  const payload = body === undefined ? {} : {body: JSON.stringify(body)};
  const answer = await send(`${api.url}${path}`, {method, headers, dispatcher: agent, ...payload});
  return {status: answer.statusCode, said: await answer.body.text()};
}

describe.each(deeds)('to $deed', ({request, may}) => {
  test.each(NAMES)('is for %s to try', async name => {
    const {status, said} = await attempt(name, request);
    if (may.includes(name)) expect([200, 201], said).toContain(status);
    else expect(status, said).toBe(403);
  });
});

test('a user with every right in a namespace gets a message that names who writes the status', async () => {
  const {said} = await attempt('owner', OWN_STATUS);
  expect(said).toMatch(/ValidatingAdmissionPolicy 'nameplate-own-kinds'.*Only Nameplate may write the status/);
});

describe('a tenant gains nothing through the roles of its own namespace', () => {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = {name: 'up'};
  const notHeld = 'attempting to grant RBAC permissions not currently held';
  const binding = (role: string, subject: Identity) => ({
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `nameplate-${role}`},
    subjects: [{kind: 'ServiceAccount', name: subject, namespace: ACME}],
  });

  // attack: forged-status
  test.each([
    ['projects/status', 'patch'],
    ['domains/status', 'patch'],
    ['apikeys/status', 'patch'],
    ['domainclaims', 'get'],
    ['keyclaims', 'get'],
    ['acmeissuers', 'patch'],
    ['routes', 'manage'],
    ['plans', 'assign'],
  ])('an admin makes no Role over %s', async (resource, verb) => {
    const rules = [{apiGroups: ['nameplate.dev'], resources: [resource], verbs: [verb]}];
    const role = {apiVersion, kind: 'Role', metadata, rules};
    const {status, said} = await attempt('admin', creation(`${RBAC}roles`, role));
    expect({status, said}).toEqual({status: 403, said: expect.stringContaining(notHeld)});
  });

  // attack: forged-status
  test.each(['platform-admin', 'trusted', 'assign-plans'])('an admin does not bind nameplate-%s', async name => {
    const {status, said} = await attempt('admin', creation(`${RBAC}rolebindings`, binding(name, 'admin')));
    expect({status, said}).toEqual({status: 403, said: expect.stringContaining(notHeld)});
  });

  // A user with every right in a namespace may bind any role there. The policies check rights in the whole cluster.
  // attack: foreign-route
  test('a user with every right in a namespace may bind the role there, in vain', async () => {
    const made = {method: 'POST', path: `${RBAC}rolebindings`, body: binding('platform-admin', 'owner')} as const;
    expect(await attempt('owner', made)).toMatchObject({status: 201});
    const {status, said} = await attempt('owner', EDGE_INGRESS);
    expect(status).toBe(403);
    expect(said).toMatch(/ValidatingAdmissionPolicy 'nameplate-routes'.*list it in spec.domains of a Project/);
  });
});
