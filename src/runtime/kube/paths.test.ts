import {expect, test} from 'vitest';
import {collectionPath, objectPath, queryString} from './paths.ts';

const SECRET = {group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true};
const CLAIM = {
  group: 'nameplate.dev',
  version: 'v1alpha1',
  plural: 'domainclaims',
  kind: 'DomainClaim',
  namespaced: false,
};

test.each([
  {got: collectionPath(SECRET), want: '/api/v1/secrets'},
  {got: collectionPath(SECRET, 'a'), want: '/api/v1/namespaces/a/secrets'},
  {got: collectionPath(CLAIM, 'a'), want: '/apis/nameplate.dev/v1alpha1/domainclaims'},
  {got: objectPath(SECRET, {namespace: 'a', name: 'b'}), want: '/api/v1/namespaces/a/secrets/b'},
  {got: objectPath(CLAIM, {name: 'x.y'}, 'status'), want: '/apis/nameplate.dev/v1alpha1/domainclaims/x.y/status'},
  {got: objectPath(CLAIM, {name: 'a/b?c'}), want: '/apis/nameplate.dev/v1alpha1/domainclaims/a%2Fb%3Fc'},
  {got: queryString({}), want: ''},
  {got: queryString({a: undefined, b: 'x=y'}), want: '?b=x%3Dy'},
])('$want', ({got, want}) => {
  expect(got).toBe(want);
});

test.each([
  {key: {name: 'b'}, problem: /a namespace is required/},
  {key: {namespace: 'a', name: ''}, problem: /a name is required/},
])('refuses the key $key, which would address a collection', ({key, problem}) => {
  expect(() => objectPath(SECRET, key)).toThrow(problem);
});
