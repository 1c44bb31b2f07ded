/** One tenant: a namespace, its APIKeys and their Secrets. */
import {expect} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import type {APIKeySpec} from '../../../src/api/generated/apikey.ts';
import {ANNOTATION, API_VERSION} from '../../../src/api/names.ts';
import {API_KEY, type APIKey} from '../../../src/keys/apikey.ts';
import {digestOf} from '../../../src/keys/format.ts';
import type {KeySecret} from '../../../src/operator/apikey/secret.ts';
import {NAMESPACE as NAMESPACES, SECRET} from '../../../src/operator/resources.ts';
import {until} from '../../cluster/wait.ts';
import * as objects from '../../support/objects.ts';
import type {World} from './world.ts';

const NAME = 'shop';
const SECRET_NAME = 'shop-apikey';
const PATIENCE = {timeoutMs: 20_000, intervalMs: 25};

export async function newTenant(world: World, namespace: string, account?: string): Promise<Tenant> {
  await world.client.apply(NAMESPACES, objects.namespace(namespace, {account}));
  return new Tenant(world, namespace);
}

export class Tenant {
  readonly world: World;
  readonly namespace: string;

  constructor(world: World, namespace: string) {
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
    await this.world.client.apply(API_KEY, apiKey);
  }

  async applySecret(data: Record<string, string>, metadata: Partial<KeySecret['metadata']> = {}): Promise<void> {
    const encoded = Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
    const secret: KeySecret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {...metadata, name: SECRET_NAME, namespace: this.namespace},
      data: Object.fromEntries(encoded),
    };
    await this.world.client.apply<KeySecret>(SECRET, secret);
  }

  /** Asks for a new key. */
  async askForRotation(request: string): Promise<void> {
    const annotations = {[ANNOTATION.rotateRequestedAt]: request};
    await this.world.client.patch(API_KEY, this.#at(NAME), {metadata: {annotations}});
  }

  /** As a backup that leaves status out. */
  async wipeStatus(): Promise<void> {
    await this.world.client.patch(API_KEY, this.#at(NAME), {status: null}, {subresource: 'status'});
  }

  async patch(spec: Record<string, unknown>): Promise<void> {
    await this.world.client.patch(API_KEY, this.#at(NAME), {spec});
  }

  async delete(): Promise<void> {
    await this.world.client.delete(API_KEY, this.#at(NAME));
  }

  async deleteSecret(): Promise<void> {
    await this.world.client.delete(SECRET, this.#at(SECRET_NAME));
  }

  async apiKey(): Promise<APIKey | undefined> {
    return await this.world.client.get(API_KEY, this.#at(NAME));
  }

  async secret(): Promise<KeySecret | undefined> {
    return await this.world.client.get<KeySecret>(SECRET, this.#at(SECRET_NAME));
  }

  /** The key in the Secret now. */
  async key(): Promise<string> {
    return Buffer.from((await this.secret())?.data?.key ?? '', 'base64').toString();
  }

  /** Waits until the conditions, about the current spec, have these reasons; the messages say these words. */
  async becomes(want: {Active: string; Ready: string}, says: readonly string[] = []): Promise<APIKey> {
    let last: APIKey | undefined;
    const probe = async () => {
      last = await this.apiKey();
      const isCurrent = last?.status?.observedGeneration === last?.metadata.generation;
      const reasons = Object.keys(want).map(type => findCondition(last?.status?.conditions, type)?.reason);
      const isSo = isCurrent && String(reasons) === String(Object.values(want));
      return isSo && says.every(text => JSON.stringify(last?.status?.conditions).includes(text)) ? last : undefined;
    };
    const found = await until(`${this.namespace} becomes ${JSON.stringify(want)}`, probe, PATIENCE).catch(error => {
      expect(last?.status, `not ${JSON.stringify(want)} ${says.join(' ')}`).toBe(undefined);
      throw error;
    });
    return found as APIKey;
  }

  /** Applies an APIKey and waits until its key is there, and known to the messages API. */
  async issued(spec: Partial<APIKeySpec> = {}): Promise<string> {
    await this.apply(spec);
    await this.becomes({Active: 'Active', Ready: 'Issued'});
    return await this.works();
  }

  /** Waits until the messages API knows the key that is in the Secret, and returns it. */
  async works(): Promise<string> {
    const key = await this.key();
    await until(`the key of ${this.namespace} works`, () => this.accepts(key), PATIENCE);
    expect((await this.apiKey())?.status?.sha256).toBe(digestOf(key));
    return key;
  }

  accepts(key: string): boolean {
    return 'account' in this.world.authority.authenticate(key);
  }

  async ends(key: string): Promise<void> {
    await until(`the key of ${this.namespace} works no more`, () => !this.accepts(key), PATIENCE);
  }

  async until(what: string, probe: () => Promise<unknown>): Promise<void> {
    await until(what, probe, PATIENCE);
  }

  #at(name: string) {
    return {namespace: this.namespace, name};
  }
}
