/** What the chart lets the messages API do, asked of the API server in words and in deed. */
import {expect, test} from 'vitest';
import {API_KEY} from '../../../src/keys/apikey.ts';
import {SECRET} from '../../../src/operator/resources.ts';
import {newTenant} from './tenant.ts';
import {MESSAGES_USER, type World} from './world.ts';

export function rightsRows(world: () => World): void {
  test('it reads APIKeys', async () => {
    const pages = world().messagesClient.list(API_KEY);
    for await (const {items} of pages) expect(items).toBeDefined();
  });

  test('it reads no Secret, whatever it is asked by', async () => {
    const tenant = await newTenant(world(), 'private');
    await tenant.issued();
    const {messagesClient} = world();
    const first = async (items: AsyncIterable<unknown>) => {
      for await (const item of items) return item;
      return undefined;
    };
    const asked = [
      messagesClient.get(SECRET, {namespace: 'private', name: 'shop-apikey'}),
      first(messagesClient.list(SECRET)),
      first(messagesClient.list(SECRET, {namespace: 'private'})),
      first(messagesClient.list(SECRET, {metadataOnly: true})),
      first(messagesClient.watch(SECRET, {signal: AbortSignal.timeout(5_000), timeoutMs: 1_000, idleTimeoutMs: 1_000})),
    ];
    for (const answer of await Promise.allSettled(asked)) {
      expect(answer).toMatchObject({status: 'rejected', reason: {status: 403, reason: 'Forbidden'}});
    }
  });

  test('it changes no APIKey and no status', async () => {
    const tenant = await newTenant(world(), 'fixed');
    await tenant.issued();
    const at = {namespace: 'fixed', name: 'shop'};
    for (const subresource of [{}, {subresource: 'status'}]) {
      const patched = world().messagesClient.patch(API_KEY, at, {metadata: {labels: {a: 'b'}}}, subresource);
      await expect(patched).rejects.toMatchObject({status: 403});
    }
  });

  test.each([
    ['list', 'apikeys.nameplate.dev', 'yes'],
    ['watch', 'apikeys.nameplate.dev', 'yes'],
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
