/** Creates the key in its Secret, replaces it on request, and ends the overlap: every write to the Secret is here. */
import {randomBytes} from 'node:crypto';
import {type APIKey, isOverlapOver} from '../../apikey/apikey.ts';
import {mintKey} from '../../apikey/format.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import {type BackoffPolicy, backoffMs} from '../../time/backoff.ts';
import {routeNameIn} from '../kinds/derived-names.ts';
import {SECRET, type Secret} from '../kinds/kinds.ts';
import {type Step, stepAfter} from '../kinds/steps.ts';
import {type ApiKeyCondition, KeyReady} from './conditions.ts';
import type {FoundSecret, KeySecrets} from './read-secret.ts';
import {
  buildSecret,
  END_OF_OVERLAP,
  type IssuedKey,
  readKey,
  rotateRequestOf,
  rotationPatch,
  secretNameOf,
} from './secret.ts';
import {deleteSecret} from './sweep.ts';

/**
 * How often to check whether a foreign Secret, which is not in the cache, still exists on the API server: soon after a
 * person has read the message, and rarely if nobody acts.
 */
const CONFLICT_RETRY: BackoffPolicy = {initialMs: 10_000, maxMs: 900_000, factor: 2, jitter: 0.5};

export interface Issue {
  /** Undefined if there is none. */
  readonly key?: IssuedKey;
  /** Why there is no key, or why its replacement was not written; undefined also if the spec requires none. */
  readonly obstacle?: Step<ApiKeyCondition>;
}

interface IssueContext {
  readonly apiKey: DeepReadonly<APIKey>;
  /** The last uid that this process saw for this APIKey name. */
  readonly knownUid: string | undefined;
  /** Revoked or expired: no new key is created. */
  readonly ended: boolean;
  /** How many reconciles in a row have found a foreign Secret. */
  readonly conflicts: number;
  readonly keySecrets: KeySecrets;
  readonly nowMs: number;
  /** As in `ReconcileContext`. */
  readonly keepsFailing: boolean;
  readonly client: KubeClient;
  /** For new keys: a pause holds back its writes. */
  readonly building: KubeClient;
  readonly signal: AbortSignal;
}

export async function issueKey(context: IssueContext): Promise<Issue> {
  const {apiKey, knownUid, conflicts, keySecrets, client, signal, nowMs} = context;
  const found = await keySecrets.find(apiKey, knownUid, {client, signal});
  if (!found) return await createKey(context);
  switch (found.standing) {
    case 'foreign': {
      const wakeAtMs = nowMs + backoffMs(CONFLICT_RETRY, conflicts + 1, Math.random);
      return {obstacle: {condition: KeyReady.secretConflict(secretNameOf(apiKey)), wakeAtMs}};
    }
    case 'leftover':
      await deleteSecret(found.secret, client, signal);
      return await createKey(context);
    case 'ours':
      return await keepKey(context, found);
  }
}

/** Created, never applied: a Secret that was created meanwhile is not overwritten. */
async function createKey({apiKey, ended, keepsFailing, building, signal}: IssueContext): Promise<Issue> {
  if (ended) return {};
  const name = secretNameOf(apiKey);
  // A tenant may not write Secrets of such names, and the operator must not do so for it.
  if (routeNameIn(name) !== undefined) return {obstacle: {condition: KeyReady.secretNameReserved(name)}};
  const key = mintKey(randomBytes);
  const secret = buildSecret(apiKey, key);
  try {
    await building.create(SECRET, secret, {signal});
  } catch (error) {
    return {obstacle: failedWrite(error, {name, key, works: false, keepsFailing})};
  }
  return issued(secret, apiKey);
}

async function keepKey(context: IssueContext, {secret, key: found}: FoundSecret): Promise<Issue> {
  const {apiKey, ended, client, signal, nowMs} = context;
  if (!found) return {obstacle: {condition: KeyReady.secretInvalid(secret.metadata.name)}};
  const request = rotateRequestOf(apiKey);
  if (request && request !== found.handledRequest && !ended) return await rotateKey(context, secret, found);
  if (!found.previous || !isOverlapOver(apiKey, found.previous.validUntil, nowMs)) return {key: found};
  await client.patch(SECRET, objectKey(secret), END_OF_OVERLAP, {signal, metadataOnly: true});
  const {previous: _, ...key} = found;
  return {key};
}

async function rotateKey(context: IssueContext, secret: DeepReadonly<KubeObject>, found: IssuedKey): Promise<Issue> {
  const {apiKey, keepsFailing, building, signal, nowMs} = context;
  const key = mintKey(randomBytes);
  const patch = rotationPatch(secret, {apiKey, issued: found, key, nowMs});
  try {
    const {metadata} = await building.patch(SECRET, objectKey(secret), patch, {signal, metadataOnly: true});
    return issued({metadata, data: patch.data}, apiKey);
  } catch (error) {
    return {key: found, obstacle: failedWrite(error, {name: secret.metadata.name, key, works: true, keepsFailing})};
  }
}

function issued(secret: Pick<DeepReadonly<Secret>, 'metadata' | 'data'>, {metadata}: DeepReadonly<APIKey>): Issue {
  const key = readKey(secret);
  if (!key) throw new Error(`APIKey ${metadata.namespace}/${metadata.name}: what was minted is no key`);
  return {key};
}

interface Attempt {
  readonly name: string;
  readonly key: string;
  readonly works: boolean;
  readonly keepsFailing: boolean;
}

function failedWrite(error: unknown, {name, key, works, keepsFailing}: Attempt): Step<ApiKeyCondition> {
  const failure = error instanceof ApiError ? error.redacted(message => withoutKey(message, key)) : error;
  return stepAfter<ApiKeyCondition>(failure, {
    works,
    keepsFailing,
    last: undefined,
    refused: message => KeyReady.refused(name, message, works),
    retrying: message => KeyReady.retrying(name, message),
    paused: () => KeyReady.paused(name, works),
  });
}

/** A webhook or a policy may quote the key in its message, which the status and the log show. */
function withoutKey(message: string, key: string): string {
  return [key, Buffer.from(key).toString('base64')].reduce(
    (text, secret) => text.replaceAll(secret, '[the key]'),
    message,
  );
}
