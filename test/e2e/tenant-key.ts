/** A tenant's key, and requests to the messages API with it. */
import {randomUUID} from 'node:crypto';
import {API_VERSION} from '../../src/api/names.ts';
import {API_KEY} from '../../src/apikey/apikey.ts';
import {SECRET} from '../../src/operator/kinds/kinds.ts';
import type {KubeObject} from '../../src/runtime/kube/object.ts';
import {until} from '../cluster/wait.ts';
import type {Answer, RequestOptions} from '../support/http.ts';
import {MESSAGES_HOST} from '../support/install.ts';
import {admin, newClusterTenant, visitor} from './world.ts';

const URL = `https://${MESSAGES_HOST}/messages`;

export type TenantKey = Awaited<ReturnType<typeof newKey>>;

/** A key with all scopes, for a new tenant. */
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
  const {data} = (await until('the key exists', () => admin.get(SECRET, secretName))) as KubeObject & {
    data: {key: string};
  };
  const authorization = `Bearer ${Buffer.from(data.key, 'base64')}`;
  const request = (path: string, options: RequestOptions = {}) =>
    visitor.request(`${URL}${path}`, {...options, headers: {...options.headers, authorization}});
  return {
    name,
    authorization,
    request,
    post: (path: string, body: object) => request(path, jsonPost(body)),
    /** Repeats the request while something on the way is not ready: the certificate, the pod, the watch of the keys. */
    until: (path: string, {status}: Pick<Answer, 'status'>, options: RequestOptions = {}) => {
      const headers = {...options.headers, authorization};
      return visitor.untilAnswer(`${URL}${path}`, answer => answer.status === status, {...options, headers});
    },
  };
}

/** A POST of JSON with a new idempotency key. */
export function jsonPost(body: object): RequestOptions {
  const headers = {'content-type': 'application/json', 'idempotency-key': randomUUID()};
  return {method: 'POST', body: JSON.stringify(body), headers};
}
