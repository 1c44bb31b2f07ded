/** How an APIKey gets its key, and what can prevent that. */
import {expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {API_KEY, KEY_CLAIM} from '../../../src/apikey/apikey.ts';
import {digestOf, isKey, prefixOf} from '../../../src/apikey/format.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {NAMESPACE, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {until} from '../../cluster/wait.ts';
import {tenantNamespace} from '../../support/objects.ts';
import {operatorRequests} from './audit.ts';
import {KeyTenant, newKeyTenant} from './key-tenant.ts';
import type {KeyWorld} from './key-world.ts';

export function issueSuite(world: () => KeyWorld): void {
  test('into a Secret of the tenant; the status shows its hash and how it begins', async () => {
    const tenant = await newKeyTenant(world(), 'made', 'acme');
    const key = await tenant.issued({scopes: ['messages:read', 'messages:process']});
    expect(isKey(key)).toBe(true);
    const {status} = tenant.apiKey() ?? {};
    expect(status).toMatchObject({
      account: 'acme',
      secretName: 'shop-apikey',
      prefix: prefixOf(key),
      sha256: digestOf(key),
    });
    expect(tenant.claim(key)?.spec).toEqual({
      account: 'acme',
      namespace: 'made',
      name: 'shop',
      uid: tenant.apiKey()?.metadata.uid,
      scopes: ['messages:read', 'messages:process'],
    });
    const {metadata, data} = tenant.secret() ?? {};
    expect(Object.keys(data ?? {})).toEqual(['key']);
    expect(metadata?.labels).toEqual({[LABEL.managedBy]: 'nameplate', [LABEL.apiKey]: 'shop'});
    expect(metadata?.ownerReferences, 'a restore would lose the key to the garbage collector').toBeUndefined();
    const scopes = new Set(['messages:read', 'messages:process']);
    expect(world().authenticator.authenticate(key)).toEqual({account: 'acme', keyId: 'made/shop', scopes});
    const events = async () => {
      const notes: unknown[] = [];
      for await (const {items} of world().client.list(EVENT, {namespace: 'made'})) notes.push(...items);
      return JSON.stringify(notes);
    };
    await tenant.until('an Event reports it', async () => (await events()).includes(prefixOf(key)));
  });

  test('and read as the message says', async () => {
    const tenant = await newKeyTenant(world(), 'read');
    const key = await tenant.issued();
    const output = await world().api.kubectl(
      'get',
      'secret',
      '-n',
      'read',
      'shop-apikey',
      '-o',
      'jsonpath={.data.key}',
    );
    expect(Buffer.from(output, 'base64').toString()).toBe(key);
    const message = `kubectl get secret -n ${tenant.namespace} shop-apikey -o jsonpath=`;
    await tenant.becomes({Active: 'Active', Ready: 'Issued'}, [message]);
  });

  test('for the account of the namespace, also when the platform changes that', async () => {
    const tenant = await newKeyTenant(world(), 'account');
    const key = await tenant.issued();
    const namespace = await world().client.get(NAMESPACE, {name: 'account'});
    const uid = namespace?.metadata.uid ?? '';
    expect(world().authenticator.authenticate(key)).toMatchObject({account: uid});
    await world().client.patch(NAMESPACE, {name: 'account'}, {metadata: {labels: {[LABEL.account]: 'moved'}}});
    await tenant.until('the key is the new account’s', async () => {
      const holder = world().authenticator.authenticate(key);
      return 'account' in holder && holder.account === 'moved';
    });
    expect(tenant.key(), 'the same key').toBe(key);
  });

  // attack: stolen-key
  test('never into an existing Secret; it stays as it was, and the key is issued once it is gone', async () => {
    const tenant = await newKeyTenant(world(), 'conflict');
    await tenant.applySecret({key: 'of somebody else', other: 'x'});
    const before = tenant.secret();
    await tenant.apply();
    const want = {Active: 'NotIssued', Ready: 'SecretConflict'};
    const refused = await tenant.becomes(want, ['shop-apikey already exists and was not created for this APIKey']);
    expect(refused.status).not.toHaveProperty('sha256');
    expect(refused.status?.conditions?.map(({type}) => type)).toContain('Stalled');
    expect(tenant.secret()).toEqual(before);
    await tenant.deleteSecret();
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    await tenant.works();
  });

  test('never into a Secret of a host, which a tenant may not write either', async () => {
    const tenant = await newKeyTenant(world(), 'reserved');
    const secretName = routeName('reserved', 'shop.example.com');
    await tenant.apply({secretName});
    await tenant.becomes({Active: 'NotIssued', Ready: 'SecretConflict'}, ['different spec.secretName']);
    expect(await world().client.get(SECRET, {namespace: 'reserved', name: secretName})).toBeUndefined();
  });

  test('only after a pause of the namespace, which also holds back a rotation, but no revocation', async () => {
    const pause = async (value: string | null) => {
      await world().client.patch(NAMESPACE, {name: 'paused'}, {metadata: {annotations: {[ANNOTATION.paused]: value}}});
    };
    const {metadata, ...rest} = tenantNamespace('paused');
    await world().client.create(NAMESPACE, {
      ...rest,
      metadata: {...metadata, annotations: {[ANNOTATION.paused]: 'true'}},
    });
    const tenant = new KeyTenant(world(), 'paused');
    await tenant.apply();
    await tenant.becomes({Active: 'NotIssued', Ready: 'Paused'}, ['Ask the platform team to end the pause']);
    await pause(null);
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    const key = await tenant.works();

    await pause('true');
    const seen = async () => (await world().operator().metric('nameplate_paused', {kind: 'Namespace'})) === 1;
    await tenant.until('the operator has seen the pause', seen);
    await tenant.askForRotation('once');
    await tenant.becomes({Active: 'Active', Ready: 'Paused'}, ['Until then, the current key works.']);
    expect([tenant.key(), tenant.accepts(key)]).toEqual([key, true]);
    await tenant.patch({revoked: true});
    await tenant.ends(key);
    await tenant.becomes({Active: 'Revoked', Ready: 'Revoked'});
  });

  test('again from the Secret when the status is lost', async () => {
    const tenant = await newKeyTenant(world(), 'wiped');
    const key = await tenant.issued();
    const {metadata} = tenant.secret() ?? {};
    await tenant.wipeStatus();
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await tenant.works()).toBe(key);
    expect(tenant.secret()?.metadata.resourceVersion, 'the Secret was not written').toBe(metadata?.resourceVersion);
  });

  test('not from a Secret that was changed, until it is fixed', async () => {
    const tenant = await newKeyTenant(world(), 'changed');
    const key = await tenant.issued();
    await tenant.applySecret({key: 'hunter2'});
    await tenant.becomes({Active: 'NotIssued', Ready: 'SecretInvalid'}, [
      `kubectl delete secret -n ${tenant.namespace} shop-apikey`,
    ]);
    await tenant.ends(key);
    await tenant.applySecret({key});
    await tenant.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await tenant.works()).toBe(key);
  });

  // attack: stolen-key
  test("of its own, if it copies another account's key: the first holder keeps that one", async () => {
    const [owner, thief] = [
      await newKeyTenant(world(), 'owner', 'owner'),
      await newKeyTenant(world(), 'thief', 'thief'),
    ];
    await thief.issued();
    const key = await owner.issued();
    await thief.applySecret({key});
    const refused = await thief.becomes({Active: 'NotIssued', Ready: 'KeyInUse'}, [
      `kubectl delete secret -n ${thief.namespace} shop-apikey`,
    ]);
    expect(refused.status).not.toHaveProperty('sha256');
    expect(JSON.stringify(refused.status), 'it is not told whose it is').not.toContain('owner');
    expect(world().authenticator.authenticate(key)).toMatchObject({account: 'owner'});
    await thief.deleteSecret();
    await thief.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await thief.works()).not.toBe(key);
  });

  // attack: stolen-key
  test('of its own, even after the first holder was deleted: the record keeps the key from other accounts', async () => {
    const [first, second] = [
      await newKeyTenant(world(), 'first', 'first'),
      await newKeyTenant(world(), 'second', 'second'),
    ];
    const key = await first.issued();
    await second.issued();
    await second.applySecret({key});
    await second.becomes({Active: 'NotIssued', Ready: 'KeyInUse'});
    await first.delete();
    await first.until('the record is released', () => first.claim(key)?.spec.releasedAt);
    await first.ends(key);
    await second.patch({scopes: ['messages:read']});
    await second.becomes({Active: 'NotIssued', Ready: 'KeyInUse'});
    expect(second.accepts(key), 'it works for nobody').toBe(false);
    expect(first.claim(key)?.spec.account).toBe('first');
    // The platform team may do this.
    await world().client.delete(KEY_CLAIM, {name: digestOf(key)});
    await second.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await second.works(), 'the refused APIKey tries again when the key is free').toBe(key);
  });

  test('and an account takes its key along to another namespace', async () => {
    const [from, to] = [await newKeyTenant(world(), 'from', 'moving'), await newKeyTenant(world(), 'to', 'moving')];
    const key = await from.issued();
    await to.issued();
    await to.applySecret({key});
    await to.becomes({Active: 'NotIssued', Ready: 'KeyInUse'});
    await from.delete();
    await to.becomes({Active: 'Active', Ready: 'Issued'});
    expect(await to.works()).toBe(key);
    expect(world().authenticator.authenticate(key)).toMatchObject({account: 'moving', keyId: 'to/shop'});
  });

  test('by three writes: the Secret, the record, the status', async () => {
    const tenant = await newKeyTenant(world(), 'counted');
    await tenant.issued({expiresAt: '2100-01-01T00:00:00Z'});
    const hash = tenant.apiKey()?.status?.sha256 ?? 'no hash';
    const writes = async (namespace: string, hash: string) =>
      (await operatorRequests(world(), namespace, hash)).filter(request => !request.startsWith('get'));
    const issued = ['create secrets', 'create keyclaims', 'patch apikeys status'];
    // The audit log gets a write after its effect is visible.
    const audited = async (namespace: string, hash: string) =>
      await until(`the writes of ${namespace} are audited`, async () => {
        const made = await writes(namespace, hash);
        return made.length >= issued.length ? made : undefined;
      });
    expect(await audited('counted', hash)).toEqual(issued);
    // The operator reconciles each one again, and writes nothing more.
    await world().client.patch(API_KEY, {namespace: 'counted', name: 'shop'}, {metadata: {labels: {team: 'a'}}});
    const marker = await newKeyTenant(world(), 'counted-marker');
    await marker.issued();
    await audited('counted-marker', marker.apiKey()?.status?.sha256 ?? 'no hash');
    expect(await writes('counted', hash)).toEqual(issued);
  });

  test('or the API server’s rejection is reported, without the key that it quotes', async () => {
    const tenant = await newKeyTenant(world(), 'policy');
    await world().api.apply(POLICY);
    await tenant.until('the policy is in force', async () => {
      const refused = await tenant.applySecret({key: 'probe'}).catch((error: Error) => error.message);
      await tenant.deleteSecret();
      return refused?.includes('not here');
    });
    await tenant.apply();
    await tenant.becomes({Active: 'NotIssued', Ready: 'Refused'}, [
      'rejected Secret shop-apikey',
      'not here: [the key]',
    ]);
  });

  test('for each name of a Secret once', async () => {
    const tenant = await newKeyTenant(world(), 'twice');
    await tenant.issued();
    const spec = {scopes: ['messages:write' as const], secretName: 'shop-apikey'};
    const metadata = {name: 'second', namespace: 'twice'};
    await world().client.apply(API_KEY, {apiVersion: 'nameplate.dev/v1alpha1', kind: 'APIKey', metadata, spec});
    await tenant.until('the second is reported', async () => {
      const second = await world().client.get(API_KEY, metadata);
      return second?.status?.conditions?.some(({reason}) => reason === 'SecretConflict');
    });
  });
}

/** A policy whose message quotes the object that it refuses. */
const POLICY = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: quoting}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], resources: [secrets], operations: [CREATE, UPDATE]}
  validations:
  - expression: 'false'
    messageExpression: "'not here: ' + string(object.data.key)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: quoting}
spec:
  policyName: quoting
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: policy}}
`;
