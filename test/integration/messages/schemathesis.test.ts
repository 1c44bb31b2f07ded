/**
 * Schemathesis generates valid and invalid requests, and sequences of them, from the served OpenAPI document, and
 * checks the answers against it. SOAK=1: forty times as many. https://schemathesis.readthedocs.io
 */
import {existsSync} from 'node:fs';
import {mkdir, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {cacheRoot} from '../../cluster/cache.ts';
import {run, which} from '../../cluster/children.ts';
import {removeFolders, startService, temporaryFolder} from './service.ts';

const VERSION = '4.32.5';
const folder = join(cacheRoot(), `schemathesis-${VERSION}`);
const program = join(folder, 'bin/python');
const examples = process.env.SOAK ? 1000 : 25;
const minute = 60_000;

/** Created once: a virtual environment, because most systems allow no other place for Python packages. */
beforeAll(async () => {
  if (existsSync(program)) return;
  const python = which('python3');
  if (!python) throw new Error('python3 is missing on this machine (with venv and pip); please install it');
  const partial = `${folder}.new`;
  await rm(partial, {recursive: true, force: true});
  await mkdir(cacheRoot(), {recursive: true});
  await run([python, '-m', 'venv', partial]);
  await run([join(partial, 'bin/python'), '-m', 'pip', 'install', '--quiet', `schemathesis==${VERSION}`]);
  await rename(partial, folder); // all or nothing; `python -m` works in any folder
}, 5 * minute);
afterAll(removeFolders);

test(
  'every answer to requests made from the document is as the document says',
  async () => {
    const service = await startService();
    const options = [
      ['--header', `Authorization: Bearer ${service.account().key}`],
      ['--max-examples', String(examples)],
      ['--seed', '1'],
      ['--generation-database', 'none'],
      ['--no-color'],
    ].flat();
    const config = ['--config-file', join(import.meta.dirname, 'schemathesis.toml')];
    const argv = [program, '-m', 'schemathesis.cli', ...config, 'run', `${service.url}/openapi.json`, ...options];
    const said = await run(argv, {cwd: await temporaryFolder()}).finally(service.stop);
    expect(said).toMatch(/Tested: 7\n/);
  },
  process.env.SOAK ? 60 * minute : 3 * minute,
);
