/** A tenant's key and the messages API, as the chart installs it. */
import {randomUUID} from 'node:crypto';
import {expect, it} from 'vitest';
import {API_VERSION} from '../../src/api/names.ts';
import {API_KEY} from '../../src/keys/apikey.ts';
import {SECRET} from '../../src/operator/model/kinds.ts';
import type {KubeObject} from '../../src/runtime/kube/object.ts';
import {until} from '../cluster/wait.ts';
import type {Answer, RequestOptions} from '../support/http.ts';
import {MESSAGES_HOST, RELEASE} from '../support/install.ts';
import {kill} from '../support/pods.ts';
import {POD} from '../support/workload.ts';
import {admin, newClusterTenant, visitor} from './world.ts';

const URL = `https://${MESSAGES_HOST}/messages`;

export function sendingMessages(): void {
  it('a message answered with 202 outlives the pod, is processed once, and is invisible to other accounts', async () => {
    const [mine, theirs] = await Promise.all([newKey('messages-a'), newKey('messages-b')]);
    const text = `hello ${randomUUID()}`;
    const accepted = await mine.until('', {status: 202}, post({message: text}));
    const {id} = JSON.parse(accepted.body) as {id: string};
    await theirs.until(`/${id}`, {status: 404});

    const pod = {namespace: RELEASE.namespace, name: `${RELEASE.name}-messages-0`};
    await kill(admin, await until('the pod is there', () => admin.get(POD, pod)));
    const claimed = await mine.until('/claim', {status: 200}, post({}));
    const {messages} = JSON.parse(claimed.body) as {messages: {id: string; message: string; lease: string}[]};
    expect(messages).toEqual([expect.objectContaining({id, message: text})]);
    await mine.until(`/${id}/ack`, {status: 200}, post({lease: messages[0]?.lease}));
    expect(JSON.parse((await mine.until(`/${id}`, {status: 200})).body)).toMatchObject({status: 'done', message: text});
  });

  it('a key that is revoked is refused from then on', async () => {
    const key = await newKey('messages-end');
    await key.until('', {status: 200});
    await admin.patch(API_KEY, key.name, {spec: {revoked: true}});
    await key.until('', {status: 401});
  });
}

export type TenantKey = Awaited<ReturnType<typeof newKey>>;

/** A key with all scopes, of a tenant of its own. */
export async function newKey(tenantName: string) {
  const {namespace} = await newClusterTenant(tenantName, {deployed: false});
  const name = {namespace, name: 'shop'};
  const scopes: ['messages:write', 'messages:read', 'messages:process'] = [
    'messages:write',
    'messages:read',
    'messages:process',
  ];
  await admin.apply(API_KEY, {apiVersion: API_VERSION, kind: 'APIKey', metadata: name, spec: {scopes}});
  const secretName = {namespace, name: 'shop-apikey'};
  const {data} = (await until('the key is there', () => admin.get(SECRET, secretName))) as KubeObject & {
    data: {key: string};
  };
  const authorization = `Bearer ${Buffer.from(data.key, 'base64')}`;
  return {
    name,
    authorization,
    post: (path: string, body: object) => {
      const options = post(body);
      return visitor.request(`${URL}${path}`, {...options, headers: {...options.headers, authorization}});
    },
    /** Repeats the request while something on the way is not ready: the certificate, the pod, the watch of the keys. */
    until: (path: string, {status}: Pick<Answer, 'status'>, options: RequestOptions = {}) => {
      const headers = {...options.headers, authorization};
      return visitor.untilAnswer(`${URL}${path}`, answer => answer.status === status, {...options, headers});
    },
  };
}

function post(body: object): RequestOptions {
  const headers = {'content-type': 'application/json', 'idempotency-key': randomUUID()};
  return {method: 'POST', body: JSON.stringify(body), headers};
}
