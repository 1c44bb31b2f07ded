/** Helm upgrades the chart of the last release on a real API server, and rolls it back. No pod runs here. */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {run} from '../../cluster/children.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {extractLastRelease} from '../../cluster/last-release.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';

const ROOT = join(import.meta.dirname, '../../..');
const NAMESPACE = 'nameplate';
const SECRET = 'nameplate-platform-key';

let api: ApiServer;
let helmProgram: string;
let folder: string;
let last: string;

beforeAll(async () => {
  const programs = await ensurePrograms([HELM, 'traefik']);
  helmProgram = programs.path('helm');
  folder = await mkdtemp(join(tmpdir(), 'nameplate-upgrade-'));
  last = join(folder, 'last');
  await extractLastRelease(last);
  api = await startApiServer({crds: [programs.asset('traefik-crds.yml')]});
});

afterAll(async () => {
  await api?.stop();
  if (folder) await rm(folder, {recursive: true});
});

function helm(...args: readonly string[]): Promise<string> {
  const home = ['HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME'].map(name => `${name}=${folder}`);
  return run(['env', ...home, helmProgram, '--kubeconfig', api.kubeconfig, '--namespace', NAMESPACE, ...args]);
}

async function platformKey(): Promise<{uid: string; data: object}> {
  const found = JSON.parse(await api.kubectl('get', 'secret', SECRET, '-n', NAMESPACE, '-o', 'json'));
  return {uid: found.metadata.uid, data: found.data};
}

/** The tags tell the versions apart, which may have the same number. */
const LAST = ['--set', 'image.tag=last'];
const THIS = ['--set', 'image.tag=this'];

async function tag(): Promise<string> {
  const path = 'jsonpath={.spec.template.spec.containers[0].image}';
  const image = await api.kubectl('get', 'deployment', 'nameplate', '-n', NAMESPACE, '-o', path);
  return image.split(':').at(-1) ?? '';
}

function kept(): Promise<string> {
  return api.kubectl('get', 'projects', '-A', '-o', 'jsonpath={.items[*].spec.domains.primary}');
}

test('an upgrade and a rollback keep the platform key and the objects of tenants', async () => {
  const values = ['--values', join(ROOT, 'examples/values.yaml')];
  const chartOf = (folder: string) => join(folder, 'charts/nameplate');
  await helm(
    'install',
    'nameplate',
    chartOf(last),
    '--create-namespace',
    '--values',
    join(last, 'examples/values.yaml'),
    ...LAST,
  );
  expect(await tag()).toBe('last');
  await untilEstablished(api.kubectl);
  // The operator would create it.
  await api.kubectl('create', 'secret', 'generic', SECRET, '-n', NAMESPACE, '--from-literal=platform.key=any');
  await api.kubectl('create', 'namespace', 'acme-shop');
  await api.kubectl('apply', '-n', 'acme-shop', '-f', join(last, 'examples/project.yaml'));
  const before = {key: await platformKey(), hosts: await kept()};

  await helm('upgrade', 'nameplate', chartOf(ROOT), ...values, ...THIS);
  expect(await tag()).toBe('this');
  expect({key: await platformKey(), hosts: await kept()}).toEqual(before);

  await helm('rollback', 'nameplate', '1');
  expect(await tag()).toBe('last');
  expect({key: await platformKey(), hosts: await kept()}).toEqual(before);

  // As docs/upgrading.md says.
  await helm('upgrade', 'nameplate', chartOf(ROOT), '--reset-then-reuse-values', ...THIS);
  expect(await tag()).toBe('this');
  expect({key: await platformKey(), hosts: await kept()}).toEqual(before);
});
