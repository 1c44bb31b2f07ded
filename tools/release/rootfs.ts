/**
 * Writes the files of the image into a folder, for the Dockerfile:
 *
 *     node tools/release/rootfs.ts FOLDER amd64|arm64
 */
import {chmodSync, mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {programEntries} from './image.ts';
import {ARCHITECTURES} from './pins.ts';
import {runtimeEntries} from './runtime.ts';

const [target = '', wanted = ''] = process.argv.slice(2);
const architecture = ARCHITECTURES.find(name => name === wanted);
if (!architecture || !target) throw new Error(`usage: node tools/release/rootfs.ts FOLDER ${ARCHITECTURES.join('|')}`);
mkdirSync(target, {recursive: true});
const entries = [
  ...(await runtimeEntries(architecture)),
  ...(await programEntries(join(import.meta.dirname, '../..'))),
];
for (const {path, mode, content, link} of entries) {
  const to = join(target, path);
  if (link !== undefined) symlinkSync(link, to);
  else if (content) writeFileSync(to, content);
  else mkdirSync(to, {recursive: true});
  if (link === undefined) chmodSync(to, mode);
}
