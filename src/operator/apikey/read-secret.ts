/**
 * Reads the Secrets of APIKeys. Tenants choose the Secret that an APIKey names, and its size. So the metadata comes
 * first, the content only of a Secret that the operator created, and of each version of it once.
 */
import type {APIKey} from '../../apikey/apikey.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import type {ApiAccess} from '../caches/context.ts';
import {SECRET} from '../kinds/kinds.ts';
import {type IssuedKey, readKey, type Standing, secretNameOf, standingOf} from './secret.ts';

export interface FoundSecret {
  /** Perhaps without its content. */
  readonly secret: DeepReadonly<KubeObject>;
  readonly standing: Standing;
  /** Undefined if the Secret is not the APIKey's own, or holds no key. */
  readonly key: IssuedKey | undefined;
}

export class KeySecrets {
  /** By "namespace/name" of the APIKey. Without the key itself. */
  readonly #read = new Map<string, {readonly version: string; readonly key: IssuedKey | undefined}>();

  /** Undefined if there is no Secret. `knownUid`: as in `standingOf`. */
  async find(
    apiKey: DeepReadonly<APIKey>,
    knownUid: string | undefined,
    {client, signal}: ApiAccess,
  ): Promise<FoundSecret | undefined> {
    const at = {namespace: apiKey.metadata.namespace, name: secretNameOf(apiKey)};
    const metadata = await client.get<KubeObject>(SECRET, at, {signal, metadataOnly: true});
    if (!metadata) return undefined;
    const standing = standingOf(metadata, apiKey, knownUid);
    if (standing !== 'ours') return {secret: metadata, standing, key: undefined};
    const last = this.#read.get(keyOf(apiKey));
    if (last?.version === versionOf(metadata)) return {secret: metadata, standing, key: last.key};
    const secret = await client.get(SECRET, at, {signal});
    if (!secret) return undefined;
    const key = standingOf(secret, apiKey, knownUid) === 'ours' ? readKey(secret) : undefined;
    this.#read.set(keyOf(apiKey), {version: versionOf(secret), key});
    return {secret, standing: standingOf(secret, apiKey, knownUid), key};
  }

  /** The APIKey with this "namespace/name" is gone. */
  forget(apiKey: string): void {
    this.#read.delete(apiKey);
  }
}

function versionOf({metadata: {uid, resourceVersion}}: DeepReadonly<KubeObject>): string {
  return `${uid} ${resourceVersion}`;
}
