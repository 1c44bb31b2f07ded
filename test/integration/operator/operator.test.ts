/**
 * The operator on a real API server. The tests are in the suites next to this file, by topic. They share one world,
 * because it takes seconds to start. First, the platform comes up piece by piece; then tests that disturb nobody run in
 * parallel; then those that disturb all, one after another.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import {acceptSuite} from './accept.suite.ts';
import {apiKeySuite} from './apikey.suite.ts';
import {certificateSuite} from './certificate.suite.ts';
import {claimSuite} from './claim.suite.ts';
import {disturbanceSuite} from './disturbance.suite.ts';
import {invariantSuite} from './invariant.suite.ts';
import {kubectlSuite} from './kubectl.suite.ts';
import {lifeSuite} from './life.suite.ts';
import {type OperatorWorld, startOperatorWorld} from './operator-world.ts';
import {overloadSuite} from './overload.suite.ts';
import {lonePauseSuite, pauseSuite} from './pause.suite.ts';
import {platformSuite} from './platform.suite.ts';
import {probeSuite} from './probe.suite.ts';
import {projectLimitSuite} from './project-limit.suite.ts';
import {rbacSuite} from './rbac.suite.ts';
import {redirectSuite} from './redirect.suite.ts';
import {refusalSuite} from './refusal.suite.ts';
import {removalSuite, terminationSuite} from './removal.suite.ts';
import {wireSuite} from './wire.suite.ts';
import {writesSuite} from './writes.suite.ts';

let world: OperatorWorld;
const shared = () => world;

beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world?.stop());

describe('a platform that comes up piece by piece', () => platformSuite(shared));
describe.concurrent('a Domain that may not start', () => acceptSuite(shared));
describe.concurrent('the life of a Domain', () => lifeSuite(shared));
describe.concurrent('the certificate of a Domain', () => certificateSuite(shared));
describe.concurrent('claims and Projects', () => claimSuite(shared));
describe.concurrent('Projects beyond a plan', () => projectLimitSuite(shared));
describe.concurrent('redirects', () => redirectSuite(shared));
describe.concurrent('removal', () => removalSuite(shared));
describe.concurrent('a pause', () => pauseSuite(shared));
describe.concurrent('an API server that rejects writes', () => refusalSuite(shared));
describe.concurrent('our writes', () => writesSuite(shared));
describe.concurrent('API keys', () => apiKeySuite(shared));
describe.concurrent('kubectl nameplate', () => kubectlSuite(shared));
describe('what disturbs all', () => disturbanceSuite(shared));
describe('a pause, alone', () => lonePauseSuite(shared));
describe('removal, alone', () => terminationSuite(shared));
describe('probes', () => probeSuite(shared));
describe('an API server that is overloaded', () => overloadSuite(shared));
describe('a connection that fails', () => wireSuite(shared));
describe('in all that happened', () => invariantSuite(shared));
describe("the chart's rights", () => rbacSuite(shared));
