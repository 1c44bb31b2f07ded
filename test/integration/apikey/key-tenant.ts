/** One tenant: a namespace, its APIKeys and their Secrets. */
import {expect} from 'vitest';
import {findCondition, timestamp} from '../../../src/api/conditions.ts';
import type {APIKeySpec, APIKeyStatus} from '../../../src/api/generated/apikey.ts';
import {ANNOTATION, API_VERSION} from '../../../src/api/names.ts';
import {API_KEY, type APIKey, type KeyClaim} from '../../../src/apikey/apikey.ts';
import {digestOf} from '../../../src/apikey/format.ts';
import {NAMESPACE, SECRET, type Secret} from '../../../src/operator/kinds/kinds.ts';
import {type DeepReadonly, type KubeObject, keyOf, type ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import * as objects from '../../support/objects.ts';
import type {KeyWorld} from './key-world.ts';

const NAME = 'shop';
const SECRET_NAME = 'shop-apikey';
const PATIENCE = {intervalMs: 25};

export async function newKeyTenant(world: KeyWorld, namespace: string, account?: string): Promise<KeyTenant> {
  await world.client.apply(NAMESPACE, objects.tenantNamespace(namespace, {account}));
  return new KeyTenant(world, namespace);
}

/** The annotations of a Secret whose previous key is this one, which works for another hour. */
export function previousKey(key: string): Record<string, string> {
  const validUntil = timestamp(Date.now() + 3_600_000);
  return {[ANNOTATION.previousSha256]: digestOf(key), [ANNOTATION.previousValidUntil]: validUntil};
}

export class KeyTenant {
  readonly world: KeyWorld;
  readonly namespace: string;

  constructor(world: KeyWorld, namespace: string) {
    this.world = world;
    this.namespace = namespace;
  }

  async apply(spec: Partial<APIKeySpec> = {}, annotations: Record<string, string> = {}): Promise<void> {
    const metadata = {name: NAME, namespace: this.namespace, annotations};
    const apiKey: APIKey = {
      apiVersion: API_VERSION,
      kind: 'APIKey',
      metadata,
      spec: {scopes: ['messages:write'], ...spec},
    };
    await this.#seen(API_KEY, await this.world.client.apply(API_KEY, apiKey));
  }

  async applySecret(data: Record<string, string>, metadata: Partial<Secret['metadata']> = {}): Promise<void> {
    const encoded = Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
    const secret: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {...metadata, name: SECRET_NAME, namespace: this.namespace},
      data: Object.fromEntries(encoded),
    };
    await this.#seen(SECRET, await this.world.client.apply(SECRET, secret));
  }

  /** Requests a new key. */
  async askForRotation(request: string): Promise<void> {
    const annotations = {[ANNOTATION.rotateRequestedAt]: request};
    await this.#patch({metadata: {annotations}});
  }

  /** Requests a new key, waits until it works in addition to the old one, and returns it. */
  async rotated(request: string): Promise<string> {
    await this.askForRotation(request);
    await this.until(`the request ${request} is handled`, () => {
      return this.apiKey()?.status?.lastHandledRotateRequest === request;
    });
    await this.becomes({Active: 'Rotating', Ready: 'Issued'});
    return await this.works();
  }

  /** Like a restore from a backup without status. */
  async wipeStatus(): Promise<void> {
    await this.#patch({status: null}, {subresource: 'status'});
  }

  /** Acts as a tenant that may write the status of its own APIKeys. */
  async writeStatus(status: Partial<APIKeyStatus>): Promise<void> {
    await this.#patch({status}, {subresource: 'status'});
  }

  async patch(spec: Record<string, unknown>): Promise<void> {
    await this.#patch({spec});
  }

  async delete(): Promise<void> {
    await this.world.client.delete(API_KEY, this.#at(NAME));
  }

  async deleteSecret(): Promise<void> {
    const {uid} = this.secret()?.metadata ?? {};
    await this.world.client.delete(SECRET, this.#at(SECRET_NAME));
    if (uid) await this.until('the Secret is gone', () => this.secret()?.metadata.uid !== uid);
  }

  /** The current object, at least as new as everything that this tenant has written. */
  apiKey(): DeepReadonly<APIKey> | undefined {
    return this.world.apiKeys.get(`${this.namespace}/${NAME}`);
  }

  secret(): DeepReadonly<Secret> | undefined {
    return this.world.secrets.get(`${this.namespace}/${SECRET_NAME}`);
  }

  /** The record of a key. */
  claim(key: string): DeepReadonly<KeyClaim> | undefined {
    return this.world.keyClaims.get(digestOf(key));
  }

  /** The key that is now in the Secret; empty if there is none. */
  key(): string {
    return Buffer.from(this.secret()?.data?.key ?? '', 'base64').toString();
  }

  /** Waits until the conditions for the current spec have these reasons, and messages with these words. */
  async becomes(want: {Active: string; Ready: string}, says: readonly string[] = []): Promise<DeepReadonly<APIKey>> {
    let last: DeepReadonly<APIKey> | undefined;
    const probe = () => {
      last = this.apiKey();
      const isCurrent = last?.status?.observedGeneration === last?.metadata.generation;
      const reasons = Object.keys(want).map(type => findCondition(last?.status?.conditions, type)?.reason);
      const isSo = isCurrent && String(reasons) === String(Object.values(want));
      return isSo && says.every(text => JSON.stringify(last?.status?.conditions).includes(text)) ? last : undefined;
    };
    const found = await until(`${this.namespace} becomes ${JSON.stringify(want)}`, probe, PATIENCE).catch(error => {
      expect(last?.status, `not ${JSON.stringify(want)} ${says.join(' ')}`).toBe(undefined);
      throw error;
    });
    return found;
  }

  /** Applies an APIKey, and waits until its key exists and the messages API knows it. */
  async issued(spec: Partial<APIKeySpec> = {}): Promise<string> {
    await this.apply(spec);
    await this.becomes({Active: 'Active', Ready: 'Issued'});
    return await this.works();
  }

  /** Waits until the messages API knows the Secret's key as this APIKey's. Returns the key. */
  async works(): Promise<string> {
    const isOurs = () => this.#keyId(this.key()) === `${this.namespace}/${NAME}` && this.claim(this.key());
    await until(`the key of ${this.namespace} works`, isOurs, PATIENCE);
    const key = this.key();
    await until('the status shows its hash', () => this.apiKey()?.status?.sha256 === digestOf(key), PATIENCE);
    return key;
  }

  accepts(key: string): boolean {
    return 'account' in this.world.authenticator.authenticate(key);
  }

  #keyId(key: string): string | undefined {
    const answer = this.world.authenticator.authenticate(key);
    return 'keyId' in answer ? answer.keyId : undefined;
  }

  async ends(key: string): Promise<void> {
    await until(`the key of ${this.namespace} no longer works`, () => !this.accepts(key), PATIENCE);
  }

  async until(what: string, probe: () => unknown): Promise<void> {
    await until(what, probe, PATIENCE);
  }

  async #patch(patch: Record<string, unknown>, options: {subresource?: string} = {}): Promise<void> {
    await this.#seen(API_KEY, await this.world.client.patch(API_KEY, this.#at(NAME), patch, options));
  }

  /** Later reads must not be older than this write. */
  async #seen<T extends KubeObject>(resource: ResourceType<T>, object: T): Promise<void> {
    await this.world.seen({resource, key: keyOf(object as KubeObject), object});
  }

  #at(name: string) {
    return {namespace: this.namespace, name};
  }
}
