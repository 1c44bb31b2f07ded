/**
 * When a key ends: according to its APIKey, which the operator records, and according to the record, which the messages
 * API enforces.
 */
import type {KeyClaimSpec} from '../api/generated/keyclaim.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';
import type {APIKey} from './apikey.ts';

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
