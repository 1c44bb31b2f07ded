import {expect, test} from 'vitest';
import {LABEL} from '../../api/names.ts';
import {accountId} from './account.ts';

const namespace = (uid: string, labels?: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {name: 'shop', uid, ...(labels && {labels})},
});

test('a recreated namespace is another account, unless the platform labels it', () => {
  expect(accountId(namespace('new'))).not.toBe(accountId(namespace('old')));
  const [before, after] = ['old', 'new'].map(uid => accountId(namespace(uid, {[LABEL.account]: 'acme'})));
  expect(after).toBe(before);
});
