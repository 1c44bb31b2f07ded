/**
 * The chart's roles on a real API server: each identity, a service account of its own, does what it may and tries what it
 * may not. Nearly all of it is a dry run of the server, which asks RBAC and admission as always and stores nothing.
 */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {run} from '../../cluster/children.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {renderRoles, SYSTEM} from './chart.ts';
import {type Binding, deeds, EDGE_INGRESS, type Identity, identities, OBJECTS, TENANT} from './rows.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
const FORBIDDEN = /Error from server \(Forbidden\)/;

let api: ApiServer;
let kubectl: string;
let kubeconfigs: ReadonlyMap<Identity, string>;

beforeAll(async () => {
  const programs = await ensurePrograms(['helm', 'kube']);
  kubectl = programs.path('kubectl');
  api = await startApiServer({crds: [`${ROOT}crds`]});
  for (const namespace of [TENANT, SYSTEM]) await api.kubectl('create', 'namespace', namespace);
  await api.apply(await renderRoles(programs.path('helm')));
  for (const object of OBJECTS) await api.apply(JSON.stringify(object));
  kubeconfigs = new Map(await Promise.all(Object.keys(identities).map(name => newIdentity(name as Identity))));
  const aggregated = async () => (await attempt('viewer', ['get', 'projects', '-n', TENANT])).done;
  await until('the role view includes ours', aggregated);
  await until('the policies are in force', async () => !(await attempt('owner', ...EDGE_INGRESS)).done);
});
afterAll(() => api?.stop());

async function newIdentity(name: Identity): Promise<readonly [Identity, string]> {
  await api.kubectl('create', 'serviceaccount', name, '-n', TENANT);
  for (const {role, everywhere} of identities[name] as readonly Binding[]) {
    const flags = [`--clusterrole=${role}`, `--serviceaccount=${TENANT}:${name}`];
    const kind = everywhere ? ['clusterrolebinding'] : ['rolebinding', '-n', TENANT];
    await api.kubectl('create', ...kind, `${name}-${role}`, ...flags);
  }
  return [name, await api.kubeconfigFor(TENANT, name)];
}

/** Whether kubectl's deed went through, and what it said. */
async function attempt(
  as: Identity,
  args: readonly string[],
  object?: unknown,
): Promise<{readonly done: boolean; readonly said: string}> {
  const input = object === undefined ? {} : {input: JSON.stringify(object)};
  return run([kubectl, '--kubeconfig', kubeconfigs.get(as) ?? '', ...args], input).then(
    said => ({done: true, said}),
    (error: Error) => ({done: false, said: error.message}),
  );
}

describe.concurrent.each(deeds)('to $deed', ({args, object, may}) => {
  test.each(Object.keys(identities) as Identity[])('is for %s to try', async name => {
    const {done, said} = await attempt(name, args, object);
    expect(done, said).toBe(may.includes(name));
    if (!done) expect(said).toMatch(FORBIDDEN);
  });
});

describe('a tenant does not rise by the roles of its own namespace', () => {
  const role = 'rbac.authorization.k8s.io/v1';
  const metadata = {name: 'up', namespace: TENANT};
  const rules = (resource: string, verb: string) => [
    {apiGroups: ['nameplate.dev'], resources: [resource], verbs: [verb]},
  ];

  test.each([
    ['a status', rules('domains/status', 'patch')],
    ['routes', rules('routes', 'manage')],
    ['plans', rules('plans', 'assign')],
  ])('an admin makes no Role over %s', async (_, made) => {
    const {said} = await attempt('admin', ['create', '--dry-run=server', '-f', '-'], {
      apiVersion: role,
      kind: 'Role',
      metadata,
      rules: made,
    });
    expect(said).toMatch(/attempting to grant RBAC permissions not currently held/);
  });

  test.each(['platform-admin', 'trusted', 'assign-plans'])('an admin does not bind nameplate-%s', async name => {
    const flags = [`--clusterrole=nameplate-${name}`, `--serviceaccount=${TENANT}:admin`, '--dry-run=server'];
    const {said} = await attempt('admin', ['create', 'rolebinding', 'up', '-n', TENANT, ...flags]);
    expect(said).toMatch(/attempting to grant RBAC permissions not currently held/);
  });

  // Who has every right in a namespace may bind any role there. The policies ask for the whole cluster.
  test('who may do everything in a namespace may bind it there, in vain', async () => {
    const flags = ['--clusterrole=nameplate-platform-admin', `--serviceaccount=${TENANT}:owner`];
    expect(await attempt('owner', ['create', 'rolebinding', 'up', '-n', TENANT, ...flags])).toMatchObject({done: true});
    const {said} = await attempt('owner', ...EDGE_INGRESS);
    expect(said).toMatch(/ValidatingAdmissionPolicy 'nameplate-routes'.*list it in spec.domains of a Project/s);
  });
});
