import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {ensureNameServerPrograms} from './internet/packages.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-packages-'));
});
afterAll(() => rm(folder, {recursive: true, force: true}));

test('where the name servers cannot be had, an error names them', async () => {
  const attempt = ensureNameServerPrograms({cache: folder, folders: [folder], log: () => {}});
  await expect(attempt).rejects.toThrow(
    /named \(Debian package bind9\), nsd .*, knotd .*, unbound .*, tcpdump .*please install them/,
  );
});
