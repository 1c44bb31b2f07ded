/** The rules for Issuers that are older than the admission policy: the same rows are refused there and here. */
import {expect, test} from 'vitest';
import {LISTED_SERVER} from '../../../test/integration/admission/challenges.ts';
import {issuanceAttacks, issuanceDeeds} from '../../../test/integration/admission/issuance.rows.ts';
import {issuerProblem} from './issuers.ts';
import type {Issuer} from './kinds.ts';

const isIssuer = ({object}: {readonly object: {readonly kind: string}}) => object.kind === 'Issuer';
const problemOf = (object: object) =>
  issuerProblem((object as Issuer).spec ?? {}, [{url: LISTED_SERVER, caBundle: ''}]);

// attack: tenant-issuer
test.each(issuanceAttacks.filter(isIssuer))('$attack is not used', ({object}) => {
  expect(problemOf(object)).toMatch(/^(names|does|changes|solves)/);
});

test.each(issuanceDeeds.filter(isIssuer))('one is used that a tenant may $deed', ({object}) => {
  expect(problemOf(object)).toBeUndefined();
});

test('an Issuer of a type that nobody has judged is not used', () => {
  expect(problemOf({spec: {selfSigned: {}, next: {}}})).toBe('is of a type that Nameplate does not know: next');
});
