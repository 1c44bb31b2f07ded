/**
 * The Secret of an APIKey: the only place that holds the key itself. Its annotations hold what must survive the loss of
 * the status: the hash of the previous key with its deadline, and the request for which the current key was created.
 * Pure.
 *
 * It has no owner reference: after a restore, the APIKey has another uid, and the garbage collector would delete the
 * Secret and the key with it. The operator deletes it instead, and sweeps what it missed (`sweep.ts`).
 */
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {APIKey} from '../../apikey/apikey.ts';
import {digestOf, isKey, prefixOf} from '../../apikey/format.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {Secret} from '../kinds/kinds.ts';

/** The parts of a key that may be shown. */
export interface IssuedKey {
  readonly sha256: string;
  readonly prefix: string;
  /** The previous key, whether or not it has ended. */
  readonly previous?: {readonly sha256: string; readonly validUntil: string};
  /** The request for which this key was created. */
  readonly handledRequest: string | undefined;
}

/** A restore creates Secrets before custom resources, with new creation times that differ by at most this much. */
export const RESTORE_MS = 10 * 60_000;
const DEFAULT_OVERLAP_SECONDS = 86_400;
const SHA256 = /^[0-9a-f]{64}$/;
/** The form that `timestamp` writes. The API server refuses anything else in the status. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export function secretNameOf({metadata, spec}: DeepReadonly<APIKey>): string {
  return spec.secretName ?? `${metadata.name}-apikey`;
}

/** The value of the annotation that requests a new key; limited in length, because it is repeated in the status. */
export function rotateRequestOf({metadata}: DeepReadonly<APIKey>): string | undefined {
  return metadata.annotations?.[ANNOTATION.rotateRequestedAt]?.slice(0, 128) || undefined;
}

export function buildSecret(apiKey: DeepReadonly<APIKey>, key: string): Secret {
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

/** A JSON merge patch at the resourceVersion that was read: the Secret's key becomes the previous one. */
export function rotationPatch(
  secret: DeepReadonly<KubeObject>,
  {apiKey, issued, key, nowMs}: {apiKey: DeepReadonly<APIKey>; issued: IssuedKey; key: string; nowMs: number},
): {readonly metadata: object; readonly data: {readonly key: string}} {
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

/** A JSON merge patch that ends the previous key. */
export const END_OF_OVERLAP = {
  metadata: {annotations: {[ANNOTATION.previousSha256]: null, [ANNOTATION.previousValidUntil]: null}},
};

/** Undefined if the Secret holds no key. The operator has the key in memory only for the time of this call. */
export function readKey({metadata, data}: Pick<DeepReadonly<Secret>, 'metadata' | 'data'>): IssuedKey | undefined {
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

/** Whether the operator created it for an APIKey: anyone can set the label. */
export function isKeySecret({metadata}: Pick<DeepReadonly<KubeObject>, 'metadata'>): boolean {
  return (
    metadata.labels?.[LABEL.managedBy] === 'nameplate' && metadata.annotations?.[ANNOTATION.apiKeyUid] !== undefined
  );
}

/**
 * - ours: created for this APIKey, or restored with it from a backup.
 * - leftover: created for a deleted APIKey of the same name; deleting an APIKey ends its key permanently.
 * - foreign: not created by the operator, which never changes it.
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
