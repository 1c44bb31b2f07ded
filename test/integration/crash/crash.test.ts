/** Kills the operator at each of its writes. Certificates come from a CA that answers immediately. */
import {afterAll, beforeAll, describe} from 'vitest';
import {invariantRows} from '../operator/invariant.suite.ts';
import {installIngressClass, startWorld, type World} from '../operator/operator-world.ts';
import {crashRows} from './crash.suite.ts';

const MINUTE_MS = 60_000;

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await world.certManager.install();
  await installIngressClass(world.client);
}, 240_000);
afterAll(() => world?.stop());

crashRows(() => world, {patienceMs: 3 * MINUTE_MS, timeoutMs: 15 * MINUTE_MS});

describe('in all these lives', () => invariantRows(() => world));
