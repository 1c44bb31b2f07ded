/** What the chart lets the messages API do, according to access reviews and to actual attempts. */
import {expect, test} from 'vitest';
import {API_KEY, KEY_CLAIM} from '../../../src/apikey/apikey.ts';
import {digestOf} from '../../../src/apikey/format.ts';
import {SECRET} from '../../../src/operator/kinds/kinds.ts';
import {PATIENCE_MS} from '../../cluster/wait.ts';
import {newKeyTenant} from './key-tenant.ts';
import {type KeyWorld, MESSAGES_USER} from './key-world.ts';

export function rightsSuite(world: () => KeyWorld): void {
  test('it reads KeyClaims', async () => {
    const pages = world().messagesClient.list(KEY_CLAIM);
    for await (const {items} of pages) expect(items).toBeDefined();
  });

  // attack: stolen-key
  test('it reads no Secret, whatever request it gets', async () => {
    const tenant = await newKeyTenant(world(), 'private');
    await tenant.issued();
    const {messagesClient} = world();
    const first = async (items: AsyncIterable<unknown>) => {
      for await (const item of items) return item;
      return undefined;
    };
    const limits = {timeoutMs: PATIENCE_MS, idleTimeoutMs: PATIENCE_MS};
    const asked = [
      messagesClient.get(SECRET, {namespace: 'private', name: 'shop-apikey'}),
      first(messagesClient.list(SECRET)),
      first(messagesClient.list(SECRET, {namespace: 'private'})),
      first(messagesClient.list(SECRET, {metadataOnly: true})),
      messagesClient.watch(SECRET, {signal: new AbortController().signal, ...limits}, () => {}),
    ];
    for (const answer of await Promise.allSettled(asked)) {
      expect(answer).toMatchObject({status: 'rejected', reason: {status: 403, reason: 'Forbidden'}});
    }
  });

  test('it changes no APIKey, no status, and no KeyClaim', async () => {
    const tenant = await newKeyTenant(world(), 'fixed');
    const name = digestOf(await tenant.issued());
    const at = {namespace: 'fixed', name: 'shop'};
    const {messagesClient} = world();
    const patch = {metadata: {labels: {a: 'b'}}};
    const attempts = [
      messagesClient.patch(API_KEY, at, patch),
      messagesClient.patch(API_KEY, at, patch, {subresource: 'status'}),
      messagesClient.patch(KEY_CLAIM, {name}, patch),
      messagesClient.delete(KEY_CLAIM, {name}),
    ];
    for (const answer of await Promise.allSettled(attempts)) {
      expect(answer).toMatchObject({status: 'rejected', reason: {status: 403}});
    }
  });

  // A role with every right in a namespace allows this; the policy that forbids it is not installed here.
  // attack: stolen-key
  test('it never trusts the status of an APIKey', async () => {
    const [victim, thief] = [
      await newKeyTenant(world(), 'believed', 'believed'),
      await newKeyTenant(world(), 'lying', 'lying'),
    ];
    const [theirs, own] = [await victim.issued(), await thief.issued()];
    const lies = [
      {account: 'believed', sha256: digestOf(own)},
      {account: 'lying', sha256: digestOf(theirs)},
      {account: 'lying', previous: {sha256: digestOf(theirs), validUntil: '2100-01-01T00:00:00Z'}},
    ];
    const heard = new Set<string>();
    const accountOf = (key: string) => {
      const answer = world().authenticator.authenticate(key);
      return 'account' in answer ? answer.account : answer.refused;
    };
    const listening = setInterval(() => {
      heard.add(`the key of believed: ${accountOf(theirs)}`).add(`the key of lying: ${accountOf(own)}`);
    }, 1);
    for (let round = 0; round < 20; round++) for (const lie of lies) await thief.writeStatus(lie);
    await thief.becomes({Active: 'Active', Ready: 'Issued'});
    clearInterval(listening);
    expect([...heard].toSorted()).toEqual(['the key of believed: believed', 'the key of lying: lying']);
  });

  test.each([
    ['list', 'keyclaims.nameplate.dev', 'yes'],
    ['watch', 'keyclaims.nameplate.dev', 'yes'],
    ['update', 'keyclaims.nameplate.dev', 'no'],
    ['list', 'apikeys.nameplate.dev', 'no'],
    ['get', 'secrets', 'no'],
    ['list', 'secrets', 'no'],
    ['watch', 'secrets', 'no'],
    ['create', 'secrets', 'no'],
    ['create', 'serviceaccounts/token', 'no'],
    ['impersonate', 'users', 'no'],
  ])('kubectl auth can-i %s %s: %s', async (verb, resource, want) => {
    const asked = world().api.kubectl('auth', 'can-i', verb, resource, '-A', '--quiet', '--as', MESSAGES_USER);
    const answer = await asked.then(
      () => 'yes',
      ({message}: Error) => (message.includes('ended (1)') ? 'no' : message),
    );
    expect(answer).toBe(want);
  });
}
