import {expect, test} from 'vitest';
import {API_VERSION} from '../../api/names.ts';
import type {APIKey} from '../../apikey/apikey.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {issueKey} from './issue.ts';
import {KeySecrets} from './read-secret.ts';

const apiKey: APIKey = {
  apiVersion: API_VERSION,
  kind: 'APIKey',
  metadata: {name: 'a', namespace: 'shop', uid: 'uid-a'},
  spec: {scopes: ['messages:write'], secretName: 'theirs'},
};
const foreign = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 'theirs', namespace: 'shop', uid: 'uid-theirs'}};
const client = {get: async () => foreign} as unknown as KubeClient;

/** In seconds, until the APIKey looks for the Secret again. */
async function pauseAfter(conflicts: number): Promise<number> {
  const {signal} = new AbortController();
  const none = {knownUid: undefined, ended: false, keepsFailing: false, nowMs: 0};
  const issue = await issueKey({
    ...none,
    ...{apiKey, conflicts, keySecrets: new KeySecrets(), client, building: client, signal},
  });
  return (issue.obstacle?.wakeAtMs ?? Number.NaN) / 1000;
}

// attack: costly-keys
test.each([
  [0, 5, 15],
  [1, 10, 30],
  [3, 40, 120],
  [20, 450, 1350],
])('a Secret of somebody else is looked for ever more rarely: %i times before', async (conflicts, least, most) => {
  const pause = await pauseAfter(conflicts);
  expect(pause).toBeGreaterThanOrEqual(least);
  expect(pause).toBeLessThanOrEqual(most);
});
