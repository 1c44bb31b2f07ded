/**
 * APIKeys on a real API server: what the operator makes of them, and what the messages API takes for a valid key. First
 * what disturbs nobody, side by side; then what disturbs all; at the end, what must be nowhere in all that was written.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import {disturbanceRows} from './disturbance.rows.ts';
import {endRows} from './end.rows.ts';
import {issueRows} from './issue.rows.ts';
import {rightsRows} from './rights.rows.ts';
import {rotationRows} from './rotation.rows.ts';
import {secrecyRows} from './secrecy.rows.ts';
import {startWorld, type World} from './world.ts';

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
