import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';
import {expect, test, vi} from 'vitest';
import {migrate} from '../sqlite/schema.ts';
import {openSource} from './source.ts';

const INSERT = `
  INSERT INTO messages (id, account, created_at, bytes, literal) VALUES
    ('1', 'b', 1, 3, '"1"'), ('2', 'a', 1, 3, '"2"'), ('3', 'a', 1, 3, '"3"'), ('4', 'b', 1, 3, '"4"');
  INSERT INTO accounts VALUES ('a', 1), ('b', 1);
  INSERT INTO idempotency VALUES ('a', 'key', '', '2', 1)`;

test('what is read for an account walks no other messages, and sorts none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-source-'));
  const path = join(folder, 'messages.db');
  const filled = new DatabaseSync(path);
  migrate(filled);
  filled.exec(INSERT);
  filled.close();
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const source = openSource(path);
  if (source === undefined) throw new Error('another process has the database open');
  expect(source.lastId).toBe('4');
  expect([...source.messages('a')].map(({id}) => id)).toEqual(['2', '3']);
  expect([...source.keys('a')]).toHaveLength(1);
  const statements = prepare.mock.calls.map(([text]) => text).filter(text => /messages|idempotency/.test(text));
  prepare.mockRestore();
  source[Symbol.dispose]();
  const db = new DatabaseSync(path);
  const steps = statements.flatMap(text =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(row => String(row.detail)),
  );
  db.close();
  await rm(folder, {recursive: true});
  expect(statements).toHaveLength(3);
  const unbounded = /SCAN|TEMP B-TREE|INDEX \w+$/; // A search of an index without a bound walks it.
  expect(steps.filter(step => unbounded.test(step))).toEqual([]);
});
