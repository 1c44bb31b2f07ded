/** A new key alongside the old one, then instead of it. */
import {expect, test} from 'vitest';
import {KEY_CLAIM} from '../../../src/apikey/apikey.ts';
import {digestOf} from '../../../src/apikey/format.ts';
import {SECRET} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {newKeyTenant, previousKey} from './key-tenant.ts';
import type {KeyWorld} from './key-world.ts';

const ROTATING = {Active: 'Rotating', Ready: 'Issued'};
const ACTIVE = {Active: 'Active', Ready: 'Issued'};

export function rotationSuite(world: () => KeyWorld): void {
  test('and the previous one keeps working for the overlap, which is stored in the Secret', async () => {
    const tenant = await newKeyTenant(world(), 'overlap');
    const old = await tenant.issued({rotation: {overlapSeconds: 3600}});
    const key = await tenant.rotated('once');
    expect(key).not.toBe(old);
    expect([tenant.accepts(old), tenant.accepts(key)]).toEqual([true, true]);
    const {status} = tenant.apiKey() ?? {};
    expect(status?.lastHandledRotateRequest).toBe('once');
    expect(status?.previous?.sha256).toBe(digestOf(old));
    await tenant.wipeStatus();
    const restored = await tenant.becomes(ROTATING);
    expect(restored.status).toMatchObject({previous: status?.previous, lastHandledRotateRequest: 'once'});
    expect(await tenant.works(), 'a request is handled once, whatever happens to the status').toBe(key);
    expect(tenant.accepts(old)).toBe(true);
  });

  test('until the overlap is over', async () => {
    const tenant = await newKeyTenant(world(), 'over');
    const old = await tenant.issued({rotation: {overlapSeconds: 2}});
    await tenant.askForRotation('once');
    await tenant.until('it is rotated', () => tenant.apiKey()?.status?.lastHandledRotateRequest === 'once');
    await tenant.ends(old);
    const {validUntil = ''} = tenant.claim(old)?.spec ?? {};
    expect(Date.now(), 'and no earlier').toBeGreaterThanOrEqual(Date.parse(validUntil));
    const {status} = await tenant.becomes(ACTIVE);
    expect(status).not.toHaveProperty('previous');
    expect(await tenant.works()).not.toBe(old);
    const annotations = () => JSON.stringify(tenant.secret()?.metadata.annotations);
    await tenant.until('the Secret has forgotten it', () => !annotations().includes('previous'));
  });

  test('or until the overlap is set to 0', async () => {
    const tenant = await newKeyTenant(world(), 'cut');
    const old = await tenant.issued();
    const key = await tenant.rotated('once');
    expect(tenant.accepts(old), 'a day by default').toBe(true);
    await tenant.patch({rotation: {overlapSeconds: 0}});
    await tenant.ends(old);
    await tenant.becomes(ACTIVE);
    expect(await tenant.works()).toBe(key);
  });

  test('and a second request ends the one before last', async () => {
    const tenant = await newKeyTenant(world(), 'again');
    const first = await tenant.issued();
    const second = await tenant.rotated('once');
    const third = await tenant.rotated('twice');
    await tenant.ends(first);
    expect([tenant.accepts(second), tenant.accepts(third)]).toEqual([true, true]);
  });

  // attack: stolen-key
  test('and the previous key stays with its account: another account that copies it gets nothing', async () => {
    const owner = await newKeyTenant(world(), 'rotating', 'rotating');
    const thief = await newKeyTenant(world(), 'copying', 'copying');
    await thief.issued();
    const old = await owner.issued();
    await owner.rotated('once');
    await thief.applySecret({key: old});
    await thief.becomes({Active: 'NotIssued', Ready: 'KeyInUse'});
    await owner.becomes(ROTATING);
    expect(world().authenticator.authenticate(old)).toMatchObject({account: 'rotating', keyId: 'rotating/shop'});
  });

  // attack: stolen-key
  test('and nobody gets an ended key by writing its hash as that of a previous key', async () => {
    const owner = await newKeyTenant(world(), 'ended', 'ended');
    const thief = await newKeyTenant(world(), 'guessing', 'guessing');
    const [key, own] = [await owner.issued(), await thief.issued()];
    await owner.delete();
    await owner.ends(key);
    await owner.until('its Secret is gone', () => !owner.secret());
    await world().client.delete(KEY_CLAIM, {name: digestOf(key)}); // like the operator, a day later
    await owner.until('its record is gone', () => !owner.claim(key));
    await thief.applySecret({key: own}, {annotations: previousKey(key)});
    await thief.patch({scopes: ['messages:write', 'messages:read']});
    const {status} = await thief.becomes(ACTIVE);
    expect(status).not.toHaveProperty('previous');
    expect(thief.claim(key)).toBeUndefined();
    expect(world().authenticator.authenticate(key)).toEqual({refused: 'invalid'});
    expect(thief.accepts(own)).toBe(true);
  });

  test('unless the API server rejects the new key: then the current one keeps working', async () => {
    const tenant = await newKeyTenant(world(), 'guarded');
    const key = await tenant.issued();
    await world().api.apply(POLICY);
    const at = {namespace: 'guarded', name: tenant.secret()?.metadata.name ?? ''};
    const probe = {metadata: {annotations: {probe: 'x'}}};
    await until('the policy is in force', () => {
      return world()
        .client.patch(SECRET, at, probe)
        .then(
          () => false,
          (error: Error) => error.message.includes('closed on Sundays'),
        );
    });
    await tenant.askForRotation('once');
    await tenant.becomes({Active: 'Active', Ready: 'Refused'}, [
      'closed on Sundays',
      'Until then, the current key works.',
    ]);
    expect(await tenant.works()).toBe(key);
    await world().api.kubectl('delete', 'validatingadmissionpolicybinding', 'keeping');
    await tenant.becomes(ROTATING);
    expect(tenant.key()).not.toBe(key);
  });

  test('both end when the APIKey is revoked, and no request makes another', async () => {
    const tenant = await newKeyTenant(world(), 'both');
    const old = await tenant.issued();
    const key = await tenant.rotated('once');
    await tenant.patch({revoked: true});
    await tenant.ends(old);
    await tenant.ends(key);
    await tenant.askForRotation('twice');
    await tenant.becomes({Active: 'Revoked', Ready: 'Revoked'});
    expect(tenant.key()).toBe(key);
  });
}

const POLICY = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: keeping}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], resources: [secrets], operations: [UPDATE]}
  validations:
  - {expression: 'false', message: closed on Sundays}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: keeping}
spec:
  policyName: keeping
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: guarded}}
`;
