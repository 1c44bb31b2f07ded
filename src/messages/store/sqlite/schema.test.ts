import {DatabaseSync} from 'node:sqlite';
import {expect, test} from 'vitest';
import {prepareLeases} from './lease.ts';
import {prepareReads} from './read.ts';
import {MIGRATIONS, migrate} from './schema.ts';
import {Transaction} from './transaction.ts';

test('a database of an earlier version gets only what it lacks, and one of a later version is refused', () => {
  const db = new DatabaseSync(':memory:');
  const scripts = ['CREATE TABLE one (a)', 'CREATE TABLE two (a)'];
  migrate(db, scripts.slice(0, 1));
  db.exec('INSERT INTO one VALUES (1)');
  migrate(db, scripts);
  migrate(db, scripts);
  expect(db.prepare('SELECT a FROM one LEFT JOIN two USING (a)').all()).toEqual([{a: 1}]);
  expect(() => migrate(db, scripts.slice(0, 1))).toThrow('has schema version 2, this program knows up to 1');
});

test('the messages of a database of version 1 are found, listed in order, and claimed after its migration', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db, MIGRATIONS.slice(0, 1));
  const insert = db.prepare(
    `INSERT INTO messages (id, account, status, created_at, available_at, bytes, literal) VALUES (?, ?, ?, 0, ?, 3, '"x"')`,
  );
  db.exec(`INSERT INTO accounts VALUES ('a', 2000), ('b', 500)`);
  const statuses = ['done', 'waiting', 'dead', 'leased', 'delayed'];
  for (const [n, status] of statuses.entries()) {
    insert.run(`${n}`, 'a', status, ['leased', 'delayed'].includes(status) ? 1000 : null);
  }
  insert.run('5', 'b', 'waiting', null);
  migrate(db);
  expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{integrity_check: 'ok'}]);
  const transaction = new Transaction(db);
  const {get, list} = prepareReads(transaction);
  expect(list({account: 'a', limit: 100}).messages.map(({id}) => id)).toEqual(['0', '1', '2', '3', '4']);
  expect(list({account: 'a', limit: 100, after: '2'}).messages.map(({status}) => status)).toEqual(['leased', 'queued']);
  expect(list({account: 'a', limit: 100, status: 'queued'}).messages.map(({id}) => id)).toEqual(['1', '4']);
  expect([get('a', '2')?.status, get('a', '5'), get('b', '5')?.status]).toEqual(['dead', undefined, 'queued']);
  const leases = prepareLeases(transaction, {maxAttempts: 3, accountBytes: 1e9});
  expect(leases.claim({account: 'a', limit: 100, leaseMs: 1000}, 0).map(({id}) => id)).toEqual(['1']);
  expect(() => insert.run('5', 'a', 'waiting', null)).toThrow('UNIQUE');
});
