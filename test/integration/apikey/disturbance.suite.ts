/** Faults that affect all keys: a dead or new operator, an unreachable API server. */
import {randomBytes} from 'node:crypto';
import {expect, test} from 'vitest';
import {ANNOTATION} from '../../../src/api/names.ts';
import {KEY_CLAIM} from '../../../src/apikey/apikey.ts';
import {digestOf, mintKey} from '../../../src/apikey/format.ts';
import {until} from '../../cluster/wait.ts';
import {newKeyTenant, previousKey} from './key-tenant.ts';
import type {KeyWorld} from './key-world.ts';

export function keyDisturbanceSuite(world: () => KeyWorld): void {
  test('a dead operator ends no key, and its successor ends only the keys that were ended meanwhile', async () => {
    const [kept, revoked, gone] = [
      await newKeyTenant(world(), 'kept'),
      await newKeyTenant(world(), 'orphan'),
      await newKeyTenant(world(), 'gone'),
    ];
    const keys = [await kept.issued(), await revoked.issued(), await gone.issued()] as [string, string, string];
    const {metadata} = kept.secret() ?? {};
    const record = kept.claim(keys[0]);
    await world().operator().kill();
    await revoked.patch({revoked: true});
    await gone.delete();
    await kept.wipeStatus();
    expect(
      keys.map(key => kept.accepts(key)),
      'nobody has recorded an end',
    ).toEqual([true, true, true]);
    const refused = refusalsOf(world(), keys[0]);
    await world().restartOperator();
    await revoked.ends(keys[1]);
    await gone.ends(keys[2]);
    await revoked.becomes({Active: 'Revoked', Ready: 'Revoked'});
    await kept.becomes({Active: 'Active', Ready: 'Issued'});
    expect(refused.end()).toEqual([]);
    expect(kept.secret()?.metadata.resourceVersion).toBe(metadata?.resourceVersion);
    expect(kept.claim(keys[0])).toEqual(record);
  });

  // This happens after a restore without the records.
  // attack: stolen-key
  test('keys without a record are recorded again for the APIKeys that held them, and no copy works', async () => {
    const [owner, thief] = [
      await newKeyTenant(world(), 'unrecorded', 'unrecorded'),
      await newKeyTenant(world(), 'eager', 'eager'),
    ];
    await thief.issued(); // the older APIKey
    const key = await owner.issued();
    await thief.applySecret({key});
    await thief.becomes({Active: 'NotIssued', Ready: 'KeyInUse'});
    const liar = await newKeyTenant(world(), 'liar', 'liar');
    await liar.issued();
    await world().operator().kill();
    await forgetKeys(world());
    await liar.writeStatus({account: 'liar', sha256: digestOf(key)});
    await world().restartOperator();
    expect(await owner.works()).toBe(key);
    await liar.becomes({Active: 'Active', Ready: 'Issued'});
    await thief.becomes({Active: 'NotIssued', Ready: 'KeyInUse'});
    expect(world().authenticator.authenticate(key)).toMatchObject({account: 'unrecorded', keyId: 'unrecorded/shop'});
  });

  // This happens after a restore without the records, and without status.
  // attack: stolen-key
  test('nobody gets a key without a record by writing its hash as that of a previous key', async () => {
    const [older, elder] = [
      await newKeyTenant(world(), 'older', 'older'),
      await newKeyTenant(world(), 'elder', 'elder'),
    ];
    const own = [await older.issued(), await elder.issued()] as const;
    const [shown, wiped] = [
      await newKeyTenant(world(), 'shown', 'shown'),
      await newKeyTenant(world(), 'wiped', 'wiped'),
    ];
    const keys = [await shown.issued(), await wiped.issued()] as const;
    await world().operator().kill();
    await older.applySecret({key: own[0]}, {annotations: previousKey(keys[0])});
    await elder.applySecret({key: own[1]}, {annotations: previousKey(keys[1])});
    const previous = {sha256: digestOf(keys[0]), validUntil: '2099-01-01T00:00:00Z'};
    await older.writeStatus({account: 'older', sha256: digestOf(own[0]), previous});
    await wiped.wipeStatus();
    await forgetKeys(world());
    await world().restartOperator();
    for (const tenant of [older, elder]) await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    for (const tenant of [shown, wiped]) await tenant.works();
    for (const [index, account] of ['shown', 'wiped'].entries()) {
      expect(world().authenticator.authenticate(keys[index] ?? '')).toMatchObject({account});
    }
  });

  // attack: stolen-key
  test('the next operator finishes a rotation that its predecessor began: both keys work', async () => {
    const tenant = await newKeyTenant(world(), 'halfway');
    const old = await tenant.issued();
    await world().operator().kill();
    await tenant.askForRotation('once');
    const key = mintKey(randomBytes);
    const annotations: Record<string, string> = {...previousKey(old), [ANNOTATION.rotateRequestedAt]: 'once'};
    await tenant.applySecret({key}, {annotations});
    await world().restartOperator();
    await tenant.becomes({Active: 'Rotating', Ready: 'Issued'});
    expect(await tenant.works()).toBe(key);
    expect([tenant.accepts(old), tenant.accepts(key)]).toEqual([true, true]);
    expect(tenant.claim(old)?.spec.validUntil).toBe(annotations[ANNOTATION.previousValidUntil]);
  });

  test('the record of a deleted APIKey is deleted once it has lingered, and the others stay', async () => {
    const [kept, gone, rotating] = [
      await newKeyTenant(world(), 'lasting'),
      await newKeyTenant(world(), 'leaving'),
      await newKeyTenant(world(), 'turning'),
    ];
    const [stays, goes, old] = [await kept.issued(), await gone.issued(), await rotating.issued()];
    const next = await rotating.rotated('once');
    await world().restartOperator({claims: {lingerSeconds: 1}});
    await rotating.patch({rotation: {overlapSeconds: 0}});
    await gone.delete();
    await gone.until('its record is gone', () => !gone.claim(goes));
    await rotating.until('the record of the previous key is gone', () => !rotating.claim(old));
    expect([kept.claim(stays), rotating.claim(next)]).not.toContain(undefined);
    expect([kept.accepts(stays), rotating.accepts(next)]).toEqual([true, true]);
    await world().restartOperator();
  });

  test('while the API server is away known keys work for the time that was set, and again when it is back', async () => {
    const tenant = await newKeyTenant(world(), 'away');
    const key = await tenant.issued();
    const graceMs = 2_000;
    const impatient = await world().authenticatorWith(graceMs);
    expect(impatient.authenticate(key)).toHaveProperty('account');
    await world().api.crash();
    const since = performance.now();
    const refused = () => 'refused' in impatient.authenticate(key);
    expect(refused(), 'the moment after').toBe(false);
    let trustedMs = 0;
    const isOver = () => {
      const askedAt = performance.now();
      if (refused()) return true;
      trustedMs = askedAt - since;
      return false;
    };
    await until('the grace is over', isOver, {intervalMs: 20});
    const refusedMs = performance.now() - since;
    expect(impatient.authenticate(key)).toEqual({refused: 'unavailable'});
    expect(impatient.problem()).toMatch(/the API server has been unreachable for \d+ s/);
    expect(refusedMs).toBeGreaterThan(graceMs * 0.9);
    console.info(`Keys were trusted for ${(trustedMs / 1000).toFixed(1)} s of ${graceMs / 1000} s`);
    expect(tenant.accepts(key), 'another one trusts for a minute').toBe(true);
    await world().api.resume();
    await until('the key works again', () => !refused(), {intervalMs: 20});
    await tenant.patch({revoked: true});
    await tenant.ends(key);
    await until('both have seen it', refused);
    expect(impatient.authenticate(key)).toMatchObject({refused: 'invalid'});
  });
}

/** Deletes all records, as if they had never existed. */
async function forgetKeys({client, keyClaims}: KeyWorld): Promise<void> {
  for (const {metadata} of [...keyClaims.list()]) await client.delete(KEY_CLAIM, {name: metadata.name});
  await until('no key has a record', () => [...keyClaims.list()].length === 0);
}

/** Collects each refusal that calls a key invalid, checking every millisecond. */
function refusalsOf({authenticator}: KeyWorld, key: string): {end(): unknown[]} {
  const refusals: unknown[] = [];
  const listening = setInterval(() => {
    const answer = authenticator.authenticate(key);
    if ('refused' in answer && answer.refused === 'invalid') refusals.push(answer);
  }, 1);
  return {
    end: () => {
      clearInterval(listening);
      return refusals;
    },
  };
}
