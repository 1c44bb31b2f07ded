/**
 * Kills the operator at each of its writes, which include the order on a claim and the decision on a request.
 * Certificates come from a CA that answers immediately.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import type {Child} from '../../cluster/children.ts';
import {startWebhook} from '../approval/webhook.ts';
import {invariantSuite} from '../operator/invariant.suite.ts';
import {installIngressClass, type OperatorWorld, startOperatorWorld} from '../operator/operator-world.ts';
import {crashSuite} from './crash.suite.ts';

const MINUTE_MS = 60_000;

let world: OperatorWorld;
let webhook: Child;
beforeAll(async () => {
  world = await startOperatorWorld({operatorApproves: true});
  await world.certManager.installCrds();
  webhook = await startWebhook(world.api, world.folder); // records who created a request
  await world.certManager.start();
  await installIngressClass(world.client);
  await world.startOperator('first');
  await world.certManager.installIssuer(); // the operators that die do not see the request of the CA itself
  await world.operator().stop();
});
afterAll(async () => {
  await webhook?.kill();
  await world?.stop();
});

crashSuite(() => world, {approves: true, timeoutMs: 15 * MINUTE_MS});

describe('in all these lives', () => invariantSuite(() => world));
