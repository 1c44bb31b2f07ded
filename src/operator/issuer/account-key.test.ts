/** Creates, reads, and misses the key of the ACME account, with a client that has no API server. */

import {beforeEach, expect, test} from 'vitest';
import {apiOf, memoryOperator} from '../../../test/support/memory-operator.ts';
import {API_VERSION} from '../../api/names.ts';
import type {ObjectKey} from '../../runtime/kube/object.ts';
import type {Secret} from '../kinds/kinds.ts';
import {AccountKeyError, accountKeysOf} from './account-key.ts';

const NAME = 'nameplate-acme-account';
const FORMER = 'former-acme-account';

let secrets: Map<string, Secret>;
/** Those in the status of the ACMEIssuers that the configuration names. */
let thumbprints: string[];
beforeEach(() => {
  secrets = new Map();
  thumbprints = [];
});

const client = {
  get: async (_: unknown, {name}: ObjectKey) => secrets.get(name),
  create: async (_: unknown, object: Secret) => {
    secrets.set(object.metadata.name, object);
    return object;
  },
};

async function load(accountKeySecret = NAME, ...formerAccountKeySecrets: string[]) {
  const formerIssuerRefs = thumbprints.map(name => ({name, kind: 'ACMEIssuer', group: 'nameplate.dev'}) as const);
  const {operator, put, config} = memoryOperator();
  for (const thumbprint of thumbprints) {
    const server = 'https://ca.test/dir';
    put({
      apiVersion: API_VERSION,
      kind: 'ACMEIssuer',
      metadata: {name: thumbprint},
      ...{spec: {server}, status: {thumbprint}},
    });
  }
  const acme = {...config.certificates.acme, accountKeySecret, formerAccountKeySecrets};
  const certificates = {...config.certificates, formerIssuerRefs, acme};
  return await accountKeysOf({...operator, ...apiOf(client), config: {...config, certificates}});
}

test('the key is created once, in a Secret that cannot change', async () => {
  const {current} = await load();
  expect(secrets.get(NAME)).toMatchObject({metadata: {namespace: 'nameplate', name: NAME}, immutable: true});
  expect(await load()).toEqual({current: {...current, key: expect.anything()}, former: []});
});

// attack: account-key
test('no other key is created where an account exists, and the message says how to restore it', async () => {
  const {current} = await load();
  const backup = secrets.get(NAME) as Secret;
  thumbprints = [current.thumbprint];
  secrets.delete(NAME);
  await expect(load()).rejects.toThrow(AccountKeyError);
  await expect(load()).rejects.toThrow('kubectl apply -n nameplate -f acme-account.yaml');
  await expect(load(NAME, FORMER)).rejects.toThrow(AccountKeyError);
  expect(secrets.size).toBe(0);
  secrets.set(NAME, backup);
  expect((await load()).current.thumbprint).toBe(current.thumbprint);
});

// attack: account-key
test('a Secret without a usable key is not overwritten', async () => {
  await load();
  const secret = secrets.get(NAME) as Secret;
  secret.data = {'account.key': 'bm8ga2V5'};
  for (const names of [[NAME], [FORMER, NAME]]) {
    await expect(load(...names)).rejects.toThrow('Restore it from your backup');
  }
  expect(secret.data).toEqual({'account.key': 'bm8ga2V5'});
});

// attack: account-key
test('another key is created only if every account has a key that is listed, whose Secret stays as it is', async () => {
  const {current: first} = await load(FORMER);
  const before = structuredClone(secrets.get(FORMER));
  thumbprints = [first.thumbprint];
  await expect(load()).rejects.toThrow('list the former Secret in config.certificates.acme.formerAccountKeySecrets');
  thumbprints = [first.thumbprint, 'of-another-key'];
  await expect(load(NAME, FORMER)).rejects.toThrow(`nameplate/${NAME}, nameplate/${FORMER}`);
  expect([...secrets.keys()]).toEqual([FORMER]);
  thumbprints = [first.thumbprint];
  const {current, former} = await load(NAME, FORMER, 'gone');
  expect(former.map(({secret}) => secret)).toEqual([FORMER]);
  expect(former[0]?.thumbprint).toBe(first.thumbprint);
  expect(current.thumbprint).not.toBe(first.thumbprint);
  expect(secrets.get(FORMER)).toEqual(before);
});
