/** What concerns all keys at once: an operator that is dead or new, an API server that is away. */
import {expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {newTenant} from './tenant.ts';
import type {World} from './world.ts';

export function disturbanceRows(world: () => World): void {
  test('a dead operator stops no revocation, and its successor changes no key', async () => {
    const [kept, revoked, gone] = [
      await newTenant(world(), 'kept'),
      await newTenant(world(), 'orphan'),
      await newTenant(world(), 'gone'),
    ];
    const keys = [await kept.issued(), await revoked.issued(), await gone.issued()] as [string, string, string];
    const {metadata} = kept.secret() ?? {};
    await world().operator().kill();
    await revoked.patch({revoked: true});
    await revoked.ends(keys[1]);
    await gone.delete();
    await gone.ends(keys[2]);
    await kept.wipeStatus();
    await kept.ends(keys[0]);
    await world().restartOperator();
    expect(await until('the key is known again', () => kept.accepts(keys[0]))).toBe(true);
    await revoked.becomes({Active: 'Revoked', Ready: 'Revoked'});
    expect(kept.secret()?.metadata.resourceVersion).toBe(metadata?.resourceVersion);
  });

  test('while the API server is away known keys work for the time that was set, and again when it is back', async () => {
    const tenant = await newTenant(world(), 'away');
    const key = await tenant.issued();
    const graceMs = 2_000;
    const impatient = await world().authorityWith(graceMs);
    expect(impatient.authenticate(key)).toHaveProperty('account');
    await world().api.crash();
    const since = performance.now();
    const refused = () => 'refused' in impatient.authenticate(key);
    expect(refused(), 'the moment after').toBe(false);
    await until('the grace is over', refused, {intervalMs: 20});
    const trustedMs = performance.now() - since;
    expect(impatient.authenticate(key)).toEqual({refused: 'unavailable'});
    expect(impatient.problem()).toMatch(/the API server has been away for \d+ s/);
    expect(trustedMs).toBeGreaterThan(graceMs * 0.9);
    expect(trustedMs).toBeLessThan(graceMs + 1_000);
    expect(tenant.accepts(key), 'another one trusts for a minute').toBe(true);
    await world().api.resume();
    await until('the key works again', () => !refused(), {intervalMs: 20});
    await tenant.patch({revoked: true});
    await tenant.ends(key);
    await until('both have seen it', () => impatient.authenticate(key)).then(answer =>
      expect(answer).toMatchObject({refused: 'invalid'}),
    );
  });
}
