/** Commands in conditions run as they are shown, whatever namespace the reader's kubectl has. */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {IN_NAMESPACE, settleConditions} from '../api/conditions.ts';
import {Accepted, CertificateReady, REVERIFY, Routed} from './domain/conditions.ts';

const MODULES = ['domain', 'project', 'apikey'].map(name => join(import.meta.dirname, name, 'conditions.ts'));

test('every command of a condition about an object of a namespace names the namespace', () => {
  const commands = MODULES.flatMap(path => readFileSync(path, 'utf8').match(/\b(?:kubectl|cmctl) [a-z].*/g) ?? []);
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.filter(command => !/^.{1,40}(?:\$\{IN_NAMESPACE\}|-n \$\{namespace\})/.test(command))).toEqual([]);
});

test('and the condition shows the namespace of its object', () => {
  const decided = [
    Accepted.noSuccessfulDeploy('shop', 'web'),
    Routed.targetNotLive('www.example.com', false),
    CertificateReady.failed('because.', undefined, `run: ${REVERIFY('shop.example.com')}`),
  ];
  const settled = settleConditions(undefined, decided, {generation: 1, namespace: 'shop-team'}, 0);
  for (const {message} of settled) {
    expect(message).not.toContain(IN_NAMESPACE);
    expect(message).toMatch(/kubectl [a-z -]+ -n shop-team /);
  }
});
