/** Creates, reads, and misses the key of the ACME account, with a client that has no API server. */
import {beforeEach, expect, test} from 'vitest';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {AccountKeyError, accountKeyOf} from './account-key.ts';
import type {IssuerContext} from './context.ts';

interface Secret extends KubeObject {
  readonly immutable?: boolean;
  data?: Record<string, string>;
}

let secret: Secret | undefined;
/** Those in the status of the ACMEIssuers. */
let thumbprints: string[];
beforeEach(() => {
  secret = undefined;
  thumbprints = [];
});

const client = {
  get: async () => secret,
  create: async (_: unknown, object: Secret) => {
    secret = object;
    return object;
  },
};

async function load() {
  return await accountKeyOf({
    client,
    signal: new AbortController().signal,
    namespace: 'nameplate',
    config: {certificates: {acme: {accountKeySecret: 'nameplate-acme-account'}}},
    stores: {acmeIssuers: {list: () => thumbprints.map(thumbprint => ({status: {thumbprint}}))}},
  } as unknown as IssuerContext);
}

test('the key is created once, in a Secret that cannot change', async () => {
  const {thumbprint} = await load();
  expect(secret).toMatchObject({metadata: {namespace: 'nameplate', name: 'nameplate-acme-account'}, immutable: true});
  expect(await load()).toMatchObject({thumbprint});
});

// attack: account-key
test('no other key is created where an account exists, and the message says how to restore it', async () => {
  const {thumbprint} = await load();
  const backup = secret;
  thumbprints = [thumbprint];
  secret = undefined;
  await expect(load()).rejects.toThrow(AccountKeyError);
  await expect(load()).rejects.toThrow('kubectl apply -n nameplate -f acme-account.yaml');
  expect(secret).toBeUndefined();
  secret = backup;
  expect(await load()).toMatchObject({thumbprint});
});

// attack: account-key
test('a Secret without a usable key is not overwritten', async () => {
  await load();
  if (secret) secret.data = {'account.key': 'bm8ga2V5'};
  await expect(load()).rejects.toThrow('Restore it from your backup');
  expect(secret?.data).toEqual({'account.key': 'bm8ga2V5'});
});
