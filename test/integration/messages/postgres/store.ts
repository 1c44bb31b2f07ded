/** The store without a pod. */
import {pino} from 'pino';
import {PostgresStore} from '../../../../src/messages/store/postgres/postgres-store.ts';
import {systemClock} from '../../../../src/time/clock.ts';
import {until} from '../../../cluster/wait.ts';
import {temporaryFolder} from '../service.ts';
import {type Postgres, uriFile} from './server.ts';

const DAY = 86_400_000;

export const rules = {maxAttempts: 5, accountBytes: 1e12, retention: {doneMs: DAY, deadMs: DAY, idempotencyMs: DAY}};

export async function connectionTo(server: Postgres, database: string) {
  const file = await uriFile(await temporaryFolder(), server.uri(database));
  return {uriFile: file, tls: 'disable', durability: 'storage', migration: 'none'} as const;
}

export async function withStore<T>(
  server: Postgres,
  database: string,
  use: (store: PostgresStore) => Promise<T>,
): Promise<T> {
  const store = new PostgresStore({
    connection: await connectionTo(server, database),
    writers: 2,
    rules,
    maxWaiting: 100_000,
    maxWaitingBytes: 1e9,
    clock: systemClock,
    logger: pino({level: 'silent'}),
    observe: () => {},
  });
  try {
    await until('the store is open', () => store.state().kind === 'ok', {intervalMs: 10});
    return await use(store);
  } finally {
    await store.close();
  }
}
