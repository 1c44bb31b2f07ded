/**
 * Does what the runtime's README tells a stranger to do: in an empty folder, installs the package that a release
 * contains, from a file, and its dependencies from the npm registry; checks the types of the README's controller; and
 * starts it against a real API server.
 */
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, onTestFinished, test} from 'vitest';
import {NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {packageRuntime} from '../../../tools/release/controller-runtime.ts';
import {sourceOf} from '../../../tools/release/source.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {failOnExit, run, startChild} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {listAll} from '../../support/kube.ts';
import {CONFIG_MAP, RuntimeWorld} from './runtime-world.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const README = await readFile(join(REPOSITORY, 'src/runtime/README.md'), 'utf8');
const [, CONTROLLER = ''] = /^```ts\n(.*?)^```$/ms.exec(README) ?? [];
/** npm twice, the check of types, and the start. */
const [INSTALL = [], INSTALL_TOOLS = [], CHECK = [], START = []] = README.matchAll(/^ {4}((?:npm|npx|node) .*)$/gm).map(
  ([, command = '']) => command.split(' '),
);

let folder: string;
let api: ApiServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-package-'));
  api = await startApiServer();
  const source = await sourceOf(REPOSITORY);
  await writeFile(join(folder, `nameplate-runtime-${source.version}.tgz`), await packageRuntime(source));
  await writeFile(join(folder, 'team.mts'), CONTROLLER);
  await run(INSTALL, {cwd: folder});
  await run(INSTALL_TOOLS, {cwd: folder});
});

afterAll(async () => {
  await api?.stop();
  await rm(folder, {recursive: true, force: true});
});

test('a stranger can check the types of the controller, which are not any', async () => {
  await run(CHECK, {cwd: folder});
  await writeFile(join(folder, 'team.mts'), CONTROLLER.replaceAll('return done();', 'return "done";'));
  await expect(run(CHECK, {cwd: folder})).rejects.toThrow(/error TS2322: .* not assignable to type .*Outcome/s);
  await writeFile(join(folder, 'team.mts'), CONTROLLER);
});

test('a namespace gets its ConfigMap, keeps it, and loses it with the label', async () => {
  const env = {...process.env, KUBECONFIG: api.kubeconfig};
  const log = join(folder, 'team.log');
  const program = startChild('controller', START, {cwd: folder, env, log});
  const world = new RuntimeWorld();
  onTestFinished(async () => {
    await Promise.all([program.kill(), world.end()]);
  });
  const client = world.client(api.kubeconfig);
  const name = 'shop-team';
  const team = () => client.get(CONFIG_MAP, {namespace: name, name: 'team'});
  const label = (value: string | null) =>
    client.patch(NAMESPACE, {name}, {metadata: {labels: {'example.dev/team': value}}});
  await world.namespace(client, name);
  await label('blue');
  const created = until('it is created', team); // includes the start of the program
  const made = await Promise.race([created, failOnExit(program, log)]);
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
});
