import {DatabaseSync} from 'node:sqlite';
import {expect, test} from 'vitest';
import {migrate} from './schema.ts';

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
