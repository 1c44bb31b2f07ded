/** Kills the operator at each of its writes. Certificates come from a CA that answers immediately. */
import {afterAll, beforeAll, describe} from 'vitest';
import {invariantSuite} from '../operator/invariant.suite.ts';
import {installIngressClass, type OperatorWorld, startOperatorWorld} from '../operator/operator-world.ts';
import {crashSuite} from './crash.suite.ts';

const MINUTE_MS = 60_000;

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
  await world.certManager.install();
  await installIngressClass(world.client);
}, 240_000);
afterAll(() => world?.stop());

crashSuite(() => world, {patienceMs: 3 * MINUTE_MS, timeoutMs: 15 * MINUTE_MS});

describe('in all these lives', () => invariantSuite(() => world));
