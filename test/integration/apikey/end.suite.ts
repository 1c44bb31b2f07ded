/** How a key ends, at the messages API and in the status. */
import {performance} from 'node:perf_hooks';
import {expect, test} from 'vitest';
import {timestamp} from '../../../src/api/conditions.ts';
import {LABEL} from '../../../src/api/names.ts';
import {API_KEY} from '../../../src/apikey/apikey.ts';
import {digestOf} from '../../../src/apikey/format.ts';
import {NAMESPACE, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {operatorRequests} from './audit.ts';
import {newKeyTenant} from './key-tenant.ts';
import type {KeyWorld} from './key-world.ts';

export function endSuite(world: () => KeyWorld): void {
  test('by its revocation, after one read and one write of the operator, and permanently', async () => {
    const tenants = await Promise.all([1, 2, 3, 4, 5].map(number => newKeyTenant(world(), `revoked-${number}`)));
    const latencies: number[] = [];
    for (const tenant of tenants) {
      const key = await tenant.issued();
      const requestsSoFar = () => operatorRequests(world(), tenant.namespace, digestOf(key));
      // The audit log gets a write after its effect is visible.
      await until('its issue is audited', async () => (await requestsSoFar()).includes('patch apikeys status'));
      const before = (await requestsSoFar()).length;
      await tenant.patch({revoked: true});
      const since = performance.now();
      await tenant.ends(key);
      latencies.push(performance.now() - since);
      expect(world().authenticator.authenticate(key)).toEqual({refused: 'invalid', detail: 'This key was revoked.'});
      await tenant.becomes({Active: 'Revoked', Ready: 'Revoked'});
      await until(
        'the last write is audited',
        async () => (await requestsSoFar()).lastIndexOf('patch apikeys status') >= before,
      );
      const requests = (await requestsSoFar()).slice(before);
      // Ignores what a reconcile in progress may still read.
      const untilRecorded = requests.slice(0, requests.indexOf('update keyclaims') + 1).slice(-2);
      expect(untilRecorded).toEqual(['get secrets', 'update keyclaims']);
      expect(requests.filter(request => !request.startsWith('get'))).toEqual([
        'update keyclaims',
        'patch apikeys status',
      ]);
      await expect(tenant.patch({revoked: false})).rejects.toThrow('a revoked key stays revoked');
    }
    console.log(`revocation took ${latencies.map(ms => ms.toFixed(0)).join(', ')} ms`);
  });

  test('at its expiry, and begins again when that is put off', async () => {
    const tenant = await newKeyTenant(world(), 'expired');
    const key = await tenant.issued();
    const expiresAt = timestamp(Date.now() + 3_000);
    await tenant.patch({expiresAt});
    await tenant.ends(key);
    expect(Date.now(), 'and no earlier').toBeGreaterThanOrEqual(Date.parse(expiresAt));
    await tenant.becomes({Active: 'Expired', Ready: 'Expired'}, [expiresAt]);
    await tenant.patch({expiresAt: timestamp(Date.now() + 3_600_000)});
    expect(await tenant.works()).toBe(key);
    await tenant.becomes({Active: 'Active', Ready: 'Issued'}, ['The key works until ']);
  });

  test('before it begins where it is revoked from the start: none is made', async () => {
    const tenant = await newKeyTenant(world(), 'stillborn');
    await tenant.apply({revoked: true});
    await tenant.becomes({Active: 'Revoked', Ready: 'Revoked'});
    expect(tenant.secret()).toBeUndefined();
  });

  // attack: endless-deletion
  test('when its namespace is being deleted, however long a finalizer in it keeps the APIKey', async () => {
    const tenant = await newKeyTenant(world(), 'closed');
    const key = await tenant.issued();
    const finalize = (finalizers: readonly string[] | null) =>
      world().client.patch(API_KEY, {namespace: 'closed', name: 'shop'}, {metadata: {finalizers}});
    await finalize(['test.nameplate.dev/stay']);
    await world().client.delete(NAMESPACE, {name: 'closed'});
    await tenant.ends(key);
    expect(tenant.apiKey(), 'the APIKey still exists').toBeDefined();
    await tenant.until('its record is released', () => tenant.claim(key)?.spec.releasedAt);
    await finalize(null);
  });

  test('when its Secret is deleted, and a new one is made', async () => {
    const tenant = await newKeyTenant(world(), 'lost');
    const key = await tenant.issued();
    await tenant.deleteSecret();
    await tenant.ends(key);
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await tenant.works()).not.toBe(key);
  });

  test('with its APIKey, the Secret too; one of the same name gets another key', async () => {
    const tenant = await newKeyTenant(world(), 'deleted');
    const key = await tenant.issued();
    await tenant.delete();
    await tenant.ends(key);
    await tenant.until('the Secret is gone', () => tenant.secret() === undefined);
    expect(await tenant.issued()).not.toBe(key);
  });

  test('also if the next APIKey with the name comes immediately', async () => {
    const tenant = await newKeyTenant(world(), 'replaced');
    const key = await tenant.issued();
    await tenant.delete();
    await tenant.apply();
    await tenant.ends(key);
    await tenant.until('there is another key', () => ![key, ''].includes(tenant.key()));
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await tenant.works()).not.toBe(key);
  });

  test('not by a restore: the Secret comes before its APIKey, which has another uid then', async () => {
    const tenant = await newKeyTenant(world(), 'restored', 'acme');
    const key = await tenant.issued();
    const {labels = {}, annotations = {}} = tenant.secret()?.metadata ?? {};
    await world().client.delete(NAMESPACE, {name: 'restored'});
    // Deleted by the cluster's own controller, which takes its time.
    const isGone = async () => !(await world().client.get(NAMESPACE, {name: 'restored'}));
    await until('the namespace is gone', isGone, {intervalMs: 250});
    await tenant.ends(key);
    const again = await newKeyTenant(world(), 'restored', 'acme');
    await again.applySecret({key}, {labels, annotations});
    const {metadata} = again.secret() ?? {};
    // Once the operator has handled a later key, it has seen this Secret, too.
    const marker = await newKeyTenant(world(), 'marker');
    await marker.issued();
    expect(await again.issued()).toBe(key);
    expect(again.secret()?.metadata.uid).toBe(metadata?.uid);
    expect(world().authenticator.authenticate(key)).toMatchObject({account: 'acme'});
  });

  test('also where that one has its Secret under another name', async () => {
    const tenant = await newKeyTenant(world(), 'renamed');
    const key = await tenant.issued();
    await tenant.delete();
    await tenant.apply({secretName: 'elsewhere'});
    await tenant.ends(key);
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    await tenant.until('the Secret of the first is gone', () => tenant.secret() === undefined);
  });

  test("and leaves alone what only has its Secret's label", async () => {
    const tenant = await newKeyTenant(world(), 'copied');
    const key = await tenant.issued();
    const labels = {[LABEL.managedBy]: 'nameplate', [LABEL.apiKey]: 'shop'};
    const copy = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 'copy', namespace: 'copied', labels}};
    await world().client.apply(SECRET, copy);
    await tenant.patch({scopes: ['messages:read']});
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await tenant.works()).toBe(key);
    await tenant.delete();
    await tenant.until('its own Secret is gone', () => tenant.secret() === undefined);
    expect(await world().client.get(SECRET, copy.metadata)).toBeDefined();
  });
}
