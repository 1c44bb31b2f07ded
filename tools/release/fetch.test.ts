import {mkdtempSync, rmSync} from 'node:fs';
import {mkdir, readdir, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {cacheRoot} from '../../test/cluster/cache.ts';
import {fetchPinned} from './fetch.ts';
import type {Pinned} from './pins.ts';

/** The hash of the text `right`. */
const INTEGRITY = 'sha256-JwQvTm7KfQsqfuQCbfLs+lHTM55tEiqgmRGOzYVjutk=';
const PINNED: Pinned = {registry: 'npm', name: 'some', version: '1.0.0', architecture: 'amd64', integrity: INTEGRITY};

async function cacheWith(text: string): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'nameplate-cache-'));
  vi.stubEnv('XDG_CACHE_HOME', root);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(root, {recursive: true});
  });
  await mkdir(join(cacheRoot(), 'pinned'), {recursive: true});
  await writeFile(join(cacheRoot(), 'pinned', INTEGRITY.replaceAll('/', '_').slice(0, 50)), text);
  expect(await readdir(join(cacheRoot(), 'pinned'))).toHaveLength(1);
}

test('the pinned content comes from the cache', async () => {
  await cacheWith('right');
  expect(`${await fetchPinned([PINNED])}`).toBe('right');
});

// attack: supply-chain
test('other content is refused, even from the cache', async () => {
  await cacheWith('wrong');
  await expect(fetchPinned([PINNED])).rejects.toThrow(/some 1.0.0 has the hash .*, not the pinned/);
});
