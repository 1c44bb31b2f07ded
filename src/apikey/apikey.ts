/** The kinds of API keys: what people write, the record by which both programs know a key, and when a key ends. */
import type {APIKeySpec, APIKeyStatus} from '../api/generated/apikey.ts';
import type {KeyClaimSpec} from '../api/generated/keyclaim.ts';
import {API_VERSION} from '../api/names.ts';
import {type DeepReadonly, type KubeObject, resourceType} from '../runtime/kube/object.ts';

export interface APIKey extends KubeObject {
  spec: APIKeySpec;
  status?: APIKeyStatus;
}

export const API_KEY = resourceType<APIKey>(API_VERSION, 'APIKey', 'apikeys');

/** The hashes that an APIKey holds, according to its status. */
export function hashesOf({status}: DeepReadonly<APIKey>): string[] {
  return [status?.sha256, status?.previous?.sha256].filter(hash => hash !== undefined);
}

/**
 * The record of which account a key belongs to. It is cluster-scoped and named after the key's hash, and only the
 * operator writes it. A name is unique in the cluster, so the API server itself decides who held a key first, and no
 * right within a namespace reaches the record.
 */
export interface KeyClaim extends KubeObject {
  spec: KeyClaimSpec;
}

export const KEY_CLAIM = resourceType<KeyClaim>(API_VERSION, 'KeyClaim', 'keyclaims', 'cluster');

/** Why, according to the spec, no key of this APIKey may work; undefined if one may. An invalid time counts as past. */
export function endOf(
  {spec}: {readonly spec: Pick<DeepReadonly<APIKey>['spec'], 'revoked' | 'expiresAt'>},
  nowMs: number,
): 'revoked' | 'expired' | undefined {
  if (spec.revoked) return 'revoked';
  return spec.expiresAt !== undefined && isOver(spec.expiresAt, nowMs) ? 'expired' : undefined;
}

/** Whether the key before the current one has ended. An overlap of 0 ends it immediately. */
export function isOverlapOver({spec}: DeepReadonly<APIKey>, validUntil: string, nowMs: number): boolean {
  return spec.rotation?.overlapSeconds === 0 || isOver(validUntil, nowMs);
}

/**
 * The time (in milliseconds) since which no APIKey holds the key of a record; undefined while one does. A revoked or
 * expired key is still held: its APIKey exists.
 */
export function letGoMs({releasedAt, validUntil}: DeepReadonly<KeyClaimSpec>, nowMs: number): number | undefined {
  if (releasedAt !== undefined) return Date.parse(releasedAt);
  return validUntil !== undefined && isOver(validUntil, nowMs) ? Date.parse(validUntil) : undefined;
}

function isOver(time: string, nowMs: number): boolean {
  const ms = Date.parse(time);
  return Number.isNaN(ms) || ms <= nowMs;
}
