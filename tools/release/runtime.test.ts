import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {ARCHITECTURES, ownArchitecture} from './pins.ts';
import {fromNode} from './runtime.ts';
import {file, writeTar} from './tar.ts';

const [other = 'arm64'] = ARCHITECTURES.filter(each => each !== ownArchitecture());
const PINNED = writeTar([file('package/bin/node', 'pinned'), file('package/LICENSE', 'license')]);

/** A program of which only the content matters. */
function program(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'nameplate-node-'));
  onTestFinished(() => rmSync(folder, {recursive: true}));
  writeFileSync(join(folder, 'node'), content);
  return join(folder, 'node');
}

test.each([
  ['is the pinned one', ownArchitecture(), 'pinned'],
  ['cannot be compared, because the image is for another architecture', other, 'changed'],
])('the Node that runs the build %s', (_, architecture, running) => {
  const entries = fromNode(architecture, PINNED, program(running));
  expect(entries.map(({path, content}) => `${path}: ${content}`)).toEqual([
    'usr/local/bin/node: pinned',
    'usr/share/doc/node/copyright: license',
  ]);
});

test('a build by a Node that is not the pinned one is refused, even if its version is right', () => {
  expect(() => fromNode(ownArchitecture(), PINNED, program('changed'))).toThrow(
    /\/node is not the Node of node-linux-\w+ [\d.]+, which pins.json pins/,
  );
});
