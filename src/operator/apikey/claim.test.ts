/** The record of a previous key, with a cache that lags behind the API server. */

import {beforeEach, expect, test} from 'vitest';
import {apiOf, memoryOperator} from '../../../test/support/memory-operator.ts';
import {API_VERSION} from '../../api/names.ts';
import type {APIKey, KeyClaim} from '../../apikey/apikey.ts';
import {type ClaimContext, claimKeys} from './claim.ts';
import {KeySecrets} from './read-secret.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const [CURRENT, PREVIOUS] = ['c'.repeat(64), 'p'.repeat(64)];
const KEY = {
  sha256: CURRENT,
  prefix: 'npk_',
  handledRequest: 'once',
  previous: {sha256: PREVIOUS, validUntil: '2026-06-01T01:00:00Z'},
};

let context: ClaimContext;
/** The records on the API server. The cache shows none of them. */
let served: Map<string, KeyClaim>;

beforeEach(() => {
  served = new Map();
  const write = async (_: unknown, claim: KeyClaim) => void served.set(claim.metadata.name, claim);
  const api = apiOf({
    list: async function* (_: unknown, {fieldSelector}: {fieldSelector: string}) {
      const claim = served.get(fieldSelector.replace('metadata.name=', ''));
      yield {items: claim ? [claim] : []};
    },
    create: write,
    replace: write,
  });
  const metadata = {name: 'shop', namespace: 'a', uid: 'u'};
  const apiKey: APIKey = {apiVersion: API_VERSION, kind: 'APIKey', metadata, spec: {scopes: ['messages:write']}};
  const {stores} = memoryOperator().operator;
  context = {apiKey, account: 'acme', stores, keySecrets: new KeySecrets(), nowMs: NOW, ...api};
});

function recorded(account: string, uid: string): void {
  const spec: KeyClaim['spec'] = {account, namespace: account, name: 'shop', uid, scopes: ['messages:write']};
  served.set(PREVIOUS, {apiVersion: API_VERSION, kind: 'KeyClaim', metadata: {name: PREVIOUS}, spec});
}

// attack: stolen-key
test('a previous key without a record gets none: the Secret has only its hash', async () => {
  expect(await claimKeys(context, KEY)).toEqual(new Set([CURRENT]));
  expect([...served.keys()]).toEqual([CURRENT]);
});

test('a previous key ends on time even if the cache does not have its record yet', async () => {
  recorded('acme', 'u');
  expect(await claimKeys(context, KEY)).toEqual(new Set([CURRENT, PREVIOUS]));
  expect(served.get(PREVIOUS)?.spec.validUntil).toBe(KEY.previous.validUntil);
});

test('a previous key that another account holds stays with that account', async () => {
  recorded('other', 'v');
  expect(await claimKeys(context, KEY)).toEqual(new Set([CURRENT]));
  expect(served.get(PREVIOUS)?.spec).toMatchObject({account: 'other', uid: 'v'});
});
