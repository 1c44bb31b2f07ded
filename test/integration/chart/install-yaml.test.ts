/** Applies the release's install.yaml, as its first lines say, to an API server without Nameplate. */
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {parseAllDocuments} from 'yaml';
import {packageChart} from '../../../tools/release/chart.ts';
import {renderChart} from '../../../tools/release/install.ts';
import {sourceOf} from '../../../tools/release/source.ts';
import {fill} from '../../../tools/release/texts.ts';
import {startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms} from '../../cluster/programs.ts';

const ROOT = join(import.meta.dirname, '../../..');

const DIGEST = `sha256:${'12'.repeat(32)}`;

test.each([
  ['that is only built', undefined],
  ['that is published', {image: 'ghcr.io/acme/nameplate', url: 'https://example.com/r'}],
])(
  'install.yaml of a release %s installs everything at once, and again, and runs only the operator',
  async (_, publication) => {
    const folder = await mkdtemp(join(tmpdir(), 'nameplate-install-'));
    onTestFinished(() => rm(folder, {recursive: true}));
    const traefik = (await ensurePrograms(['traefik'])).asset('traefik-crds.yml');
    const server = await startApiServer({crds: [traefik]});
    onTestFinished(() => server.stop());
    const head = await readFile(join(ROOT, 'tools/release/install.head.yaml'), 'utf8');
    const chart = join(folder, 'nameplate.tgz');
    const source = await sourceOf(ROOT);
    await writeFile(chart, await packageChart(source, publication));
    const rendered = await renderChart(chart, publication && DIGEST);
    const text = fill(head, {VERSION: source.version, DIGEST}, publication) + rendered;
    const file = join(folder, 'install.yaml');
    await writeFile(file, text);
    const [, command = ''] = /^# +kubectl (apply .*) install\.yaml$/m.exec(text) ?? [];
    for (const _ of ['first', 'again']) await server.kubectl(...command.split(' '), file);

    const applied = parseAllDocuments(text).flatMap(each => each.toJS() ?? []);
    const kinds = applied.map(({kind}: {kind: string}) => kind);
    expect(kinds.filter(kind => ['Pod', 'Job', 'CronJob', 'StatefulSet', 'Deployment'].includes(kind))).toEqual([
      'Deployment',
    ]);
    const image = 'jsonpath={.spec.template.spec.containers[*].image}';
    const [, named = ''] = /^# The image is (\S+)[,.] /m.exec(text) ?? [];
    expect(await server.kubectl('get', 'deployment', 'nameplate', '-n', 'nameplate', '-o', image)).toBe(named);
    for (const example of ['apps.example.net', 'edge.example.net', 'name: letsencrypt'])
      expect(text).toContain(example);
  },
);
