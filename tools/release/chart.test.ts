import {cpSync, mkdtempSync, readFileSync, rmSync, utimesSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {gunzipSync} from 'node:zlib';
import {expect, onTestFinished, test} from 'vitest';
import {parse} from 'yaml';
import {packageChart} from './chart.ts';
import type {Source} from './source.ts';
import {readTar} from './tar.ts';

const repository = join(import.meta.dirname, '../..');
const {version} = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {version: string};
const source: Source = {repository, version, commit: '', dirty: false, epoch: 1_700_000_000};
const IMAGE = `nameplate:${version}`;

/** A copy of the files that the chart consists of, with other dates and modes. */
function copy(): string {
  const umask = process.umask(0o077);
  const root = mkdtempSync(join(tmpdir(), 'nameplate-chart-'));
  onTestFinished(() => {
    process.umask(umask);
    rmSync(root, {recursive: true});
  });
  for (const path of ['charts', 'crds', 'examples', 'CHANGELOG.md', 'LICENSE']) {
    cpSync(join(repository, path), join(root, path), {recursive: true, verbatimSymlinks: true});
  }
  utimesSync(join(root, 'LICENSE'), 1, 1);
  return root;
}

test('a chart has the same bytes wherever and whenever it is packaged', async () => {
  const here = await packageChart(source);
  expect((await packageChart({...source, repository: copy()})).equals(here)).toBe(true);
  expect((await packageChart({...source, epoch: 1})).equals(here)).toBe(false);
});

test('the package has the CRDs, the license, a README, an icon, and what Artifact Hub shows', async () => {
  const files = readTar(gunzipSync(await packageChart(source)));
  expect([...files.keys()][0]).toBe('nameplate/Chart.yaml');
  expect([...files.keys()]).toEqual(
    expect.arrayContaining(
      ['LICENSE', 'README.md', 'values.schema.json', 'files/crds/domains.nameplate.dev.yaml'].map(
        path => `nameplate/${path}`,
      ),
    ),
  );
  const chart = parse(`${files.get('nameplate/Chart.yaml')?.content}`) as {
    icon: string;
    annotations: Record<string, string>;
  };
  expect(Buffer.from(chart.icon.replace(/^.*,/, ''), 'base64').toString()).toMatch(/^<svg /);
  const annotation = (name: string) =>
    parse(chart.annotations[`artifacthub.io/${name}`] ?? '') as Record<string, string>[];
  expect(annotation('crds').map(({kind}) => kind)).toEqual([
    'ACMEIssuer',
    'APIKey',
    'DomainClaim',
    'Domain',
    'KeyClaim',
    'Project',
  ]);
  expect(annotation('crds').filter(({description}) => !description)).toEqual([]);
  expect(annotation('crdsExamples').map(({kind}) => kind)).toEqual(
    expect.arrayContaining(['Project', 'Domain', 'APIKey']),
  );
  expect(annotation('images')).toEqual([{name: 'nameplate', image: IMAGE, platforms: ['linux/amd64', 'linux/arm64']}]);
  expect(annotation('changes').filter(({kind}) => kind === 'added').length).toBeGreaterThan(0);
});

test('a published chart takes the image from where it is published, and links to the runbooks of its tag', async () => {
  const host = 'https://github.com/acme/nameplate';
  const publication = {image: 'ghcr.io/acme/nameplate', url: `${host}/releases/download/v${version}`};
  const files = readTar(gunzipSync(await packageChart(source, publication)));
  const text = (path: string) => `${files.get(`nameplate/${path}`)?.content}`;
  const {image, metrics} = parse(text('values.yaml'));
  expect(image.repository).toBe('ghcr.io/acme/nameplate');
  expect(metrics.prometheusRule.runbookUrl).toBe(`${host}/blob/v${version}/docs/runbooks`);
  expect(text('Chart.yaml')).toContain(`image: ghcr.io/acme/nameplate:${version}`);
  expect(text('README.md')).toContain(`helm install nameplate nameplate-${version}.tgz`);
  expect(text('README.md')).not.toContain('REGISTRY');
});

test('a chart of another version is refused', async () => {
  await expect(packageChart({...source, version: '9.9.9'})).rejects.toThrow(/Chart.yaml has version .*, not 9.9.9/);
});
