import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../test/support/manual-clock.ts';
import {API_VERSION} from '../api/names.ts';
import {Store} from '../runtime/cache/store.ts';
import type {KeyClaim} from './apikey.ts';
import {digestOf, mintKey} from './format.ts';
import {KeyAuthenticator} from './watched-keys.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const GRACE_MS = 30_000;
const [KEY, OLD, UNKNOWN] = [1, 2, 3].map(fill => mintKey(count => new Uint8Array(count).fill(fill))) as [
  string,
  string,
  string,
];

function keyClaim(sha256: string, spec: Partial<KeyClaim['spec']> = {}): KeyClaim {
  return {
    apiVersion: API_VERSION,
    kind: 'KeyClaim',
    metadata: {name: sha256, uid: sha256, resourceVersion: '1'},
    spec: {account: 'acme', namespace: 'a', name: 'shop', uid: 'u', scopes: ['messages:write'], ...spec},
  };
}
const held = (spec: Partial<KeyClaim['spec']> = {}) => keyClaim(digestOf(KEY), spec);
const replaced = (spec: Partial<KeyClaim['spec']> = {}) =>
  keyClaim(digestOf(OLD), {validUntil: '2026-06-01T00:01:00Z', ...spec});

class Given {
  readonly clock = new ManualClock(NOW);
  readonly store = new Store<KeyClaim>({
    onHandlerError: error => {
      throw error;
    },
  });
  lostSince: number | undefined;
  readonly authenticator = new KeyAuthenticator({
    keyClaims: this.store,
    lostSince: () => this.lostSince,
    clock: this.clock,
    graceMs: GRACE_MS,
  });

  constructor(...claims: KeyClaim[]) {
    this.store.replace(new Map(claims.map(each => [each.metadata.name, each])), '1');
  }
}

describe('a key', () => {
  test('with a record belongs to the account that the record names', () => {
    const {authenticator} = new Given(held({scopes: ['messages:read', 'messages:process']}));
    expect(authenticator.authenticate(KEY)).toEqual({
      account: 'acme',
      keyId: 'a/shop',
      scopes: new Set(['messages:read', 'messages:process']),
    });
  });

  test.each([
    ['before it expires', held({expiresAt: '2026-06-01T00:00:01Z'}), KEY],
    ['in another time zone', held({expiresAt: '2026-06-01T02:00:01+02:00'}), KEY],
    ['the previous key, in the overlap', replaced(), OLD],
  ])('works %s', (_, claim, key) => {
    expect(new Given(claim).authenticator.authenticate(key)).toHaveProperty('account', 'acme');
  });

  test.each([
    ['unknown', held(), UNKNOWN, undefined],
    ['malformed', held(), KEY.slice(0, -1), 'This is not a valid API key for this service.'],
    ['with a wrong check, though its hash has a record', keyClaim(digestOf('npk_x')), 'npk_x', /not a valid API key/],
    ['revoked', held({revoked: true}), KEY, 'This key was revoked.'],
    ['revoked, as the previous key', replaced({revoked: true}), OLD, 'This key was revoked.'],
    ['expired', held({expiresAt: '2026-06-01T00:00:00Z'}), KEY, 'This key expired at 2026-06-01T00:00:00Z.'],
    ['with an expiry that cannot be read', held({expiresAt: 'soon'}), KEY, /expired/],
    ['replaced', replaced({validUntil: '2026-06-01T00:00:00Z'}), OLD, /replaced/],
    ['replaced, the overlap ended early', replaced({releasedAt: '2026-05-31T00:00:00Z'}), OLD, /replaced/],
    ['released with its APIKey', held({releasedAt: '2026-05-31T00:00:00Z'}), KEY, undefined],
    ['released in the future of a clock that is ahead', held({releasedAt: '2026-07-01T00:00:00Z'}), KEY, undefined],
  ] as const)('is refused: %s', (_, claim, key, detail) => {
    const answer = new Given(claim).authenticator.authenticate(key);
    expect(answer).toEqual({refused: 'invalid', ...(detail && {detail: expect.stringMatching(detail)})});
  });

  test('ends by the clock, without a change to its record', async () => {
    const {authenticator, clock} = new Given(held({expiresAt: '2026-06-01T00:00:10Z'}));
    await clock.advance(9_999);
    expect(authenticator.authenticate(KEY)).toHaveProperty('account');
    await clock.advance(1);
    expect(authenticator.authenticate(KEY)).toHaveProperty('refused', 'invalid');
  });

  test('is forgotten with its record', () => {
    const {authenticator, store} = new Given(held());
    store.remove(held());
    expect(authenticator.authenticate(KEY)).toEqual({refused: 'invalid'});
  });
});

describe('while the API server is away', () => {
  test('known keys work for the grace and not a moment longer, and again when it is back', async () => {
    const given = new Given(held());
    const {authenticator, clock} = given;
    given.lostSince = clock.monotonic();
    await clock.advance(GRACE_MS);
    expect(authenticator.problem()).toBeUndefined();
    expect(authenticator.authenticate(KEY)).toHaveProperty('account', 'acme');
    expect(authenticator.authenticate(UNKNOWN)).toEqual({refused: 'invalid'});
    await clock.advance(1);
    expect(authenticator.problem()).toMatch(/unreachable for 30 s/);
    expect(authenticator.authenticate(KEY)).toEqual({refused: 'unavailable'});
    expect(authenticator.authenticate('garbage')).toHaveProperty('refused', 'invalid');
    given.lostSince = undefined;
    expect(authenticator.authenticate(KEY)).toHaveProperty('account', 'acme');
  });

  test('before the first list, and without the kind, no key can be checked', () => {
    const {store, authenticator} = new Given();
    store.markMissing();
    expect(authenticator.authenticate(KEY)).toEqual({refused: 'unavailable'});
    const syncing = new Store<KeyClaim>({onHandlerError: () => undefined});
    const fresh = new KeyAuthenticator({
      keyClaims: syncing,
      lostSince: () => 0,
      clock: new ManualClock(),
      graceMs: GRACE_MS,
    });
    expect(fresh.authenticate(KEY)).toEqual({refused: 'unavailable'});
    expect(fresh.problem()).toMatch(/not been loaded yet/);
  });
});
