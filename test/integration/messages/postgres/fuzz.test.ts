import {afterAll, beforeAll} from 'vitest';
import {fuzzSuite} from '../fuzz.suite.ts';
import {removeFolders} from '../service.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

let primary: Postgres;
beforeAll(async () => {
  primary = await startPostgres();
});
afterAll(async () => {
  await primary.remove();
  await removeFolders();
});
fuzzSuite(async options => {
  const database = await primary.createDatabase();
  return startReadyPod(primary, {...options, database, postgres: {durability: 'storage'}});
});
