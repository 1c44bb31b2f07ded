/** Deletes the Secrets of an APIKey that is gone. */
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import {SECRET} from '../resources.ts';
import {createdMs, RESTORE_MS} from './secret.ts';

/**
 * How long the Secret of an APIKey that is not there is kept, milliseconds. Where this process has seen the APIKey, it was
 * deleted, and its key ends now. Where not, it may be on its way from a backup.
 */
export function keptMs(secret: DeepReadonly<KubeObject>, wasSeen: boolean, nowMs: number): number {
  return wasSeen ? 0 : Math.max(0, createdMs(secret) + RESTORE_MS - nowMs);
}

export async function sweepSecrets(
  secrets: readonly DeepReadonly<KubeObject>[],
  {wasSeen, nowMs, client, signal}: {wasSeen: boolean; nowMs: number; client: KubeClient; signal: AbortSignal},
): Promise<Outcome> {
  let waitMs = 0;
  for (const secret of secrets) {
    const leftMs = keptMs(secret, wasSeen, nowMs);
    if (leftMs > 0) {
      waitMs = Math.max(waitMs, leftMs);
      continue;
    }
    const {uid} = secret.metadata;
    await client.delete(SECRET, objectKey(secret), {...(uid && {preconditions: {uid}}), signal});
  }
  return waitMs > 0 ? after(waitMs) : done();
}
