import {readFileSync} from 'node:fs';
import {join, relative} from 'node:path';
import {type OutputOptions, type RolldownOptions, rolldown} from 'rolldown';
import {expect, test} from 'vitest';
import bundle from './bundle.config.ts';
import type {LockedPackage} from './check-packages.ts';

const ROOT = join(import.meta.dirname, '..');
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, LockedPackage>>;
};

interface Sbom {
  readonly specVersion: string;
  readonly metadata: {readonly component: {readonly name: string}};
  readonly components: readonly {readonly purl: string; readonly licenses: readonly unknown[]}[];
}

// attack: supply-chain
test('the SBOM of a program lists the packages that are in it, all of them, and no tool', async () => {
  const options = (bundle as readonly RolldownOptions[]).find(({input}) => `${input}`.endsWith('/check.ts'));
  if (!options) throw new Error('there is no program check');
  const {output} = await (await rolldown(options)).generate(options.output as OutputOptions);
  const assets = output.flatMap(file => (file.type === 'asset' ? [file] : []));
  expect(assets.map(({fileName}) => fileName)).toEqual(['check.cdx.json']);
  const sbom = JSON.parse(`${assets[0]?.source}`) as Sbom;
  expect(sbom.metadata.component.name).toBe('nameplate');

  const modules = output.flatMap(file => (file.type === 'chunk' ? file.moduleIds : []));
  const folders = modules.flatMap(id => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(relative(ROOT, id))?.[1] ?? []);
  const purls = [...new Set(folders)].map(folder => {
    expect(lock.packages[folder], folder).toMatchObject({integrity: expect.any(String)});
    expect(lock.packages[folder]?.dev, `${folder} is a tool`).toBeUndefined();
    return `pkg:npm/${folder.replace(/^.*node_modules\//, '').replace('@', '%40')}@${lock.packages[folder]?.version}`;
  });
  expect(purls.length).toBeGreaterThan(3);
  expect(sbom.components.map(({purl}) => purl.replace(/\?.*/, '')).sort()).toEqual(purls.sort());
  expect(sbom.components.filter(({licenses}) => licenses.length !== 1)).toEqual([]);
});
