/**
 * APIKeys on a real API server: what the operator does with them, and which keys the messages API accepts. First, tests
 * that disturb nobody, in parallel; then those that disturb all; last, a check of everything written for keys that
 * leaked.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import {costSuite} from './cost.suite.ts';
import {keyDisturbanceSuite} from './disturbance.suite.ts';
import {endSuite} from './end.suite.ts';
import {issueSuite} from './issue.suite.ts';
import {type KeyWorld, startKeyWorld} from './key-world.ts';
import {rightsSuite} from './rights.suite.ts';
import {rotationSuite} from './rotation.suite.ts';
import {secrecySuite} from './secrecy.suite.ts';

let world: KeyWorld;
const shared = () => world;

beforeAll(async () => {
  world = await startKeyWorld();
});
afterAll(() => world?.stop());

describe.concurrent('a key is issued', () => issueSuite(shared));
describe.concurrent('a key ends', () => endSuite(shared));
describe.concurrent('a key is replaced', () => rotationSuite(shared));
describe.concurrent('the rights of the messages API', () => rightsSuite(shared));
describe('what disturbs all', () => keyDisturbanceSuite(shared));
describe('what keys cost', () => costSuite(shared));
describe('in all that was written', () => secrecySuite(shared));
