/**
 * The operator on a real API server. The rows are in the files next to this one, by theme; they share one world, since
 * it takes seconds to start. First the platform comes up piece by piece, then what disturbs nobody runs side by side,
 * then what disturbs all, one after another.
 */
import {afterAll, beforeAll, describe} from 'vitest';
import {acceptRows} from './accept.rows.ts';
import {apiKeyRows} from './apikey.rows.ts';
import {certificateRows} from './certificate.rows.ts';
import {claimRows} from './claim.rows.ts';
import {disturbanceRows} from './disturbance.rows.ts';
import {invariantRows} from './invariant.rows.ts';
import {lifeRows} from './life.rows.ts';
import {overloadRows} from './overload.rows.ts';
import {platformRows} from './platform.rows.ts';
import {projectLimitRows} from './project-limit.rows.ts';
import {rbacRows} from './rbac.rows.ts';
import {redirectRows} from './redirect.rows.ts';
import {removalRows} from './removal.rows.ts';
import {startWorld, type World} from './world.ts';

let world: World;
const shared = () => world;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

describe('a platform that comes up piece by piece', () => platformRows(shared));
describe.concurrent('a Domain that may not start', () => acceptRows(shared));
describe.concurrent('the life of a Domain', () => lifeRows(shared));
describe.concurrent('the certificate of a Domain', () => certificateRows(shared));
describe.concurrent('claims and Projects', () => claimRows(shared));
describe.concurrent('Projects beyond a plan', () => projectLimitRows(shared));
describe.concurrent('redirects', () => redirectRows(shared));
describe.concurrent('removal', () => removalRows(shared));
describe.concurrent('API keys', () => apiKeyRows(shared));
describe('what disturbs all', () => disturbanceRows(shared));
describe('an API server that is overloaded, or refuses', () => overloadRows(shared));
describe('in all that happened', () => invariantRows(shared));
describe("the chart's rights", () => rbacRows(shared));
