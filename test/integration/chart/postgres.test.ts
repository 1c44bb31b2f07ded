/** The chart with the messages API in PostgreSQL, and the migration from SQLite. No pod runs here. */
import {readFile, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {beforeAll, describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {parseConfig} from '../../../src/config/load-config.ts';
import type {MessagesConfig} from '../../../src/messages/config.ts';
import {messagesConfigDefinition} from '../../../src/messages/config-schema.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {run} from '../../cluster/children.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {claimsOf, enabled, namespace, objectsIn, root, useChart, type Workload} from './chart-world.ts';

const world = useChart();
const {install, template, get, expectAdmitted} = world;

const postgres = [
  ...enabled,
  '--set',
  'messages.config.store.kind=postgres,messages.postgres.secret=db-app,messages.postgres.caSecret=db-ca',
];
const undo = 'messages.postgres.secret=db-app,messages.postgres.undoMigration=true';
const kinds = (rendered: string) =>
  rendered.split(/^---$/m).flatMap(text => {
    const object = parse(text) as {kind: string; metadata: {name: string}} | null;
    return object?.metadata.name === 'nameplate-messages' ? [object.kind] : [];
  });

beforeAll(async () => {
  await install(); // the service account of the pods
});

test('has pods without a volume, with a configuration that they accept, and the Secrets that it names', async () => {
  const rendered = await template(...postgres);
  expect(rendered).not.toMatch(/kind: (StatefulSet|PersistentVolumeClaim)/);
  const objects = rendered.split(/^---$/m).map(text => parse(text) as (Workload & {data?: object}) | null);
  const of = (kind: string) => objects.find(each => each?.kind === kind && each.metadata.name === 'nameplate-messages');
  const pod = of('Deployment')?.spec.template;
  await expectAdmitted('messages-deployment', pod);
  expect(pod?.spec.volumes).toContainEqual({
    name: 'postgres',
    projected: {
      defaultMode: expect.any(Number),
      sources: [
        {secret: {name: 'db-app', items: [{key: 'uri', path: 'uri'}]}},
        {secret: {name: 'db-ca', items: [{key: 'ca.crt', path: 'ca.crt'}]}},
      ],
    },
  });
  const text = Object.values(of('ConfigMap')?.data ?? {})[0];
  const {store} = parseConfig<MessagesConfig>(String(text), 'messages.yaml', messagesConfigDefinition);
  expect(store).toMatchObject({
    kind: 'postgres',
    postgres: {
      uriFile: '/etc/nameplate/postgres/uri',
      caFile: '/etc/nameplate/postgres/ca.crt',
      tls: 'verify-full',
      durability: 'synchronous-standby',
    },
  });
});

test.each([
  [[], ['PodDisruptionBudget']],
  [['messages.postgres.replicas=1'], []],
  [
    ['messages.postgres.autoscaling.enabled=true', 'messages.postgres.replicas=1'],
    ['HorizontalPodAutoscaler', 'PodDisruptionBudget'],
  ],
  [['messages.postgres.podDisruptionBudget.enabled=false'], []],
])('%j: %j', async (values, want) => {
  const rendered = await template(...postgres, ...values.flatMap(value => ['--set', value]));
  const common = ['ConfigMap', 'Deployment', 'Ingress', 'NetworkPolicy', 'Service', 'ServiceAccount'];
  const rights = ['ClusterRole', 'ClusterRoleBinding'];
  expect(kinds(rendered).sort()).toEqual([...common, ...rights, ...want].sort());
  const file = join(world.folder, 'postgres.yaml');
  const accepted = rendered
    .split(/^---$/m)
    .filter(each => !/^kind: (Certificate|CustomResourceDefinition)$/m.test(each));
  await writeFile(file, accepted.join('---\n'));
  await world.server.kubectl('apply', '--dry-run=server', '--server-side', '--force-conflicts', '-f', file);
});

test('a migration mounts the volume of SQLite, and the pods await it', async () => {
  const rendered = await template(...postgres, '--set', 'messages.postgres.migrate=true');
  const objects = rendered.split(/^---$/m).map(text => parse(text) as (Workload & {data?: object}) | null);
  const job = objects.find(each => each?.metadata.name?.startsWith('nameplate-messages-migration-'))?.spec.template;
  await expectAdmitted('messages-migration', job);
  expect(claimsOf(job)).toEqual(['messages-nameplate-messages-0']);
  const configOf = (name: string) => {
    const text = Object.values(objects.find(each => each?.metadata?.name === name && each.data)?.data ?? {})[0];
    return parseConfig<MessagesConfig>(String(text), name, messagesConfigDefinition).store;
  };
  const files = {uriFile: '/etc/nameplate/postgres/uri', awaitMigration: true};
  expect(configOf('nameplate-messages')).toMatchObject({postgres: files});
  const ofJob = {kind: 'postgres', folder: '/var/lib/nameplate-messages', postgres: files};
  expect(configOf('nameplate-messages-migration')).toMatchObject(ofJob);
  expect(rendered).not.toMatch(/selector:\n(.*\n){0,3}.*component: messages-migration/);
});

test('whatever changes the pod of a migration or its configuration changes the name of its Job', async () => {
  const nameOf = async (...changed: readonly string[]) => {
    const values = ['messages.postgres.migrate=true', ...changed].flatMap(value => ['--set', value]);
    const names = objectsIn(await template(...postgres, ...values)).map(({metadata}) => metadata.name);
    return names.find(name => /^nameplate-messages-migration-/.test(name));
  };
  const changes = [
    'messages.resources.limits.memory=1Gi',
    'messages.postgres.secret=other',
    'messages.postgres.uriKey=url',
    'messages.postgres.caSecret=other-ca',
    'messages.postgres.caKey=root.crt',
    'messages.tolerations[0].operator=Exists',
    'imagePullSecrets[0].name=registry',
    'podSecurityContext.runAsUser=1000',
    'securityContext.runAsNonRoot=true',
    'image.tag=v1',
    'messages.config.log.level=debug',
  ];
  const names = [await nameOf()];
  expect(await nameOf('messages.postgres.replicas=3', 'messages.nodeSelector.a=b')).toBe(names[0]);
  for (const change of changes) names.push(await nameOf(change));
  expect(new Set(names).size).toBe(1 + changes.length);
});

test('an upgrade replaces a Job that cannot run, and migrate=false needs the new one to succeed', async () => {
  const upgrade = (migrate: boolean, ...more: readonly string[]) =>
    install(...postgres, '--set', `messages.ingress.enabled=false,messages.postgres.migrate=${migrate}`, ...more);
  const jobs = async () => {
    const names = await world.server.kubectl(
      'get',
      'jobs',
      '-n',
      namespace,
      '-o',
      'jsonpath={.items[*].metadata.name}',
    );
    return names.split(' ').filter(name => name !== '');
  };
  await upgrade(true, '--no-hooks'); // No pod runs here, so a check would not end.
  const [first] = await jobs();
  await upgrade(true, '--set', 'messages.resources.limits.memory=1Gi');
  const [name = '', ...others] = await jobs();
  expect(others).toEqual([]);
  expect(name).not.toBe(first);
  await expect(upgrade(false)).rejects.toThrow(`the Job ${name} has not finished`);
  const status = JSON.stringify({status: {succeeded: 1, startTime: '2026-01-01T00:00:00Z'}});
  await world.server.kubectl(
    'patch',
    'job',
    name,
    '-n',
    namespace,
    '--subresource=status',
    '--type=merge',
    '-p',
    status,
  );
  await upgrade(false);
  expect(await jobs()).toEqual([]);
  await install();
});

test("the Job of a migration has a name that its pods can have as a label, however long the release's name", async () => {
  const name = `fullnameOverride=${'a'.repeat(52)}`;
  const rendered = await template(...postgres, '--set', 'messages.postgres.migrate=true', '--set', name);
  const jobs = objectsIn(rendered).filter(({kind}) => kind === 'Job');
  expect(jobs).toHaveLength(2);
  const file = join(world.folder, 'jobs.json');
  await writeFile(file, jobs.map(job => JSON.stringify(job)).join('\n---\n'));
  await expect(world.server.kubectl('create', '--dry-run=server', '-f', file)).resolves.toContain('created');
});

test.each([
  ['check', [...postgres, '--set', 'messages.postgres.migrate=true'], []],
  ['undo', [...enabled, '--set', undo], ['messages-nameplate-messages-0']],
])(
  'before an upgrade, %s runs with its configuration, and what it reports ends the upgrade',
  async (flag, args, claims) => {
    const name = `nameplate-messages-${flag}`;
    const objects = objectsIn(await template(...args)).filter(({metadata}) => metadata.name === name);
    expect(objects.map(({kind}) => kind).sort()).toEqual(['ConfigMap', 'Job', 'NetworkPolicy']);
    for (const {metadata} of objects) expect(metadata.annotations).toMatchObject({'helm.sh/hook': 'pre-upgrade'});
    const of = (kind: string) => objects.find(each => each.kind === kind) as unknown as Workload & {data: object};
    const job = of('Job').spec;
    await expectAdmitted(name, job.template);
    expect(claimsOf(job.template)).toEqual(claims);
    expect(job).toMatchObject({
      activeDeadlineSeconds: 240, // less than Helm waits by default
      podFailurePolicy: {rules: [{action: 'FailJob', onExitCodes: {operator: 'In', values: [1, 2]}}]},
      template: {
        spec: {restartPolicy: 'Never', containers: [{args: expect.arrayContaining(['migrate', `--${flag}`])}]},
      },
    });
    const text = String(Object.values(of('ConfigMap').data)[0]);
    const {store} = parseConfig<MessagesConfig>(text, 'messages.yaml', messagesConfigDefinition);
    const postgresFile = {uriFile: '/etc/nameplate/postgres/uri'};
    expect(store).toMatchObject({kind: 'postgres', folder: '/var/lib/nameplate-messages', postgres: postgresFile});
  },
);

test.each([
  ['StatefulSet', '', postgres, 'messages.postgres.migrate=true', /in SQLite: set messages\.postgres\.migrate=true/],
  ['Job', '-migration-1', postgres, 'messages.postgres.migrate=true', /keep messages\.postgres\.migrate=true/],
  ['Deployment', '', enabled, undo, /in PostgreSQL: set messages\.postgres\.undoMigration=true/],
])('while there is a %s nameplate-messages%s, an upgrade must not leave its messages behind', async (...row) => {
  const [kind, suffix, args, forgotten, message] = row;
  const labels = {app: 'old'};
  const pod = {restartPolicy: kind === 'Job' ? 'Never' : 'Always', containers: [{name: 'old', image: 'old'}]};
  const selector = kind === 'Job' ? {} : {selector: {matchLabels: labels}};
  const manifest = {
    apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
    kind,
    metadata: {name: `nameplate-messages${suffix}`, namespace},
    spec: {...selector, template: {metadata: {labels}, spec: pod}},
  };
  await world.server.apply(JSON.stringify(manifest));
  const upgrade = (...more: readonly string[]) =>
    install(...args, '--set', 'messages.ingress.enabled=false', ...more, '--dry-run=server');
  await expect(upgrade()).rejects.toThrow(message);
  await upgrade('--set', forgotten);
  await world.server.kubectl('delete', kind, `nameplate-messages${suffix}`, '-n', namespace);
});

test('PostgreSQL is checked for a migration until the Deployment has replaced the StatefulSet', async () => {
  const isChecked = async () => {
    const values = ['--set', 'messages.postgres.migrate=true', '--set', 'messages.ingress.enabled=false'];
    return (await install(...postgres, ...values, '--dry-run=server')).includes('--check');
  };
  const create = (kind: string) => {
    const labels = {'app.kubernetes.io/managed-by': 'Helm'};
    const template = {metadata: {labels}, spec: {containers: [{name: 'old', image: 'old'}]}};
    const annotations = {'meta.helm.sh/release-name': 'nameplate', 'meta.helm.sh/release-namespace': namespace};
    const metadata = {name: 'nameplate-messages', namespace, labels, annotations};
    const spec = {selector: {matchLabels: labels}, template};
    return world.server.apply(JSON.stringify({apiVersion: 'apps/v1', kind, metadata, spec}));
  };
  expect(await isChecked()).toBe(true);
  await create('StatefulSet');
  expect(await isChecked()).toBe(true);
  await create('Deployment');
  expect(await isChecked(), 'an upgrade was interrupted').toBe(true);
  await world.server.kubectl('delete', 'statefulset', 'nameplate-messages', '-n', namespace);
  expect(await isChecked()).toBe(false);
  await world.server.kubectl('delete', 'deployment', 'nameplate-messages', '-n', namespace);
});

describe('the example of a database', () => {
  const inNamespace = (text: string) => text.replaceAll('namespace: nameplate', `namespace: ${namespace}`);
  const accept = async (text: string) => {
    const file = join(world.folder, 'database.yaml');
    await writeFile(file, inNamespace(text));
    return world.server.kubectl('apply', '--dry-run=server', '--validate=strict', '-f', file);
  };
  let example: string;

  beforeAll(async () => {
    example = await readFile(join(root, 'examples/cloudnativepg.yaml'), 'utf8');
    const crds = (await ensurePrograms(['cloudnativepg'])).asset('cloudnativepg-crds');
    const kinds = ['backups', 'clusters', 'scheduledbackups'];
    const files = kinds.map(kind => ['-f', join(crds, `postgresql.cnpg.io_${kind}.yaml`)]);
    await world.server.kubectl('apply', '--server-side', ...files.flat());
    await untilEstablished(world.server.kubectl, ...kinds.map(kind => `${kind}.postgresql.cnpg.io`));
  });

  test('is valid for CloudNativePG, and an unknown field would not be', async () => {
    await expect(accept(example)).resolves.toMatch(/messages-db created.*\n.*messages-db created/);
    await expect(accept(example.replace('failoverQuorum', 'quorum'))).rejects.toThrow('unknown field');
  });

  test('is valid as docs/running-messages.md restores it', async () => {
    const page = await readFile(join(root, 'docs/running-messages.md'), 'utf8');
    const [restored = ''] = /bootstrap:\n +recovery: .*$/m.exec(page.replaceAll(/^ {4}/gm, '')) ?? [];
    const changed = example.replace(/bootstrap:\n +initdb:(?:\n {6}.*)+$/m, restored.replaceAll('\n', '\n  '));
    expect(changed).toContain('  bootstrap:\n    recovery: {');
    await expect(accept(changed)).resolves.toContain('messages-db created');
  });

  test('the command in docs/running-messages.md keeps its last backups that succeeded, and all others', async () => {
    const page = await readFile(join(root, 'docs/running-messages.md'), 'utf8');
    const [documented = ''] = /^ {4}kubectl get backups\.postgresql\.cnpg\.io(?:.*\\\n)+.*$/m.exec(page) ?? [];
    const command = documented.replace('head -n -14 ', 'head -n -2 ').replaceAll('-n nameplate', `-n ${namespace}`);
    expect(command).toContain('head -n -2 ');
    // The older a backup, the later its name sorts.
    const rows = [
      ['a', 'messages-db', {phase: 'completed', stoppedAt: '2026-11-04T02:03:04Z'}],
      ['b', 'messages-db', {phase: 'completed', stoppedAt: '2026-11-03T02:03:04Z'}],
      ['c', 'messages-db', {phase: 'completed', stoppedAt: '2026-11-02T02:03:04Z'}],
      ['d', 'messages-db', {phase: 'completed', stoppedAt: '2026-11-01T02:03:04Z'}],
      ['failed', 'messages-db', {phase: 'failed', stoppedAt: '2026-01-01T02:03:04Z'}],
      ['new', 'messages-db', undefined],
      ['other', 'other-db', {phase: 'completed', stoppedAt: '2026-01-01T02:03:04Z'}],
      ['running', 'messages-db', {phase: 'running'}],
    ] as const;
    const items = rows.map(([name, schedule]) => ({
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Backup',
      metadata: {name, namespace, labels: {'cnpg.io/scheduled-backup': schedule}},
      spec: {cluster: {name: schedule}, method: 'volumeSnapshot'},
    }));
    await world.server.apply(JSON.stringify({apiVersion: 'v1', kind: 'List', items}));
    for (const [name, , status] of rows) {
      const patch = JSON.stringify({status});
      if (status)
        await world.server.kubectl(
          'patch',
          'backup',
          name,
          '-n',
          namespace,
          '--subresource=status',
          '--type=merge',
          '-p',
          patch,
        );
    }
    const programs = dirname((await ensurePrograms(['kube'])).path('kubectl'));
    const env = {...process.env, KUBECONFIG: world.server.kubeconfig, PATH: `${programs}:${process.env.PATH}`};
    for (const _ of ['first', 'again']) {
      await run(['bash', '-e', '-o', 'pipefail', '-c', command], {env});
      const left = await get<{items: KubeObject[]}>('backups.postgresql.cnpg.io');
      expect(left.items.map(({metadata}) => metadata.name)).toEqual(['a', 'b', 'failed', 'new', 'other', 'running']);
    }
  });
});

test('an autoscaler decides how many pods there are', async () => {
  const only = ['--show-only', 'templates/messages-deployment.yaml'];
  expect(await template(...postgres, ...only)).toMatch(/^ {2}replicas: 2$/m);
  const scaled = await template(...postgres, ...only, '--set', 'messages.postgres.autoscaling.enabled=true');
  expect(scaled).not.toMatch(/^ {2}replicas:/m);
});
