/**
 * The same with a Gateway as the edge, and an approver that is not the operator. Only `make soak` also kills it at each
 * write in turn.
 */
import {afterAll, beforeAll} from 'vitest';
import {HTTP_ROUTE, LISTENER_SET} from '../../../src/operator/edge/gateway-kinds.ts';
import {acceptAlways, GATEWAY_KEY, installGateway} from '../operator/gateway-controller.ts';
import {type OperatorWorld, startOperatorWorld} from '../operator/operator-world.ts';
import {crashSuite} from './crash.suite.ts';

const MINUTE_MS = 60_000;
const routing = {provider: 'gateway', gateway: GATEWAY_KEY};

let world: OperatorWorld;
let stopAccepting: (() => Promise<void>) | undefined;
beforeAll(async () => {
  world = await startOperatorWorld();
  await world.certManager.install();
  await installGateway(world);
  stopAccepting = acceptAlways(world.client);
});
afterAll(async () => {
  await stopAccepting?.();
  await world?.stop();
});

// The chart grants the rights on these kinds only with this configuration, which a test of the chart checks.
crashSuite(() => ({...world, kubeconfig: world.api.kubeconfig, config: {...world.config, routing}}), {
  routes: [HTTP_ROUTE, LISTENER_SET],
  tables: Boolean(process.env.SOAK),
  timeoutMs: 15 * MINUTE_MS,
});
