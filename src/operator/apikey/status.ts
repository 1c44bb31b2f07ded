/** The status of an APIKey, from its Secret and what the caches say. Pure. */
import {settleConditions} from '../../api/conditions.ts';
import type {APIKeyStatus} from '../../api/generated/apikey.ts';
import {type APIKey, endOf} from '../../apikey/apikey.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {progressOfReady} from '../kinds/steps.ts';
import {Active, type ApiKeyCondition, KeyReady, STALLED} from './conditions.ts';
import type {Issue} from './issue.ts';
import {type IssuedKey, secretNameOf} from './secret.ts';

interface ApiKeyFacts {
  readonly account: string;
  readonly issue: Issue;
  /** The hashes whose records name this APIKey. */
  readonly held: ReadonlySet<string>;
  readonly nowMs: number;
}

export function apiKeyStatus(apiKey: DeepReadonly<APIKey>, facts: ApiKeyFacts): APIKeyStatus {
  const {account, issue, nowMs} = facts;
  const {generation = 0} = apiKey.metadata;
  const {key} = issue;
  const held = key && facts.held.has(key.sha256) ? key : undefined;
  const previous = held?.previous && facts.held.has(held.previous.sha256) ? held.previous : undefined;
  const ready = readyOf(apiKey, issue, held, nowMs);
  const progress = progressOfReady(ready, STALLED.has(ready.reason));
  const conditions = [activeOf(apiKey, ready, previous?.validUntil, nowMs), ready, ...progress];
  const handled = key?.handledRequest ?? apiKey.status?.lastHandledRotateRequest;
  return {
    observedGeneration: generation,
    account,
    secretName: secretNameOf(apiKey),
    ...(held && {prefix: held.prefix, sha256: held.sha256}),
    ...(previous && {previous}),
    ...(handled && {lastHandledRotateRequest: handled}),
    conditions: settleConditions(apiKey.status?.conditions, conditions, apiKey.metadata, nowMs),
  };
}

function readyOf(
  apiKey: DeepReadonly<APIKey>,
  issue: Issue,
  held: IssuedKey | undefined,
  nowMs: number,
): ApiKeyCondition {
  const secret = secretNameOf(apiKey);
  switch (endOf(apiKey, nowMs)) {
    case 'revoked':
      return KeyReady.revoked();
    case 'expired':
      return KeyReady.expired(apiKey.spec.expiresAt ?? '');
    case undefined:
      if (issue.obstacle && (held || !issue.key)) return issue.obstacle.condition;
      return held ? KeyReady.issued(apiKey.metadata.name, secret) : KeyReady.keyInUse(secret);
  }
}

function activeOf(
  apiKey: DeepReadonly<APIKey>,
  ready: ApiKeyCondition,
  previousUntil: string | undefined,
  nowMs: number,
): ApiKeyCondition {
  const {expiresAt} = apiKey.spec;
  switch (endOf(apiKey, nowMs)) {
    case 'revoked':
      return Active.revoked();
    case 'expired':
      return Active.expired(expiresAt ?? '');
    case undefined:
      if (ready.status !== 'True') return Active.notIssued(ready.message);
      return previousUntil ? Active.rotating(apiKey.metadata.name, previousUntil) : Active.yes(expiresAt);
  }
}
