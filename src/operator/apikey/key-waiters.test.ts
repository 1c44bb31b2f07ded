import {expect, test} from 'vitest';
import {API_VERSION} from '../../api/names.ts';
import type {APIKey, KeyClaim} from '../../apikey/apikey.ts';
import {INDEX} from '../caches/stores.ts';
import {apiKeyAndWhoShares, holdersOf} from './controllers.ts';
import {KeyWaiters} from './key-waiters.ts';

const [OURS, THEIRS] = ['a'.repeat(64), 'b'.repeat(64)];
const apiKey = (name: string, sha256?: string): APIKey => ({
  apiVersion: API_VERSION,
  kind: 'APIKey',
  metadata: {name, namespace: 'a', uid: name},
  spec: {scopes: ['messages:write']},
  ...(sha256 && {status: {sha256}}),
});
const showing = (...all: APIKey[]) => ({
  apiKeys: {
    byIndex: (index: string, hash: string) =>
      index === INDEX.sha256 ? all.filter(({status}) => status?.sha256 === hash) : [],
  },
});

function waitersOf(...rows: readonly (readonly [string, string])[]): KeyWaiters {
  const waiters = new KeyWaiters();
  for (const [key, hash] of rows) waiters.wait(key, hash);
  return waiters;
}

// attack: costly-keys
test('a key that becomes free wakes those that wait for it, and nobody else', () => {
  const waiters = waitersOf(
    ['a/one', OURS],
    ['a/two', OURS],
    ...Array.from({length: 400}, (_, i) => [`b/${i}`, THEIRS] as const),
  );
  const claim: KeyClaim = {
    apiVersion: API_VERSION,
    kind: 'KeyClaim',
    metadata: {name: OURS},
    spec: {
      account: 'a',
      namespace: 'a',
      name: 'holder',
      uid: 'u',
      scopes: ['messages:write'],
      releasedAt: '2026-11-27T00:00:00Z',
    },
  };
  expect(holdersOf(waiters, {type: 'updated', object: claim, old: claim, initial: false})).toEqual(
    new Set(['a/holder', 'a/one', 'a/two']),
  );
  const gone = apiKey('holder', OURS);
  expect(apiKeyAndWhoShares(showing(), waiters, {type: 'deleted', object: gone, initial: false})).toEqual(
    new Set(['a/holder', 'a/one', 'a/two']),
  );
});

test('one that waits for another key, or no longer waits, is not woken', () => {
  const waiters = waitersOf(['a/one', OURS], ['a/two', OURS]);
  waiters.wait('a/one', THEIRS);
  waiters.leave('a/two');
  expect(waiters.of(OURS)).toEqual([]);
  expect(waiters.of(THEIRS)).toEqual(['a/one']);
});

test('a change that leaves the keys of an APIKey as they are concerns nobody else', () => {
  const [object, sharing] = [apiKey('one', OURS), apiKey('two', OURS)];
  const stores = showing(object, sharing);
  const waiters = new KeyWaiters();
  expect(apiKeyAndWhoShares(stores, waiters, {type: 'updated', object, old: object, initial: false})).toEqual(
    new Set(['a/one']),
  );
  const old = apiKey('one');
  expect(apiKeyAndWhoShares(stores, waiters, {type: 'updated', object, old, initial: false})).toEqual(
    new Set(['a/one', 'a/two']),
  );
});
