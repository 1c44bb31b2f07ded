import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {file, folder, readTar, symlink, withFolders, writeTar} from './tar.ts';

const LONG = `${'folder/'.repeat(15)}file.txt`;
const ENTRIES = [
  file('app/run', '#!/bin/sh\n', 0o755),
  file(LONG, 'x'.repeat(1000)),
  symlink('lib/a.so', 'a.so.1'),
  folder('tmp', 0o1777),
];

test("the system's tar reads an archive: names, modes, contents, links, and no owner or date of this machine", () => {
  const listed = execFileSync('tar', ['--list', '--verbose', '--numeric-owner', '--utc', '--file=-'], {
    input: writeTar(withFolders(ENTRIES), 86_400),
  });
  const lines = listed
    .toString()
    .trim()
    .split('\n')
    .map(line => line.replace(/ +/g, ' '));
  expect(lines.filter(line => !line.includes('folder/ '))).toEqual(
    expect.arrayContaining([
      'drwxr-xr-x 0/0 0 1970-01-02 00:00 app/',
      '-rwxr-xr-x 0/0 10 1970-01-02 00:00 app/run',
      `-rw-r--r-- 0/0 1000 1970-01-02 00:00 ${LONG}`,
      'lrwxrwxrwx 0/0 0 1970-01-02 00:00 lib/a.so -> a.so.1',
      'drwxrwxrwt 0/0 0 1970-01-02 00:00 tmp/',
    ]),
  );
  expect(lines).toHaveLength(ENTRIES.length + 'app lib'.split(' ').length + 15);
});

test('the order of the entries makes no difference', () => {
  expect(writeTar(withFolders(ENTRIES.toReversed())).equals(writeTar(withFolders(ENTRIES)))).toBe(true);
});

test("files and links come back, of its own archives and of the system's tar", () => {
  const root = mkdtempSync(join(tmpdir(), 'nameplate-tar-'));
  onTestFinished(() => rmSync(root, {recursive: true}));
  const deep = 'a'.repeat(90);
  mkdirSync(join(root, deep));
  writeFileSync(join(root, deep, 'file.txt'), 'content', {mode: 0o640});
  symlinkSync('file.txt', join(root, deep, 'link'));
  execFileSync('tar', ['--create', '--format=gnu', '--file=a.tar', `./${deep}`], {cwd: root});
  const theirs = readTar(readFileSync(join(root, 'a.tar')));
  expect(theirs.get(`${deep}/file.txt`)?.content?.toString()).toBe('content');
  expect(theirs.get(`${deep}/link`)?.link).toBe('file.txt');
  const ours = readTar(writeTar(withFolders(ENTRIES)));
  expect([...ours.keys()].sort()).toEqual(['app/run', LONG, 'lib/a.so']);
  expect(ours.get(LONG)?.content?.toString()).toBe('x'.repeat(1000));
});

test.each([
  ['a name', 'x'.repeat(101)],
  ['a path', `${'x'.repeat(160)}/file`],
])('%s that does not fit is refused, not cut', (_, path) => {
  expect(() => writeTar([file(path, '')])).toThrow('too long for a tar header');
});
