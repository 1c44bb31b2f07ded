import {afterAll} from 'vitest';
import {type Postgres, startPostgres} from '../postgres/server.ts';
import {startReadyPod} from '../postgres/service.ts';
import {conformanceSuite} from './conformance.suite.ts';

let server: Promise<Postgres> | undefined;

conformanceSuite('PostgreSQL', async ({config = {}} = {}) => {
  server ??= startPostgres();
  const database = await (await server).createDatabase();
  return startReadyPod(await server, {config, database, postgres: {durability: 'storage'}});
});
afterAll(async () => (await server)?.remove());
