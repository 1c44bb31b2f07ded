/** What the provider for Gateway API builds, with the CRDs of the newest minor version. */
import {afterAll, beforeAll} from 'vitest';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {clientOf, validObjects} from './valid.suite.ts';

let api: ApiServer;
let client: KubeClient;
beforeAll(async () => {
  const programs = await ensurePrograms(['gatewayapinext']);
  api = await startApiServer({crds: [programs.asset('gateway-api-crds-next')]});
  client = clientOf(api);
});
afterAll(() => api?.stop());

validObjects(() => client);
