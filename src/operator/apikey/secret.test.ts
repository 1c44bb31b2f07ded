import {describe, expect, test} from 'vitest';
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../../api/names.ts';
import type {APIKey} from '../../apikey/apikey.ts';
import {digestOf, mintKey} from '../../apikey/format.ts';
import type {Secret} from '../kinds/kinds.ts';
import {comesBefore} from './first-holder.ts';
import {buildSecret, RESTORE_MS, readKey, rotationPatch, standingOf} from './secret.ts';
import {keptMs} from './sweep.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const KEY = mintKey(count => new Uint8Array(count));
const OTHER = mintKey(count => new Uint8Array(count).fill(1));

function apiKey(uid: string, createdMs = NOW, more: Partial<APIKey> = {}): APIKey {
  const metadata = {name: 'shop', namespace: 'a', uid, creationTimestamp: timestamp(createdMs)};
  return {apiVersion: API_VERSION, kind: 'APIKey', metadata, spec: {scopes: ['messages:write']}, ...more};
}

/** The Secret as the API server would store it. */
function stored(secret: Secret, createdMs: number): Secret {
  return {...secret, metadata: {...secret.metadata, uid: 's', creationTimestamp: timestamp(createdMs)}};
}

describe('whose Secret', () => {
  const made = stored(buildSecret(apiKey('first'), KEY), NOW);
  const label = (labels: Record<string, string>) => ({...made, metadata: {...made.metadata, labels}});
  test.each([
    ['created for this APIKey', made, apiKey('first'), undefined, 'ours'],
    ['created for it, however long ago', made, apiKey('first', NOW + 10 * RESTORE_MS), 'first', 'ours'],
    ['restored before its APIKey', made, apiKey('restored', NOW + RESTORE_MS), undefined, 'ours'],
    ['restored after it', made, apiKey('restored', NOW - 10 * RESTORE_MS), 'restored', 'ours'],
    ['of an APIKey that was seen and recreated', made, apiKey('again', NOW + 1000), 'first', 'leftover'],
    ['of an APIKey deleted long ago', made, apiKey('again', NOW + RESTORE_MS + 1000), undefined, 'leftover'],
    [
      'of another APIKey',
      label({...made.metadata.labels, [LABEL.apiKey]: 'other'}),
      apiKey('first'),
      'first',
      'foreign',
    ],
    ['without the label of the operator', label({[LABEL.apiKey]: 'shop'}), apiKey('first'), 'first', 'foreign'],
    ['of a tenant', label({}), apiKey('first'), undefined, 'foreign'],
  ] as const)('%s', (_, secret, of, knownUid, want) => {
    expect(standingOf(secret, of, knownUid)).toBe(want);
  });
});

test.each([
  ['of an APIKey that was seen: not at all', true, 0, 0],
  ['that is young: until a restore must have created its APIKey', false, 1000, RESTORE_MS - 1000],
  ['that is older: not at all', false, RESTORE_MS, 0],
])('a Secret without its APIKey is kept, %s', (_, wasSeen, ageMs, want) => {
  const secret = stored(buildSecret(apiKey('gone'), KEY), NOW - ageMs);
  expect(keptMs(secret, wasSeen, NOW)).toBe(want);
});

describe('what a Secret says', () => {
  const secret = buildSecret(apiKey('a'), KEY);

  test('its key, by hash and beginning only', () => {
    const read = readKey(secret);
    expect(read).toEqual({sha256: digestOf(KEY), prefix: 'npk_000000', handledRequest: undefined});
  });

  test.each([
    ['nothing', undefined],
    ['no key', {other: 'x'}],
    ['something else', {key: Buffer.from('hunter2').toString('base64')}],
    ['a key with a line feed', {key: Buffer.from(`${KEY}\n`).toString('base64')}],
  ])('%s is no key', (_, data) => {
    const {data: _data, ...rest} = secret;
    expect(readKey({...rest, ...(data && {data})})).toBeUndefined();
  });

  test.each([
    ['no hash', 'x', '2026-06-02T00:00:00Z'],
    ['no time', digestOf(OTHER), 'tomorrow'],
  ])('%s is no previous key', (_, sha256, validUntil) => {
    const annotations = {[ANNOTATION.previousSha256]: sha256, [ANNOTATION.previousValidUntil]: validUntil};
    expect(readKey({...secret, metadata: {...secret.metadata, annotations}})).not.toHaveProperty('previous');
  });
});

describe('a rotation', () => {
  const asking = (overlapSeconds?: number): APIKey => {
    const base = apiKey('a', NOW, {
      spec: {scopes: ['messages:write'], rotation: {...(overlapSeconds !== undefined && {overlapSeconds})}},
    });
    return {...base, metadata: {...base.metadata, annotations: {[ANNOTATION.rotateRequestedAt]: 'now'}}};
  };
  const rotated = (overlapSeconds?: number) => {
    const secret = buildSecret(apiKey('a'), OTHER);
    const issued = readKey(secret);
    if (!issued) throw new Error('no key');
    const of = asking(overlapSeconds);
    return rotationPatch(secret, {apiKey: of, issued, key: KEY, nowMs: NOW});
  };

  test.each([
    ['a day by default', undefined, '2026-06-02T00:00:00Z'],
    ['what is said', 60, '2026-06-01T00:01:00Z'],
  ])('keeps the key before for %s', (_, overlapSeconds, until) => {
    expect(rotated(overlapSeconds)).toMatchObject({
      metadata: {
        annotations: {
          [ANNOTATION.rotateRequestedAt]: 'now',
          [ANNOTATION.previousSha256]: digestOf(OTHER),
          [ANNOTATION.previousValidUntil]: until,
        },
      },
      data: {key: Buffer.from(KEY).toString('base64')},
    });
  });

  test('without an overlap forgets the key before', () => {
    expect(rotated(0)).toMatchObject({
      metadata: {annotations: {[ANNOTATION.previousSha256]: null, [ANNOTATION.previousValidUntil]: null}},
    });
  });
});

describe('if no record shows who held a key first', () => {
  const sha256 = digestOf(KEY);
  const holding = (uid: string, createdMs: number, status: APIKey['status']) =>
    apiKey(uid, createdMs, status ? {status} : {});
  const current = {sha256};
  const previous = {previous: {sha256, validUntil: '2026-07-01T00:00:00Z'}};
  const whichOf = ({status}: APIKey) => (status?.previous ? 'previous' : 'current');
  test.each([
    ['the APIKey that shows it, even if younger', holding('b', NOW + 1000, current), holding('a', NOW, {}), true],
    ['not one that does not show it, even if older', holding('a', NOW, {}), holding('b', NOW + 1000, current), false],
    ['the older of two that show it', holding('a', NOW, current), holding('b', NOW + 1000, current), true],
    ['not the younger of two that show it', holding('b', NOW + 1000, current), holding('a', NOW, current), false],
    ['one of two of the same age', holding('a', NOW, current), holding('b', NOW, current), true],
    ['and not the other', holding('b', NOW, current), holding('a', NOW, current), false],
    ['the one that has the key, even if younger', holding('b', NOW + 1000, current), holding('a', NOW, previous), true],
    ['not one that has only its hash', holding('a', NOW, previous), holding('b', NOW + 1000, current), false],
    ['the one whose previous key it was, of a copier', holding('a', NOW + 1000, previous), holding('b', NOW, {}), true],
  ])('%s', (_, one, other, want) => {
    const [left, right] = [one, other].map(apiKey => ({apiKey, which: whichOf(apiKey)}) as const);
    expect(left && right && comesBefore(left, right, sha256)).toBe(want);
  });
});
