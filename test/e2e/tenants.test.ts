/** Tenants on one shared cluster. All tests run at the same time, each with its own namespace and zone. */
import {describe} from 'vitest';
import {racing} from './accounts.suite.ts';
import {changing, swapping} from './changes.suite.ts';
import * as failures from './failures.suite.ts';
import {sendingMessages} from './messages.suite.ts';
import {repairing} from './repairs.suite.ts';
import * as states from './states.suite.ts';
import {servingWildcards} from './wildcards.suite.ts';

describe.concurrent('the life of a Domain', () => {
  describe('(none) -> added', states.adding);
  describe('added -> verified -> live', states.goingLive);
  describe('live -> live', states.staying);
  describe('any -> removed', states.removing);
});

describe.concurrent('what fails', () => {
  describe('verification keeps failing', failures.verificationKeepsFailing);
  describe('certificate not provisioning', failures.certificateNotProvisioning);
  describe('private-connection warning', failures.privateConnectionWarning);
  describe('redirects break', failures.redirectsBreak);
});

describe.concurrent('what changes', changing);
describe.concurrent('primary and redirect', swapping);
describe.concurrent('two accounts and one host', racing);
describe.concurrent('wildcards and delegated challenges', servingWildcards);
describe.concurrent('what is repaired', repairing);
describe.concurrent('the messages API', sendingMessages);
