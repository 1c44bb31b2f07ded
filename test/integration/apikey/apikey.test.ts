/**
 * APIKeys on a real API server: what the operator makes of them, and what the messages API takes for a valid key. First
 * what disturbs nobody, side by side; then what disturbs all; at the end, what must be nowhere in all that was written.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import {disturbanceRows} from './disturbance.suite.ts';
import {endRows} from './end.suite.ts';
import {issueRows} from './issue.suite.ts';
import {startWorld, type World} from './key-world.ts';
import {rightsRows} from './rights.suite.ts';
import {rotationRows} from './rotation.suite.ts';
import {secrecyRows} from './secrecy.suite.ts';

let world: World;
const shared = () => world;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

describe.concurrent('a key is issued', () => issueRows(shared));
describe.concurrent('a key ends', () => endRows(shared));
describe.concurrent('a key is replaced', () => rotationRows(shared));
describe.concurrent('the rights of the messages API', () => rightsRows(shared));
describe('what disturbs all', () => disturbanceRows(shared));
describe('in all that was written', () => secrecyRows(shared));
