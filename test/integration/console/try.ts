/**
 * `make console`: the console in a browser, with an API server and an identity provider of the tests, and hosts in several
 * states. There is no operator, so nothing that is added goes live.
 */
import {once} from 'node:events';
import {createTestClient} from '../../support/kube.ts';
import {startConsoleWorld, USERS} from './console-world.ts';
import {newShowcase} from './objects.ts';

const world = await startConsoleWorld();
try {
  const admin = createTestClient(world.api.kubeconfig);
  const path = await newShowcase(admin);
  await admin.close();
  console.log(`
The console:    ${world.url}${path}
Sign in as:     ${Object.keys(USERS).join(', ')} (any password)
Stop it:        Ctrl-C

The certificate is self-signed, so the browser warns twice: of the console, and of the identity provider.`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
} finally {
  await world.stop();
}
