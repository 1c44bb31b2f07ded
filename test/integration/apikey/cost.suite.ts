/** What APIKeys cost, whatever their tenants choose: they run alone, because they count what the operator does. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {API_VERSION, LABEL} from '../../../src/api/names.ts';
import {API_KEY, type APIKey} from '../../../src/apikey/apikey.ts';
import {NAMESPACE, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import * as objects from '../../support/objects.ts';
import {operatorRequests} from './audit.ts';
import type {KeyWorld} from './key-world.ts';

/** How often an APIKey may read its Secret's metadata before its first retry: when it or its status changes. */
const FIRST_READS = 4;
/** The shortest pause before the first retry; each pause is about twice as long as the one before. */
const FIRST_PAUSE_SECONDS = 5;

export function costSuite(world: () => KeyWorld): void {
  const create = async (namespace: string, name: string, spec: Partial<APIKey['spec']> = {}) => {
    const metadata = {name, namespace};
    const apiKey: APIKey = {
      apiVersion: API_VERSION,
      kind: 'APIKey',
      metadata,
      spec: {scopes: ['messages:write'], ...spec},
    };
    await world().client.create(API_KEY, apiKey);
  };
  const readyOf = (namespace: string, name: string) =>
    findCondition(world().apiKeys.get(`${namespace}/${name}`)?.status?.conditions, 'Ready');
  const named = (namespace: string, names: readonly string[], reason: string) =>
    names.filter(name => readyOf(namespace, name)?.reason === reason);

  // attack: costly-keys
  test('180 APIKeys that name one large Secret look for it a few times each', async () => {
    const {client} = world();
    await client.create(NAMESPACE, objects.tenantNamespace('large', {plan: 'many'}));
    const data = {large: Buffer.alloc(900_000, 'x').toString('base64')};
    const secret = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 'large', namespace: 'large'}, data};
    await client.create(SECRET, secret);
    const names = Array.from({length: 180}, (_, index) => `key-${index}`);
    const startMs = performance.now();
    for (const name of names) await create('large', name, {secretName: 'large'});
    const conflicting = () => named('large', names, 'SecretConflict').length === names.length;
    await until('all are refused', conflicting);
    await client.create(NAMESPACE, objects.tenantNamespace('quiet'));
    for (const name of ['a', 'b', 'c']) {
      await create('quiet', name);
      await until('another account has its key', () => named('quiet', [name], 'Issued').length === 1);
    }
    const reads = (await operatorRequests(world(), 'large', '')).filter(request => request === 'get secrets');
    const seconds = (performance.now() - startMs) / 1000;
    const retries = Math.ceil(Math.log2(1 + seconds / FIRST_PAUSE_SECONDS));
    expect(reads.length).toBeGreaterThanOrEqual(names.length);
    expect(reads.length).toBeLessThan(names.length * (FIRST_READS + retries));
    await client.delete(NAMESPACE, {name: 'large'});
  });

  // attack: costly-keys
  test('an account gets keys for as many APIKeys as its plan allows, and keeps them', async () => {
    const {client} = world();
    await client.create(NAMESPACE, objects.tenantNamespace('limited', {plan: 'few'}));
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await create('limited', name);
    const has = (reason: string, want: readonly string[]) => () =>
      String(named('limited', names, reason)) === String(want);
    await until('the plan has room for two', has('PlanLimitReached', ['c', 'd']));
    await until('the others have a key', has('Issued', ['a', 'b']));
    expect(readyOf('limited', 'c')?.message).toContain('Plan few allows 2 APIKeys per account');
    await client.delete(API_KEY, {namespace: 'limited', name: 'a'});
    await until('the next one gets a key', has('Issued', ['b', 'c']));
    await client.patch(NAMESPACE, {name: 'limited'}, {metadata: {labels: {[LABEL.plan]: 'none'}}});
    const seen = () => readyOf('limited', 'd')?.message.includes('Plan none allows 0 APIKeys');
    await until('the operator has seen the smaller plan', seen);
    expect(named('limited', names, 'Issued')).toEqual(['b', 'c']);
  });
}
