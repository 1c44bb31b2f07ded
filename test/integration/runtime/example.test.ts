/** Runs the example from the runtime's README as a program against a real API server. */

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest';
import {NAMESPACE} from '../../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {type Child, startChild} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {listAll} from '../../support/kube.ts';
import {CONFIG_MAP, RuntimeWorld} from './runtime-world.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/runtime/example/program.ts');

let folder: string;
let api: ApiServer;
let world: RuntimeWorld;
let client: KubeClient;
let program: Child;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-example-'));
  api = await startApiServer();
});

afterAll(async () => {
  await api?.stop();
  await rm(folder, {recursive: true, force: true});
});

beforeEach(() => {
  world = new RuntimeWorld();
  client = world.client(api.kubeconfig);
  program = startChild('example', [process.execPath, PROGRAM, api.kubeconfig], {log: join(folder, 'example.log')});
});

afterEach(async () => {
  await program.kill();
  await world.end();
});

test('a namespace gets its ConfigMap, keeps it, and loses it with the label', async () => {
  const name = 'shop-team';
  const team = () => client.get(CONFIG_MAP, {namespace: name, name: 'team'});
  const label = (value: string | null) =>
    client.patch(NAMESPACE, {name}, {metadata: {labels: {'example.dev/team': value}}});
  await world.namespace(client, name);
  await label('blue');
  const made = await until('it is created', team, {timeoutMs: 60_000}); // includes the start of the program
  expect(made.data).toEqual({team: 'blue'});
  await label('green');
  await until('it follows the label', async () => (await team())?.data?.team === 'green');
  await client.patch(CONFIG_MAP, {namespace: name, name: 'team'}, {data: {team: 'mine'}});
  await until('a foreign edit is reverted', async () => (await team())?.data?.team === 'green');
  await client.delete(CONFIG_MAP, {namespace: name, name: 'team'});
  await until('a foreign removal is reverted', team);
  await label(null);
  await until('it goes with the label', async () => (await team()) === undefined);

  const isReported = async () =>
    (await listAll(client, EVENT, {namespace: 'default'})).some(({note}) => note === 'The team is blue.');
  await until('an Event reports it', isReported);
  await program.stop();
  expect(await program.exited).toBe(0);
}, 120_000);
