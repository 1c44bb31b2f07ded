/** Creates the key in its Secret, replaces it on request, and ends the overlap: every write to the Secret is here. */
import {randomBytes} from 'node:crypto';
import type {APIKey} from '../../keys/apikey.ts';
import {mintKey} from '../../keys/format.ts';
import {isOverlapOver} from '../../keys/validity.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, objectKey} from '../../runtime/kube/object.ts';
import {SECRET} from '../model/kinds.ts';
import {type ApiKeyCondition, KeyReady} from './conditions.ts';
import {
  buildSecret,
  END_OF_OVERLAP,
  type IssuedKey,
  type KeySecret,
  readKey,
  rotateRequestOf,
  rotationPatch,
  secretNameOf,
  standingOf,
} from './secret.ts';
import {deleteSecret} from './sweep.ts';

/** A foreign Secret is not in the cache: how often to check at the API server whether it still exists. */
const CONFLICT_RETRY_MS = 10_000;
const REFUSED_RETRY_MS = 30_000;

export type Issue =
  | {readonly kind: 'issued'; readonly key: IssuedKey}
  /** There is no key, and the spec requires none. */
  | {readonly kind: 'none'}
  | {readonly kind: 'failed'; readonly condition: ApiKeyCondition; readonly retryMs?: number};

export interface IssueContext {
  readonly apiKey: DeepReadonly<APIKey>;
  /** The uid that this process last saw the APIKey of this name have. */
  readonly knownUid: string | undefined;
  /** Revoked or expired: no new key is created. */
  readonly ended: boolean;
  readonly nowMs: number;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

export async function issueKey(context: IssueContext): Promise<Issue> {
  const {apiKey, knownUid, client, signal} = context;
  const name = secretNameOf(apiKey);
  const at = {namespace: apiKey.metadata.namespace, name};
  const secret = await client.get<KeySecret>(SECRET, at, {signal});
  if (!secret) return await createKey(context);
  switch (standingOf(secret, apiKey, knownUid)) {
    case 'foreign':
      return {kind: 'failed', condition: KeyReady.secretConflict(name), retryMs: CONFLICT_RETRY_MS};
    case 'leftover':
      await deleteSecret(secret, client, signal);
      return await createKey(context);
    case 'ours':
      return await keepKey(context, secret);
  }
}

/** Created, never applied: a Secret that was created meanwhile is not overwritten. */
async function createKey({apiKey, ended, client, signal}: IssueContext): Promise<Issue> {
  if (ended) return {kind: 'none'};
  const key = mintKey(randomBytes);
  const secret = buildSecret(apiKey, key);
  const refusal = await refusalOf(client.create(SECRET, secret, {signal}), secretNameOf(apiKey), key);
  return refusal ?? issued(secret, apiKey);
}

async function keepKey(context: IssueContext, secret: KeySecret): Promise<Issue> {
  const {apiKey, ended, client, signal, nowMs} = context;
  const found = readKey(secret);
  if (!found) return {kind: 'failed', condition: KeyReady.secretInvalid(secret.metadata.name)};
  const request = rotateRequestOf(apiKey);
  if (request && request !== found.handledRequest && !ended) return await rotateKey(context, secret, found);
  if (!found.previous || !isOverlapOver(apiKey, found.previous.validUntil, nowMs)) return {kind: 'issued', key: found};
  await client.patch(SECRET, objectKey(secret), END_OF_OVERLAP, {signal, metadataOnly: true});
  const {previous: _, ...key} = found;
  return {kind: 'issued', key};
}

async function rotateKey(context: IssueContext, secret: KeySecret, found: IssuedKey): Promise<Issue> {
  const {apiKey, client, signal, nowMs} = context;
  const key = mintKey(randomBytes);
  const patch = rotationPatch(secret, {apiKey, issued: found, key, nowMs});
  const patched = client.patch<KeySecret>(SECRET, objectKey(secret), patch, {signal});
  return (await refusalOf(patched, secret.metadata.name, key)) ?? issued(await patched, apiKey);
}

function issued(secret: KeySecret, {metadata}: DeepReadonly<APIKey>): Issue {
  const key = readKey(secret);
  if (!key) throw new Error(`APIKey ${metadata.namespace}/${metadata.name}: what was minted is no key`);
  return {kind: 'issued', key};
}

/** A quota, a policy, or a webhook refused. It may quote the key, so the key is removed from its message. */
async function refusalOf(write: Promise<unknown>, name: string, key: string): Promise<Issue | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 409) throw error;
    const message = [key, Buffer.from(key).toString('base64')].reduce(
      (text, secret) => text.replaceAll(secret, '[the key]'),
      error.message,
    );
    return {
      kind: 'failed',
      condition: KeyReady.refused(name, message),
      retryMs: error.retryAfterMs ?? REFUSED_RETRY_MS,
    };
  }
}
