/**
 * The key from which account targets, proof tokens, and names of default hosts are derived. It is in a Secret that the
 * operator creates at its first start and never changes.
 */
import {randomBytes} from 'node:crypto';
import type {Logger} from 'pino';
import {counted} from '../api/conditions.ts';
import {ANNOTATION} from '../api/names.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import {ApiError, classifyFailure} from '../runtime/kube/errors.ts';
import {type BackoffPolicy, retryDelayMs} from '../time/backoff.ts';
import type {Clock} from '../time/clock.ts';
import type {PlatformConfig} from './config/config.ts';
import {DOMAIN, DOMAIN_CLAIM, PROJECT, SECRET, type Secret} from './kinds/kinds.ts';

type KeySecretRef = PlatformConfig['keySecret'];

interface PlatformKeyParts {
  readonly client: KubeClient;
  /** The operator's own namespace, which has the Secret. */
  readonly namespace: string;
  readonly target: Pick<PlatformConfig, 'targetDomain' | 'confirmTargetDomain'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const MIN_BYTES = 32;
const BACKOFF: BackoffPolicy = {initialMs: 500, maxMs: 10_000, factor: 2, jitter: 0.5};

/** There is no usable key, and retrying does not help. */
export class PlatformKeyError extends Error {
  override readonly name = 'PlatformKeyError';
}

/**
 * Throws a PlatformKeyError if there is no usable key. Retries while the API server refuses or does not answer.
 * Undefined if the signal aborted.
 */
export async function loadPlatformKey(ref: KeySecretRef, parts: PlatformKeyParts): Promise<Uint8Array | undefined> {
  const {clock, logger, signal} = parts;
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await keyInSecret(ref, parts);
    } catch (error) {
      if (signal.aborted) break;
      const kind = classifyFailure(error);
      if (kind === 'unknown') throw error;
      // Another replica has just created the Secret: read it immediately.
      if (kind === 'race') continue;
      logger.warn({err: error}, 'The platform key cannot be read yet.');
      const requestedMs = error instanceof ApiError ? error.retryAfterMs : undefined;
      await clock.sleep(retryDelayMs(BACKOFF, failures, requestedMs, Math.random), signal).catch(() => {});
    }
  }
  return undefined;
}

async function keyInSecret({name, key}: KeySecretRef, parts: PlatformKeyParts): Promise<Uint8Array> {
  const {client, namespace, logger, signal} = parts;
  const problem = (text: string) =>
    new PlatformKeyError(`The platform key, the Secret ${namespace}/${name}, cannot be used:\n  ${text}`);
  let secret = await client.get(SECRET, {namespace, name}, {signal});
  if (!secret) {
    if (await isInUse(client, signal)) throw problem(lostKey(namespace));
    const data = {[key]: randomBytes(MIN_BYTES).toString('base64')};
    const metadata = {name, namespace};
    const wanted = {apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', immutable: true, data};
    secret = await client.create(SECRET, wanted, {signal});
    logger.info({namespace, name}, 'Created the platform key; back it up.');
  }
  const bytes = Buffer.from(secret.data?.[key] ?? '', 'base64');
  if (bytes.length < MIN_BYTES)
    throw problem(`${key} has ${bytes.length} bytes; at least ${MIN_BYTES} random bytes are required`);
  await recordTarget(secret, parts);
  return bytes;
}

/**
 * The DNS of each held host points to a name below the target domain. So the domain in force is recorded next to the
 * key, from which the names are derived, and is restored with it. A Secret without the record is new, or older than it.
 */
async function recordTarget({metadata}: Secret, {client, namespace, target, signal}: PlatformKeyParts): Promise<void> {
  const {targetDomain, confirmTargetDomain} = target;
  const recorded = metadata.annotations?.[ANNOTATION.targetDomain];
  if (recorded === targetDomain) return;
  if (recorded !== undefined && confirmTargetDomain !== targetDomain) {
    const held = await countHeld(client, signal);
    if (held > 0) throw new PlatformKeyError(targetChanged(recorded, targetDomain, held));
  }
  const patch = {metadata: {annotations: {[ANNOTATION.targetDomain]: targetDomain}}};
  await client.patch(SECRET, {namespace, name: metadata.name}, patch, {signal, metadataOnly: true});
}

async function countHeld(client: KubeClient, signal: AbortSignal): Promise<number> {
  let held = 0;
  for await (const {items} of client.list(DOMAIN_CLAIM, {signal})) {
    held += items.filter(({spec}) => spec.releasedAt === undefined).length;
  }
  return held;
}

function targetChanged(from: string, to: string, held: number): string {
  return (
    `config.platform.targetDomain has changed from ${from} to ${to}, and ${counted(held, 'held host')} would need a DNS change. ` +
    `Set it to ${from} again. Or, if you want the change, set config.platform.confirmTargetDomain to ${to}, too, and tell the tenants which records to change.`
  );
}

/**
 * Whether names that were derived from a key are in use: a host is held, records were shown, or a Project published.
 */
async function isInUse(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  for await (const {items} of client.list(DOMAIN_CLAIM, {pageSize: 1, metadataOnly: true, signal})) {
    if (items.length > 0) return true;
  }
  for await (const {items} of client.list(DOMAIN, {signal})) {
    if (items.some(({status}) => status?.dns?.required?.length)) return true;
  }
  for await (const {items} of client.list(PROJECT, {signal})) {
    if (items.some(({status}) => status?.defaultHost)) return true;
  }
  return false;
}

function lostKey(namespace: string): string {
  return (
    'it does not exist, but hosts that depend on it do. A new key would change the DNS target of every account and the default host of every Project. ' +
    `Restore the key from your backup: kubectl apply -n ${namespace} -f platform-key.yaml`
  );
}
