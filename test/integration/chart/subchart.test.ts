/** The chart as a dependency of a platform's own chart, rendered by Helm. */
import {mkdir, mkdtemp, readFile, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {parse, parseAllDocuments, stringify} from 'yaml';
import {run} from '../../cluster/children.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CHART = join(ROOT, 'charts/nameplate');

let helm: string;
let folder: string;

beforeAll(async () => {
  helm = (await ensurePrograms([HELM])).path('helm');
  folder = await mkdtemp(join(tmpdir(), 'nameplate-subchart-'));
  const {version} = parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8')) as {version: string};
  const dependencies = [{name: 'nameplate', version, condition: 'nameplate.enabled'}];
  await mkdir(join(folder, 'charts'));
  await symlink(CHART, join(folder, 'charts/nameplate'));
  await writeFile(
    join(folder, 'Chart.yaml'),
    stringify({apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies}),
  );
});
afterAll(async () => {
  if (folder) await rm(folder, {recursive: true});
});

interface Rendered {
  readonly kind: string;
}

async function render(values: object, global: object = {}): Promise<readonly Rendered[]> {
  const required = parse(await readFile(join(ROOT, 'examples/values.yaml'), 'utf8')) as object;
  await writeFile(join(folder, 'values.yaml'), stringify({global, nameplate: {...required, ...values}}));
  const rendered = await run([helm, 'template', 'platform', folder, '--namespace', 'nameplate']);
  return parseAllDocuments(rendered).flatMap(document => (document.toJS() as Rendered | null) ?? []);
}

test('renders under a condition, with globals of the platform', async () => {
  const objects = await render({enabled: true}, {imageRegistry: 'registry.example.net', team: {name: 'any'}});
  expect(objects.map(({kind}) => kind)).toContain('Deployment');
});

test('renders nothing if the condition is false', async () => {
  await expect(render({enabled: false})).resolves.toEqual([]);
});

test('on its own, it is refused with the name of the value that it would ignore', async () => {
  const values = ['--values', join(ROOT, 'examples/values.yaml'), '--set', 'enabled=false'];
  await expect(run([helm, 'template', 'nameplate', CHART, ...values])).rejects.toThrow("'/enabled'");
});
