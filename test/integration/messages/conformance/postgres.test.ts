import {afterAll} from 'vitest';
import {type Postgres, startPostgres} from '../postgres/server.ts';
import {startReadyPod} from '../postgres/service.ts';
import {conformanceSuite} from './conformance.suite.ts';

let server: Promise<Postgres> | undefined;

conformanceSuite('PostgreSQL', async ({config = {}} = {}) => {
  server ??= startWithStandby();
  const database = await (await server).createDatabase();
  return startReadyPod(await server, {config, database});
});
afterAll(async () => (await server)?.remove());

async function startWithStandby(): Promise<Postgres> {
  const primary = await startPostgres();
  await primary.standby('standby');
  await primary.configure({synchronous_standby_names: `'ANY 1 (standby)'`});
  return primary;
}
