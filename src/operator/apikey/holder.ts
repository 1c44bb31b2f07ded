/** Who held a key first if no record shows it. Pure. */
import {type APIKey, hashesOf} from '../../keys/apikey.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';

/**
 * Whether `one` held the key before `other`: first the one that shows it in its status, then the older one. It does not
 * matter whether it is the current or the previous key: a rotated key that somebody copies is current only for the
 * copier.
 */
export function comesBefore(one: DeepReadonly<APIKey>, other: DeepReadonly<APIKey>, sha256: string): boolean {
  return rank(one, sha256) < rank(other, sha256);
}

/** Lower is better, as text. */
function rank(apiKey: DeepReadonly<APIKey>, sha256: string): string {
  const {creationTimestamp, uid} = apiKey.metadata;
  return [hashesOf(apiKey).includes(sha256) ? 0 : 1, creationTimestamp, uid].join(' ');
}
