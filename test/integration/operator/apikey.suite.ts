/**
 * An APIKey next to everything else that the operator does. The details of keys are tested in test/integration/apikey.
 */
import {expect, test} from 'vitest';
import {API_VERSION} from '../../../src/api/names.ts';
import {API_KEY, type APIKey} from '../../../src/apikey/apikey.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {newDomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

export function apiKeySuite(world: () => OperatorWorld): void {
  test('an APIKey has a Secret as long as it exists, and the sweep of TLS Secrets does not touch it', async () => {
    const tenant = await newDomainTenant(world(), 'keys');
    const {namespace} = tenant;
    const {client, history} = world();
    const metadata = {name: 'shop', namespace};
    const apiKey: APIKey = {apiVersion: API_VERSION, kind: 'APIKey', metadata, spec: {scopes: ['messages:write']}};
    await client.apply(API_KEY, apiKey);
    const isIssued = async () => (await client.get(API_KEY, metadata))?.status?.sha256 !== undefined;
    await until('the key is issued', isIssued);
    const secret = () => history.get(kinds.SECRET, `${namespace}/shop-apikey`);
    await tenant.until('its Secret exists', secret);
    expect(secret()?.metadata.annotations).not.toHaveProperty('nameplate.dev/retained-since');
    await client.delete(API_KEY, metadata);
    await until('the Secret is gone', () => !secret());
  });
}
