import {expect, test} from 'vitest';
import {apiOf} from '../../../test/support/memory-operator.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../../api/names.ts';
import type {APIKey} from '../../apikey/apikey.ts';
import {mintKey} from '../../apikey/format.ts';
import type {Secret} from '../kinds/kinds.ts';
import {KeySecrets} from './read-secret.ts';

const SPEC: APIKey['spec'] = {scopes: ['messages:write'], secretName: 'shared'};
const apiKeyNamed = (name: string): APIKey => ({
  apiVersion: API_VERSION,
  kind: 'APIKey',
  metadata: {name, namespace: 'a', uid: `uid-${name}`},
  spec: SPEC,
});
const secretOf = ({metadata}: APIKey, resourceVersion: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'shared',
    namespace: 'a',
    uid: 'secret',
    resourceVersion,
    labels: {[LABEL.managedBy]: 'nameplate', [LABEL.apiKey]: metadata.name ?? ''},
    annotations: {[ANNOTATION.apiKeyUid]: metadata.uid ?? ''},
  },
  data: {key: Buffer.from(mintKey(size => Buffer.alloc(size, resourceVersion))).toString('base64')},
});

/** Serves one Secret, and counts how often its content was read. */
function serving(first: Secret) {
  const served = {secret: first, contents: 0};
  const access = apiOf({
    get: async (_: unknown, __: unknown, {metadataOnly = false}) => {
      if (!metadataOnly) served.contents++;
      return metadataOnly ? {...served.secret, data: undefined} : served.secret;
    },
  });
  return {served, access};
}

// attack: costly-keys
test('the content of a Secret that was made for another APIKey is not read', async () => {
  const {served, access} = serving(secretOf(apiKeyNamed('owner'), '1'));
  const secrets = new KeySecrets();
  for (let index = 0; index < 400; index++) {
    const found = await secrets.find(apiKeyNamed(`other-${index}`), undefined, access);
    expect(found).toMatchObject({standing: 'foreign', key: undefined});
  }
  expect(served.contents).toBe(0);
});

test('each version of its own Secret is read once', async () => {
  const apiKey = apiKeyNamed('owner');
  const {served, access} = serving(secretOf(apiKey, '1'));
  const secrets = new KeySecrets();
  const first = await secrets.find(apiKey, undefined, access);
  expect(first?.key?.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(await secrets.find(apiKey, undefined, access)).toMatchObject({standing: 'ours', key: first?.key});
  expect(served.contents).toBe(1);
  served.secret = secretOf(apiKey, '2');
  const second = await secrets.find(apiKey, undefined, access);
  expect(second?.key?.sha256).not.toBe(first?.key?.sha256);
  expect(served.contents).toBe(2);
});

// attack: costly-keys
test('a Secret that holds no key, however large, is read once', async () => {
  const apiKey = apiKeyNamed('owner');
  const {served, access} = serving({...secretOf(apiKey, '1'), data: {large: 'x'}});
  const secrets = new KeySecrets();
  for (let index = 0; index < 10; index++) {
    expect(await secrets.find(apiKey, undefined, access)).toMatchObject({standing: 'ours', key: undefined});
  }
  expect(served.contents).toBe(1);
});
