/** A migration of accounts with much more than fits into memory, or than one statement could read in time. */
import {expect, test} from 'vitest';
import {createClient} from '../client.ts';
import {accountOf, startService, temporaryFolder} from '../service.ts';
import {migrateInHeap} from './migration-command.ts';
import {sharedServer} from './shared-server.ts';

const mine = accountOf(0);
const server = sharedServer();

const run = async (folder: string, database: string, ...args: readonly string[]) =>
  (await migrateInHeap(96, server().uri(database), folder, ...args)).done;

/** Of `count` messages of 256,000 bytes, each twice that in memory, and one that is longer than a batch of the migration. */
async function folderOfLongMessages(count: number): Promise<string> {
  const folder = await temporaryFolder();
  const service = await startService({folder, config: {limits: {bodyBytes: 8 << 20}}});
  const client = await createClient(service.url);
  const long = (characters: number) => client.submit(mine.key, `\u20ac${'x'.repeat(characters)}`);
  for (let n = 0; n < count; n += 10) await Promise.all(Array.from({length: 10}, () => long(256_000)));
  await expect(long(6_000_000)).resolves.toMatchObject({status: 202});
  client.close();
  await service.stop();
  return folder;
}

test('an account with longer messages than fit into memory together is moved, and moved back', async () => {
  const folder = await folderOfLongMessages(200);
  const database = await server().createDatabase();
  const moved = {code: 0, out: expect.stringContaining('Migrated 201 messages of 1 accounts.')};
  await expect(run(folder, database)).resolves.toMatchObject(moved);
  await expect(run(folder, database, '--undo')).resolves.toMatchObject({
    code: 0,
    out: expect.stringContaining('Undone.'),
  });
});

/** Makes statements fail that read more than 600 rows. */
const BOUNDED = `
  CREATE FUNCTION nameplate.is_bounded() RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
      statement text := statement_timestamp()::text;
      is_next boolean := coalesce(current_setting('test.statement', true), '') = statement;
      seen int := CASE WHEN is_next THEN current_setting('test.seen')::int + 1 ELSE 1 END;
    BEGIN
      IF seen > 600 THEN RAISE 'a statement reads more than 600 rows'; END IF;
      PERFORM set_config('test.statement', statement, true), set_config('test.seen', seen::text, true);
      RETURN true;
    END $$;
  ALTER TABLE nameplate.messages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  CREATE POLICY bounded ON nameplate.messages USING (nameplate.is_bounded()) WITH CHECK (true);
  ALTER TABLE nameplate.idempotency ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  CREATE POLICY bounded ON nameplate.idempotency USING (nameplate.is_bounded()) WITH CHECK (true)`;

test('no statement reads more than a batch, so an account of any size can be moved, and moved back', async () => {
  const folder = await temporaryFolder();
  const service = await startService({folder});
  const client = await createClient(service.url);
  const numbers = Array.from({length: 700}, (_, n) => n);
  await Promise.all(numbers.map(n => client.submit(mine.key, 'x', {'idempotency-key': `${n}`})));
  client.close();
  await service.stop();
  const database = await server().createDatabase();
  await expect(run(folder, database, '--check'), 'creates the tables').resolves.toMatchObject({code: 0});
  await server().query(BOUNDED, database);
  const moved = {code: 0, out: expect.stringContaining('Migrated 700 messages')};
  await expect(run(folder, database)).resolves.toMatchObject(moved);
  await expect(run(folder, database, '--undo')).resolves.toMatchObject({code: 0});
});
