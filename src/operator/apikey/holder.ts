/** Who may have a key where several APIKeys show it: the earliest holder. Pure. */
import {type APIKey, hashesOf} from '../../keys/apikey.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';

/**
 * Whether `self`, in whose Secret the hash was found, comes before all of `others`, whose status shows it. Who has the key
 * itself comes before who merely says it was the key before; then who had it in the status first; then the older APIKey.
 */
export function comesFirst(
  self: DeepReadonly<APIKey>,
  others: Iterable<DeepReadonly<APIKey>>,
  sha256: string,
  {isCurrent}: {readonly isCurrent: boolean},
): boolean {
  const own = rank(self, isCurrent, hashesOf(self).includes(sha256));
  for (const other of others) {
    if (other.metadata.uid === self.metadata.uid) continue;
    if (rank(other, other.status?.sha256 === sha256, true) < own) return false;
  }
  return true;
}

/** Lower is better, as text. */
function rank({metadata}: DeepReadonly<APIKey>, isCurrent: boolean, isShown: boolean): string {
  return [isCurrent ? 0 : 1, isShown ? 0 : 1, metadata.creationTimestamp, metadata.uid].join(' ');
}
