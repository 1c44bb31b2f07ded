/**
 * Rewrites pins.json: the Node version of package.json, and the newest version of each library in the suite. Review the
 * changes before you commit them.
 *
 *     node tools/release/update-pins.ts
 */
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {run} from '../../test/cluster/children.ts';
import {openApt} from './apt.ts';
import pins from './pins.json' with {type: 'json'};
import {ARCHITECTURES, type Architecture, nodePackage} from './pins.ts';

async function byArchitecture(get: (architecture: Architecture) => Promise<string>): Promise<Record<string, string>> {
  return Object.fromEntries(await Promise.all(ARCHITECTURES.map(async each => [each, await get(each)] as const)));
}

const manifest = await readFile(join(import.meta.dirname, '../../package.json'), 'utf8');
const version = (JSON.parse(manifest) as {devDependencies: {node: string}}).devDependencies.node;
const node = {
  version,
  integrity: await byArchitecture(async each => {
    return (await run(['npm', 'view', `${nodePackage(each).name}@${version}`, 'dist.integrity'])).trim();
  }),
};
await using apt = await openApt();
const packages = await Promise.all(
  pins.debian.packages.map(async ({name}) => ({
    name,
    version: await apt.field(`${name}:amd64`, 'Version'),
    integrity: await byArchitecture(async each => {
      const hash = await apt.field(`${name}:${each}`, 'SHA256');
      return `sha256-${Buffer.from(hash, 'hex').toString('base64')}`;
    }),
  })),
);
const content = {node, debian: {suite: pins.debian.suite, packages}};
await writeFile(join(import.meta.dirname, 'pins.json'), `${JSON.stringify(content, null, 2)}\n`);
