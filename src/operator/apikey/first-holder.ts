/** Who held a key first if no record shows it. Pure. */
import {type APIKey, hashesOf} from '../../apikey/apikey.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';

export interface FirstHolder {
  readonly apiKey: DeepReadonly<APIKey>;
  /** Its Secret has the key itself, or names the hash as that of its previous key. */
  readonly which: 'current' | 'previous';
}

/**
 * Whether `one` held the key before `other`: first the one that shows it in its status, then the one that has the key
 * itself, then the older one.
 */
export function comesBefore(one: FirstHolder, other: FirstHolder, sha256: string): boolean {
  return rank(one, sha256) < rank(other, sha256);
}

/** Lower is better, as text. */
function rank({apiKey, which}: FirstHolder, sha256: string): string {
  const {creationTimestamp, uid} = apiKey.metadata;
  return [hashesOf(apiKey).includes(sha256) ? 0 : 1, which === 'current' ? 0 : 1, creationTimestamp, uid].join(' ');
}
