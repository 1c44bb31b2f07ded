/** Starting, even with unusable files, backing up, and starting from a backup. */
import {readdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, expect, test} from 'vitest';
import {databasePath} from '../../../src/messages/service.ts';
import {run} from '../../cluster/children.ts';
import {createClient} from './client.ts';
import {Ledger, listAllMessages, startLoad} from './load.ts';
import {accountOf, PROGRAM, removeFolders, startService, temporaryFolder} from './service.ts';

const {key} = accountOf(0);

afterAll(removeFolders);

interface Row {
  readonly case: string;
  readonly prepare: (folder: string) => unknown;
  readonly says: string;
}

function database(folder: string, sql: string): void {
  const db = new DatabaseSync(databasePath(folder));
  db.exec(sql);
  db.close();
}

const rows: readonly Row[] = [
  {
    case: 'a file that is no database',
    prepare: folder => writeFile(databasePath(folder), 'x'.repeat(5000)),
    says: 'not a database',
  },
  {
    case: "another program's database",
    prepare: folder => database(folder, 'CREATE TABLE theirs (a)'),
    says: 'not a message store',
  },
  {case: 'a database of a later version', prepare: later, says: 'schema version 99'},
];

async function later(folder: string): Promise<void> {
  const service = await startService({folder});
  await service.stop();
  database(folder, 'PRAGMA user_version = 99');
}

test.each(rows)('$case: it does not start, says why without a stack, and changes nothing', async ({prepare, says}) => {
  const folder = await temporaryFolder();
  await prepare(folder);
  const failure = await startService({folder}).then(
    () => 'it started',
    (error: Error) => error.message,
  );
  expect(failure).toContain(`${databasePath(folder)} cannot be opened: `);
  expect(failure).toContain(says);
  expect(failure).toContain('ended (1)');
  expect(failure).not.toMatch(/^\s+at /m);
});

test('an empty file becomes a message store, and is kept', async () => {
  const folder = await temporaryFolder();
  database(folder, 'PRAGMA user_version = 0');
  const service = await startService({folder});
  const client = await createClient(service.url);
  await expect(client.submit(key, 'x')).resolves.toMatchObject({status: 202});
  client.close();
  await service.stop();
});

test('a backup under load holds all that was acknowledged before, and a service starts from it', async () => {
  const service = await startService();
  const client = await createClient(service.url);
  const ledger = new Ledger();
  const load = startLoad({client, key, ledger, clients: 8, workers: 1});
  await ledger.more(300);
  const before = ledger.submissions.filter(({id}) => id !== undefined).map(({id}) => id);
  const folder = await temporaryFolder();
  const backup = (...args: string[]) =>
    run([process.execPath, PROGRAM, 'backup', '--config', service.configFile, ...args]);
  await backup(databasePath(folder));
  await ledger.more(10);
  await load.stop();
  await expect(backup(databasePath(folder)), 'nothing is written over').rejects.toThrow(/already exists|EEXIST/);
  await expect(backup(join(folder, 'no', 'such', 'folder'))).rejects.toThrow('ENOENT');
  const copies = await temporaryFolder();
  await backup('--keep', '1', copies);
  expect(await readdir(copies)).toEqual([expect.stringMatching(/^messages-\d{8}T\d{6}Z\.db$/)]);
  await expect(backup('--keep', 'all', copies)).rejects.toThrow('--keep N FOLDER');
  client.close();
  await service.stop();

  const restored = await startService({folder});
  const reader = await createClient(restored.url);
  const stored = await listAllMessages(reader, key);
  const ids = new Set(stored.map(({id}) => id));
  expect(before.filter(id => id === undefined || !ids.has(id))).toEqual([]);
  expect(new Set(stored.map(({message}) => message)).size, 'none twice').toBe(stored.length);
  await expect(reader.submit(key, 'after')).resolves.toMatchObject({status: 202});
  reader.close();
  await restored.stop();
});
