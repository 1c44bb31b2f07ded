import {expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {failOver} from './promoter.ts';
import {startPostgres} from './server.ts';

test('a primary that dies while it writes a record: a standby is promoted, and the other one follows it', async () => {
  const primary = await startPostgres({wal_buffers: '64kB'}); // so that the record is written in parts
  const standbys = [await primary.standby('one'), await primary.standby('two')];
  const [one] = standbys;
  const writing = primary.query(`SELECT pg_logical_emit_message(true, 'test', repeat('x', 300000000))`).catch(() => {});
  const ahead = 'SELECT pg_last_wal_receive_lsn() - pg_last_wal_replay_lsn() > 1e6 AS is';
  await until('a standby has a part', async () => (await one?.query(ahead))?.[0]?.is, {
    intervalMs: 5,
    timeoutMs: 120_000,
  });
  await primary.kill();
  await writing;
  expect(await one?.query(ahead), 'the record is still incomplete').toEqual([{is: true}]);
  const promoted = await failOver(standbys);
  await promoted.query('CREATE TABLE later ()');
  const other = standbys.find(each => each !== promoted);
  const tables = `SELECT FROM pg_tables WHERE tablename = 'later'`;
  await until('the other one follows', async () => (await other?.query(tables))?.length === 1);
  expect(await promoted.query('SELECT pg_is_in_recovery() AS is')).toEqual([{is: false}]);
  await Promise.all(standbys.map(each => each.stop()));
  await primary.remove();
});
