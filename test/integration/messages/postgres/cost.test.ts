/** Compares the charge with the actual growth of the database. */
import {expect, test} from 'vitest';
import type {PostgresStore} from '../../../../src/messages/store/postgres/postgres-store.ts';
import {COST_ROWS, type CostRow} from '../../../support/cost.rows.ts';
import {sharedServer} from './shared-server.ts';
import {withStore} from './store.ts';

const server = sharedServer({autovacuum: 'off'});

async function fill(store: PostgresStore, {count, account, message, key, reason}: CostRow): Promise<void> {
  const append = (n: number) =>
    store.perform('append', {
      account: account(n),
      message,
      ...(key && {idempotency: {key: key(n), fingerprint: 'f'.repeat(43)}}),
    });
  await Promise.all(Array.from({length: count}, (_, n) => append(n)));
  if (reason === undefined) return;
  for (let left = count; left > 0; ) {
    const claimed = await store.perform('claim', {account: account(0), limit: 100, leaseMs: 60_000});
    await Promise.all(claimed.map(each => store.perform('nack', {account: account(0), ...each, delayMs: 1e6, reason})));
    left -= claimed.length;
  }
}

test.each(COST_ROWS)('messages, $case: the database takes at most twice what is charged', async row => {
  const database = await server().createDatabase();
  const figure = async (sql: string) => Number((await server().query(sql, database))[0]?.figure);
  const size = () =>
    figure(`
      SELECT sum(pg_total_relation_size(c.oid))::bigint AS figure FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
      WHERE nspname = 'nameplate' AND relkind = 'r'`);
  await withStore(server(), database, async store => {
    const empty = await size();
    await fill(store, row);
    const ratio = ((await size()) - empty) / (await figure('SELECT sum(bytes) AS figure FROM nameplate.accounts'));
    expect(ratio).toBeLessThan(2);
    expect(ratio, 'and nobody is charged for what is not there').toBeGreaterThan(0.3);
  });
});
