/** When a key of an APIKey ends: one rule for the operator, which shows it, and for the messages API, which enforces it. */
import type {DeepReadonly} from '../runtime/kube/object.ts';
import type {APIKey} from './apikey.ts';

/** Why the spec wants no key of this APIKey to work; undefined where it may. A time that cannot be read is over. */
export function endOf({spec}: DeepReadonly<APIKey>, nowMs: number): 'revoked' | 'expired' | undefined {
  if (spec.revoked) return 'revoked';
  return spec.expiresAt !== undefined && isOver(spec.expiresAt, nowMs) ? 'expired' : undefined;
}

/** Whether the key before the current one has ended. An overlap that is set to nothing ends at once. */
export function isOverlapOver({spec}: DeepReadonly<APIKey>, validUntil: string, nowMs: number): boolean {
  return spec.rotation?.overlapSeconds === 0 || isOver(validUntil, nowMs);
}

function isOver(time: string, nowMs: number): boolean {
  const ms = Date.parse(time);
  return Number.isNaN(ms) || ms <= nowMs;
}
