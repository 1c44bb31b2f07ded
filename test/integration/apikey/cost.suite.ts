/** What APIKeys cost, whatever their tenants choose: they run alone, because they measure the operator. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {API_VERSION, LABEL} from '../../../src/api/names.ts';
import {API_KEY, type APIKey} from '../../../src/apikey/apikey.ts';
import type {KeySecret} from '../../../src/operator/apikey/secret.ts';
import {NAMESPACE, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import * as objects from '../../support/objects.ts';
import type {KeyWorld} from './key-world.ts';

const PATIENCE = {timeoutMs: 120_000, intervalMs: 100};
/** Of one core. */
const MAX_LOAD = 0.1;
const MEASURED_SECONDS = 15;

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
  test('180 APIKeys that name one large Secret cost nothing while nothing changes', {timeout: 240_000}, async () => {
    const {client, operator} = world();
    await client.create(NAMESPACE, objects.tenantNamespace('large', {plan: 'many'}));
    const data = {large: Buffer.alloc(900_000, 'x').toString('base64')};
    const secret = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 'large', namespace: 'large'}, data};
    await client.create<KeySecret>(SECRET, secret);
    const names = Array.from({length: 180}, (_, index) => `key-${index}`);
    for (const name of names) await create('large', name, {secretName: 'large'});
    const conflicting = () => named('large', names, 'SecretConflict').length === names.length;
    await until('all are refused', conflicting, PATIENCE);
    const before = await operator().metric('process_cpu_seconds_total');
    await new Promise(resolve => setTimeout(resolve, MEASURED_SECONDS * 1000));
    const used = (await operator().metric('process_cpu_seconds_total')) - before;
    expect(used / MEASURED_SECONDS).toBeLessThan(MAX_LOAD);
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
    await until('the plan has room for two', has('PlanLimitReached', ['c', 'd']), PATIENCE);
    await until('the others have a key', has('Issued', ['a', 'b']), PATIENCE);
    expect(readyOf('limited', 'c')?.message).toContain('Plan few allows 2 APIKeys per account');
    await client.delete(API_KEY, {namespace: 'limited', name: 'a'});
    await until('the next one gets a key', has('Issued', ['b', 'c']), PATIENCE);
    await client.patch(NAMESPACE, {name: 'limited'}, {metadata: {labels: {[LABEL.plan]: 'none'}}});
    const seen = () => readyOf('limited', 'd')?.message.includes('Plan none allows 0 APIKeys');
    await until('the operator has seen the smaller plan', seen, PATIENCE);
    expect(named('limited', names, 'Issued')).toEqual(['b', 'c']);
  });
}
