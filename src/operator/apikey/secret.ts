/**
 * The Secret of an APIKey: the only place where the key itself stands, and the durable truth of it. Beside the key it
 * bears, as annotations, what must survive the loss of the status: the key before with its deadline, and the request
 * that made this one. Pure.
 *
 * It has no owner reference. After a restore the APIKey has another uid, and the garbage collector would delete the Secret
 * and the key with it; so the operator deletes it, and sweeps what it missed (`sweep.ts`).
 */
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {APIKey} from '../../keys/apikey.ts';
import {digestOf, isKey, prefixOf} from '../../keys/format.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';

export interface KeySecret extends KubeObject {
  type?: string;
  /** Base64. */
  data?: Record<string, string>;
}

/** What of a key may be shown. */
export interface IssuedKey {
  readonly sha256: string;
  readonly prefix: string;
  /** The key before, whether or not its time is over. */
  readonly previous?: {readonly sha256: string; readonly validUntil: string};
  /** The request for which this key was made. */
  readonly handledRequest: string | undefined;
}

/** A restore brings Secrets before custom resources, and gives both new creation times: this far apart, not further. */
export const RESTORE_MS = 10 * 60_000;
const DEFAULT_OVERLAP_SECONDS = 86_400;
const SHA256 = /^[0-9a-f]{64}$/;
/** As `timestamp` writes it: the API server would refuse anything else in the status. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export function secretNameOf({metadata, spec}: DeepReadonly<APIKey>): string {
  return spec.secretName ?? `${metadata.name}-apikey`;
}

/** A value of the annotation that asks for a new key; bounded, since it is repeated in the status. */
export function rotateRequestOf({metadata}: DeepReadonly<APIKey>): string | undefined {
  return metadata.annotations?.[ANNOTATION.rotateRequestedAt]?.slice(0, 128) || undefined;
}

export function buildSecret(apiKey: DeepReadonly<APIKey>, key: string): KeySecret {
  const {name, namespace = '', uid = ''} = apiKey.metadata;
  const request = rotateRequestOf(apiKey);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: secretNameOf(apiKey),
      namespace,
      labels: {[LABEL.managedBy]: 'nameplate', [LABEL.apiKey]: name},
      annotations: {[ANNOTATION.apiKeyUid]: uid, ...(request && {[ANNOTATION.rotateRequestedAt]: request})},
    },
    type: 'Opaque',
    data: {key: Buffer.from(key).toString('base64')},
  };
}

/** JSON merge patch, at the resourceVersion that was read: the key of the Secret becomes the one before. */
export function rotationPatch(
  secret: DeepReadonly<KeySecret>,
  {apiKey, issued, key, nowMs}: {apiKey: DeepReadonly<APIKey>; issued: IssuedKey; key: string; nowMs: number},
): Record<string, unknown> {
  const {overlapSeconds = DEFAULT_OVERLAP_SECONDS} = apiKey.spec.rotation ?? {};
  const overlaps = overlapSeconds > 0;
  const annotations = {
    [ANNOTATION.rotateRequestedAt]: rotateRequestOf(apiKey) ?? null,
    [ANNOTATION.previousSha256]: overlaps ? issued.sha256 : null,
    [ANNOTATION.previousValidUntil]: overlaps ? timestamp(nowMs + overlapSeconds * 1000) : null,
  };
  const data = {key: Buffer.from(key).toString('base64')};
  return {metadata: {resourceVersion: secret.metadata.resourceVersion, annotations}, data};
}

/** JSON merge patch: the key before is over. */
export const END_OF_OVERLAP = {
  metadata: {annotations: {[ANNOTATION.previousSha256]: null, [ANNOTATION.previousValidUntil]: null}},
};

/** Undefined when what it holds is no key. The key is in the memory of the operator for as long as this takes. */
export function readKey({metadata, data}: DeepReadonly<KeySecret>): IssuedKey | undefined {
  const key = Buffer.from(data?.key ?? '', 'base64').toString();
  if (!isKey(key)) return undefined;
  const {annotations = {}} = metadata;
  const sha256 = annotations[ANNOTATION.previousSha256] ?? '';
  const validUntil = annotations[ANNOTATION.previousValidUntil] ?? '';
  const hasPrevious = SHA256.test(sha256) && TIMESTAMP.test(validUntil);
  return {
    sha256: digestOf(key),
    prefix: prefixOf(key),
    ...(hasPrevious && {previous: {sha256, validUntil}}),
    handledRequest: annotations[ANNOTATION.rotateRequestedAt],
  };
}

/** Whether the operator made it for an APIKey: a label alone may be anybody's. */
export function isKeySecret({metadata}: Pick<DeepReadonly<KubeObject>, 'metadata'>): boolean {
  return (
    metadata.labels?.[LABEL.managedBy] === 'nameplate' && metadata.annotations?.[ANNOTATION.apiKeyUid] !== undefined
  );
}

/**
 * - ours: made for this APIKey, or come back with it from a backup.
 * - leftover: made for a deleted APIKey of the same name; deleting an APIKey ends its key for good.
 * - foreign: somebody else's; not to be touched.
 */
export type Standing = 'ours' | 'leftover' | 'foreign';

/** `knownUid`: the uid that this process last saw the APIKey of this name have. */
export function standingOf(
  {metadata}: Pick<DeepReadonly<KubeObject>, 'metadata'>,
  apiKey: DeepReadonly<APIKey>,
  knownUid: string | undefined,
): Standing {
  if (!isKeySecret({metadata}) || metadata.labels?.[LABEL.apiKey] !== apiKey.metadata.name) return 'foreign';
  const madeFor = metadata.annotations?.[ANNOTATION.apiKeyUid];
  if (madeFor === apiKey.metadata.uid) return 'ours';
  if (knownUid !== undefined && knownUid !== apiKey.metadata.uid) return 'leftover';
  const aheadMs = createdMs(apiKey) - createdMs({metadata});
  return aheadMs > RESTORE_MS ? 'leftover' : 'ours';
}

export function createdMs({metadata}: Pick<DeepReadonly<KubeObject>, 'metadata'>): number {
  return Date.parse(metadata.creationTimestamp ?? '');
}
