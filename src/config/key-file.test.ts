import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {readKeyFile} from './key-file.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'key-file-'));
});

afterAll(async () => {
  await rm(folder, {recursive: true});
});

test('the bytes are taken as they are', async () => {
  const path = join(folder, 'key');
  await writeFile(path, `${'k'.repeat(31)}\n`);
  await expect(readKeyFile(path, 32)).resolves.toEqual(Buffer.from(`${'k'.repeat(31)}\n`));
});

test('a key that is too short is refused without being shown', async () => {
  const path = join(folder, 'short');
  await writeFile(path, 'hunter2');
  const refused = readKeyFile(path, 32);
  await expect(refused).rejects.toThrow(
    `The key file ${path} cannot be used:\n  it has 7 bytes; at least 32 random bytes are required`,
  );
  await expect(refused).rejects.not.toThrow('hunter2');
});

test('a file that is not there is named', async () => {
  await expect(readKeyFile(join(folder, 'none'), 32)).rejects.toMatchObject({
    message: expect.stringContaining(`The key file ${join(folder, 'none')} cannot be used:\n  ENOENT`),
    cause: {code: 'ENOENT'},
  });
});
