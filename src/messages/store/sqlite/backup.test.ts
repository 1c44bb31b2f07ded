import {copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, expect, test} from 'vitest';
import {backupInto} from './backup.ts';

const root = mkdtempSync(join(tmpdir(), 'nameplate-backup-'));
afterAll(() => rmSync(root, {recursive: true}));

const START = Date.parse('2026-11-21T23:59:58.750Z');

test('a folder keeps the newest copies, and every file that is no copy', async () => {
  const [source, folder] = [join(root, 'messages.db'), mkdtempSync(join(root, 'copies-'))];
  new DatabaseSync(source).exec('CREATE TABLE t (n)');
  writeFileSync(join(folder, 'messages-before-the-upgrade.db'), '');
  for (let second = 0; second < 4; second++) await backupInto(source, folder, 2, START + second * 1000);
  expect(readdirSync(folder).sort()).toEqual([
    'messages-20261122T000000Z.db',
    'messages-20261122T000001Z.db',
    'messages-before-the-upgrade.db',
  ]);
  const copy = new DatabaseSync(join(folder, 'messages-20261122T000001Z.db'), {readOnly: true});
  expect(copy.prepare('SELECT count(*) AS n FROM t').get()).toEqual({n: 0});
});

test('a failed copy deletes no earlier one', async () => {
  const folder = mkdtempSync(join(root, 'copies-'));
  writeFileSync(join(folder, 'messages-20260101T000000Z.db'), '');
  await expect(backupInto(join(root, 'missing.db'), folder, 1, START)).rejects.toThrow('unable to open');
  expect(readdirSync(folder)).toEqual(['messages-20260101T000000Z.db']);
});

test.each([
  ['with the log of the old database, as it was after a crash,', 'old', ['-wal']],
  ['without that log, as docs/running-messages.md says,', 'copied', []],
])('a copy that is put in place %s has what was %s', async (_, want, left) => {
  const [folder, restored] = [mkdtempSync(join(root, 'copies-')), mkdtempSync(join(root, 'restored-'))];
  const source = join(folder, 'messages.db');
  const db = new DatabaseSync(source);
  db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES ('copied')");
  await backupInto(source, folder, 1, START);
  db.exec("UPDATE t SET x = 'old'");
  copyFileSync(join(folder, 'messages-20261121T235958Z.db'), join(restored, 'messages.db'));
  for (const end of left) copyFileSync(`${source}${end}`, join(restored, `messages.db${end}`));
  db.close();
  const found = new DatabaseSync(join(restored, 'messages.db'));
  expect(found.prepare('SELECT x FROM t').get()).toEqual({x: want});
  found.close();
});
