/** Deletes the Secrets of APIKeys that are gone. */
import type {APIKey} from '../../apikey/apikey.ts';
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import {SECRET} from '../kinds/kinds.ts';
import {createdMs, isKeySecret, RESTORE_MS, secretNameOf, standingOf} from './secret.ts';

type Secrets = readonly DeepReadonly<KubeObject>[];

/**
 * How long to keep the Secret of a missing APIKey, in milliseconds. If this process has seen the APIKey, it was
 * deleted, and its key ends now. If not, a restore may still create it.
 */
export function keptMs(secret: DeepReadonly<KubeObject>, wasSeen: boolean, nowMs: number): number {
  return wasSeen ? 0 : Math.max(0, createdMs(secret) + RESTORE_MS - nowMs);
}

/** Deletes the Secrets with the label of an APIKey that is gone. */
export async function sweepSecrets(
  secrets: Secrets,
  {wasSeen, nowMs, client, signal}: {wasSeen: boolean; nowMs: number; client: KubeClient; signal: AbortSignal},
): Promise<Outcome> {
  let waitMs = 0;
  for (const secret of secrets.filter(isKeySecret)) {
    const leftMs = keptMs(secret, wasSeen, nowMs);
    if (leftMs > 0) waitMs = Math.max(waitMs, leftMs);
    else await deleteSecret(secret, client, signal);
  }
  return waitMs > 0 ? after(waitMs) : done();
}

/** Deletes what a deleted APIKey of the same name left in Secrets with other names. */
export async function sweepLeftovers(
  secrets: Secrets,
  apiKey: DeepReadonly<APIKey>,
  {knownUid, client, signal}: {knownUid: string | undefined; client: KubeClient; signal: AbortSignal},
): Promise<void> {
  for (const secret of secrets) {
    const isElsewhere = secret.metadata.name !== secretNameOf(apiKey);
    if (isElsewhere && standingOf(secret, apiKey, knownUid) === 'leftover') await deleteSecret(secret, client, signal);
  }
}

/** Only this object, not a later one of the same name. */
export async function deleteSecret(
  secret: DeepReadonly<KubeObject>,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const {uid} = secret.metadata;
  await client.delete(SECRET, objectKey(secret), {...(uid && {preconditions: {uid}}), signal});
}
