/** Runs on a Gateway what every test run does on Traefik: accounts that want one host, and hosts that change roles. */
import {describe} from 'vitest';
import {racing} from '../e2e/accounts.suite.ts';
import {swapping} from '../e2e/changes.suite.ts';

describe.concurrent('two accounts and one host', racing);
describe('primary and redirect', swapping);
