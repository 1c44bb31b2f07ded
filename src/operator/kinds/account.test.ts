import {expect, test} from 'vitest';
import {API_VERSION, LABEL} from '../../api/names.ts';
import {accountId, holderOf} from './account.ts';
import type {DomainClaim} from './kinds.ts';

const namespace = (uid: string, labels?: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {name: 'shop', uid, ...(labels && {labels})},
});

// attack: recreated-namespace
// promise: new-namespace
test('a recreated namespace is another account, unless the platform labels it', () => {
  expect(accountId(namespace('new'))).not.toBe(accountId(namespace('old')));
  const [before, after] = ['old', 'new'].map(uid => accountId(namespace(uid, {[LABEL.account]: 'acme'})));
  expect(after).toBe(before);
});

test('a claim holds a host unless it is released, or records only the orders of a default host', () => {
  const account = {id: 'acme'};
  const claim = (spec: Partial<DomainClaim['spec']>): DomainClaim => ({
    ...{apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: 'shop.test'}},
    spec: {account: 'acme', namespace: 'shop', since: '', ...spec},
  });
  expect(holderOf(undefined, account, 'shop')).toBe('nobody');
  expect(holderOf(claim({}), account, 'shop')).toBe('us');
  expect(holderOf(claim({account: 'other'}), account, 'shop')).toBe('another');
  expect(holderOf(claim({releasedAt: '2026-01-01T00:00:00Z'}), account, 'shop')).toBe('released');
  expect(holderOf(claim({project: 'shop'}), account, 'shop')).toBe('released');
});
