import {describe, expect, test} from 'vitest';
import {API_VERSION} from '../api/names.ts';
import {Store} from '../runtime/kube/store.ts';
import {ManualClock} from '../runtime/manual-clock.ts';
import type {APIKey} from './apikey.ts';
import {KeyAuthority} from './authority.ts';
import {digestOf, mintKey} from './format.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const GRACE_MS = 30_000;
const [KEY, OLD, UNKNOWN] = [1, 2, 3].map(fill => mintKey(count => new Uint8Array(count).fill(fill))) as [
  string,
  string,
  string,
];

function apiKey(name: string, spec: Partial<APIKey['spec']> = {}, status: APIKey['status'] = {}): APIKey {
  return {
    apiVersion: API_VERSION,
    kind: 'APIKey',
    metadata: {name, namespace: 'a', uid: name, resourceVersion: '1'},
    spec: {scopes: ['messages:write'], ...spec},
    status: {account: 'acme', sha256: digestOf(KEY), ...status},
  };
}

class Given {
  readonly clock = new ManualClock(NOW);
  readonly store = new Store<APIKey>({
    onHandlerError: error => {
      throw error;
    },
  });
  lostSince: number | undefined;
  readonly authority = new KeyAuthority({
    apiKeys: this.store,
    lostSince: () => this.lostSince,
    clock: this.clock,
    graceMs: GRACE_MS,
  });

  constructor(...apiKeys: APIKey[]) {
    this.store.replace(new Map(apiKeys.map(each => [`a/${each.metadata.name}`, each])), '1');
  }
}

describe('a key', () => {
  test('that an APIKey holds is its account’s', () => {
    const {authority} = new Given(apiKey('shop', {scopes: ['messages:read', 'messages:process']}));
    expect(authority.authenticate(KEY)).toEqual({
      account: 'acme',
      keyId: 'a/shop',
      scopes: new Set(['messages:read', 'messages:process']),
    });
  });

  const overlap = {previous: {sha256: digestOf(OLD), validUntil: '2026-06-01T00:01:00Z'}};
  test.each([
    ['before it expires', apiKey('k', {expiresAt: '2026-06-01T00:00:01Z'}), KEY],
    ['in another time zone', apiKey('k', {expiresAt: '2026-06-01T02:00:01+02:00'}), KEY],
    ['the one before, in the overlap', apiKey('k', {}, overlap), OLD],
    ['the new one, in the overlap', apiKey('k', {}, overlap), KEY],
  ])('works %s', (_, held, key) => {
    expect(new Given(held).authority.authenticate(key)).toHaveProperty('account', 'acme');
  });

  test.each([
    ['unknown', apiKey('k'), UNKNOWN, undefined],
    ['malformed', apiKey('k'), KEY.slice(0, -1), 'This is not an API key of this service.'],
    [
      'with a wrong check, though an APIKey claims its hash',
      apiKey('k', {}, {sha256: digestOf('npk_x')}),
      'npk_x',
      /not an API key/,
    ],
    ['revoked', apiKey('k', {revoked: true}), KEY, 'This key was revoked.'],
    ['revoked, the one before', apiKey('k', {revoked: true}, overlap), OLD, 'This key was revoked.'],
    ['expired', apiKey('k', {expiresAt: '2026-06-01T00:00:00Z'}), KEY, 'This key expired at 2026-06-01T00:00:00Z.'],
    ['with an expiry that cannot be read', apiKey('k', {expiresAt: 'soon'}), KEY, /expired/],
    [
      'replaced',
      apiKey('k', {}, {previous: {...overlap.previous, validUntil: '2026-06-01T00:00:00Z'}}),
      OLD,
      /replaced/,
    ],
    ['replaced, the overlap set to nothing', apiKey('k', {rotation: {overlapSeconds: 0}}, overlap), OLD, /replaced/],
    ['without an account', apiKey('k', {}, {account: ''}), KEY, undefined],
  ] as const)('is refused: %s', (_, held, key, detail) => {
    const answer = new Given(held).authority.authenticate(key);
    expect(answer).toEqual({refused: 'invalid', ...(detail && {detail: expect.stringMatching(detail)})});
  });

  test('that two APIKeys claim is refused to both, until one lets it go', () => {
    const thief = apiKey('thief', {}, {account: 'other'});
    const {authority, store} = new Given(apiKey('shop'), thief);
    expect(authority.authenticate(KEY)).toEqual({refused: 'invalid'});
    store.remove(thief);
    expect(authority.authenticate(KEY)).toHaveProperty('account', 'acme');
  });

  test('ends by the clock, without any change of its APIKey', async () => {
    const {authority, clock} = new Given(apiKey('k', {expiresAt: '2026-06-01T00:00:10Z'}, overlap));
    await clock.advance(9_999);
    expect(authority.authenticate(KEY)).toHaveProperty('account');
    await clock.advance(1);
    expect(authority.authenticate(KEY)).toHaveProperty('refused', 'invalid');
  });

  test('is forgotten with its APIKey', () => {
    const {authority, store} = new Given(apiKey('shop'));
    store.remove(apiKey('shop'));
    expect(authority.authenticate(KEY)).toEqual({refused: 'invalid'});
  });
});

describe('while the API server is away', () => {
  test('known keys work for the grace and not a moment longer, and again when it is back', async () => {
    const given = new Given(apiKey('shop'));
    const {authority, clock} = given;
    given.lostSince = clock.monotonic();
    await clock.advance(GRACE_MS);
    expect(authority.problem()).toBeUndefined();
    expect(authority.authenticate(KEY)).toHaveProperty('account', 'acme');
    expect(authority.authenticate(UNKNOWN)).toEqual({refused: 'invalid'});
    await clock.advance(1);
    expect(authority.problem()).toMatch(/away for 30 s/);
    expect(authority.authenticate(KEY)).toEqual({refused: 'unavailable'});
    expect(authority.authenticate('garbage')).toHaveProperty('refused', 'invalid');
    given.lostSince = undefined;
    expect(authority.authenticate(KEY)).toHaveProperty('account', 'acme');
  });

  test('before the first list, and without the kind, nobody can be judged', () => {
    const {store, authority} = new Given();
    store.markMissing();
    expect(authority.authenticate(KEY)).toEqual({refused: 'unavailable'});
    const syncing = new Store<APIKey>({onHandlerError: () => undefined});
    const fresh = new KeyAuthority({apiKeys: syncing, lostSince: () => 0, clock: new ManualClock(), graceMs: GRACE_MS});
    expect(fresh.authenticate(KEY)).toEqual({refused: 'unavailable'});
    expect(fresh.problem()).toMatch(/not been read yet/);
  });
});
