/**
 * The contract of the messages API over HTTP, for every engine: a new one runs the same tests with `conformanceSuite`.
 * Tests that need their own limits start a separate service.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import {type Client, createClient} from '../client.ts';
import {removeFolders, type Service, type ServiceOptions} from '../service.ts';
import {accountSuite} from './accounts.suite.ts';
import {bodySuite} from './bodies.suite.ts';
import {idempotencySuite} from './idempotency.suite.ts';
import {leaseSuite} from './leases.suite.ts';
import {limitSuite} from './limits.suite.ts';
import {listSuite} from './lists.suite.ts';
import {metricSuite} from './metrics.suite.ts';
import {orderSuite} from './order.suite.ts';

/** Starts a service with the engine. `config` overrides the test's configuration. */
export type StartService = (options?: Pick<ServiceOptions, 'config'>) => Promise<Service>;

/** What the tests use. `service` and `client` exist once `beforeAll` has run. */
export interface ConformanceWorld {
  service: Service;
  client: Client;
  readonly start: StartService;
  /** A further service with a client, stopped at the end. */
  another(config: Readonly<Record<string, unknown>>): Promise<{readonly service: Service; readonly client: Client}>;
}

export function conformanceSuite(engine: string, start: StartService): void {
  describe(engine, () => {
    const stops: (() => unknown)[] = [];
    const another: ConformanceWorld['another'] = async config => {
      const service = await start({config});
      const client = await createClient(service.url);
      stops.push(() => client.close(), service.stop);
      return {service, client};
    };
    const world = {start, another} as ConformanceWorld;
    beforeAll(async () => {
      Object.assign(world, await another({queue: {maxAttempts: 3}}));
    });
    afterAll(async () => {
      await Promise.all(stops.map(stop => stop()));
      await removeFolders();
    });
    for (const tests of [
      orderSuite,
      bodySuite,
      idempotencySuite,
      listSuite,
      leaseSuite,
      accountSuite,
      limitSuite,
      metricSuite,
    ]) {
      tests(world);
    }
  });
}
