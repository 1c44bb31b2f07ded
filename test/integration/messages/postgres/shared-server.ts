/** Shared setup for test files that use one server for all their tests. */
import {afterAll, beforeAll} from 'vitest';
import {removeFolders, type Service, type ServiceOptions} from '../service.ts';
import {type Postgres, type PostgresSettings, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

/** Call this at the top of a file. The server runs before the first test or a later `beforeAll` begins. */
export function sharedServer(settings?: PostgresSettings): () => Postgres {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres(settings);
  });
  afterAll(async () => {
    await server.remove();
    await removeFolders();
  });
  return () => server;
}

/** Starts pods, each with a new database, for a suite that any store must pass. */
export function podsOnSharedServer(): (options: Pick<ServiceOptions, 'config' | 'wrapper'>) => Promise<Service> {
  const server = sharedServer();
  return async options => {
    const database = await server().createDatabase();
    return startReadyPod(server(), {...options, database, postgres: {durability: 'storage'}});
  };
}
