import {expect, test} from 'vitest';
import type {Finding} from './finding.ts';
import {asJson, exitCode, printed} from './report.ts';
import type {Review} from './review.ts';

const reason = {rule: 'routes', message: 'Only Nameplate.', values: ['admission.trusted'], advice: 'List it.'};
const finding = (name: string, more: Partial<Finding> = {}): Finding => ({
  ...{kind: 'Ingress', namespace: 'shop', name, reasons: [reason]},
  ...more,
});
const clean: Review = {
  objects: {byPolicies: 12, byApprover: 3},
  ...{findings: [], ofPlatform: [], unjudged: [], notes: []},
};
const unjudged = [{what: 'Ingress shop/b', why: '400 admission webhook "w" denied the request'}];

test.each([
  {what: 'nothing', review: clean, code: 0},
  {what: 'a finding', review: {...clean, findings: [finding('a')]}, code: 1},
  {what: 'what only the platform writes', review: {...clean, ofPlatform: [finding('a')]}, code: 0},
  {what: 'what could not be checked', review: {...clean, unjudged}, code: 3},
  {what: 'both', review: {...clean, findings: [finding('a')], unjudged}, code: 3},
])('the exit code for $what is $code', ({review, code}) => {
  expect(exitCode(review)).toBe(code);
});

test('each object has its reasons, its advice once, and the summary counts by rule', () => {
  const none = {rule: 'managed-objects', message: 'Reserved.', values: [], advice: 'List it.'};
  const findings = [finding('a', {writer: 'helm', reasons: [reason, none]}), finding('b')];
  expect(printed({...clean, findings, unjudged, notes: ['A note.']})).toBe(`shop/a  Ingress (last written by helm)
  routes: Only Nameplate.
  managed-objects: Reserved.
  -> List it.

shop/b  Ingress
  routes: Only Nameplate.
  -> List it.

Could not be judged:

Ingress shop/b
  400 admission webhook "w" denied the request

Note: A note.

Judged 12 objects by the admission policies, 3 by the approval rules: 2 findings, 1 not judged.
  routes               2  admission.trusted
  managed-objects      1  no chart value
`);
});

test('nothing that a tenant wrote controls the terminal', () => {
  const text = printed({
    ...clean,
    findings: [finding('a', {reasons: [{...reason, message: '\u001b[2Jgone\r\u202e'}]})],
  });
  expect(text).toContain('\ufffd[2Jgone\ufffd\ufffd');
  expect(text).not.toMatch(/[^\P{C}\n]/u);
});

test('as JSON, nothing is lost', () => {
  expect(JSON.parse(asJson({...clean, findings: [finding('a')]}))).toEqual({...clean, findings: [finding('a')]});
});
