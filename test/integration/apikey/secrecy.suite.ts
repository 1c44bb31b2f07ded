/** After all previous tests, no key is anywhere except in its Secret. */
import {expect, test} from 'vitest';
import {SECRET, type Secret} from '../../../src/operator/kinds/kinds.ts';
import type {KeyWorld} from './key-world.ts';

/** A key, or the base64 of its beginning. */
const KEY = /npk_[0-9A-Za-z]{36}|bnBrX[0-9A-Za-z+/]{40}/g;

export function secrecySuite(world: () => KeyWorld): void {
  test('what is looked for would be found', async () => {
    const secrets: Secret[] = [];
    for await (const {items} of world().client.list(SECRET)) secrets.push(...items);
    const text = JSON.stringify(secrets);
    expect(text.match(KEY)?.length).toBeGreaterThan(10);
    expect(Buffer.from(text.match(KEY)?.[0] ?? '', 'base64').toString()).toMatch(/^npk_/);
  });

  test('in no log of the operator', async () => {
    const log = await world().operatorLogs();
    expect(log).toContain('"controller":"apikey"');
    expect(log.match(KEY)).toBeNull();
  });

  test('in no request about APIKeys and Events, and in no response', async () => {
    const lines = (await world().auditLog()).split('\n');
    // One test has a policy that quotes what it refuses, and the API server logs the message.
    const log = lines.filter(line => !/"resource":"secrets","namespace":"policy"/.test(line)).join('\n');
    expect(log).toMatch(/"verb":"patch"[^\n]*apikeys[^\n]*"subresource":"status"/);
    expect(log).toMatch(/"verb":"create"[^\n]*"resource":"events"/);
    expect(log).toMatch(/"resource":"secrets"/);
    expect(log.match(KEY)).toBeNull();
  });

  test.each(['apikeys', 'events.events.k8s.io', 'configmaps', 'leases'])('in none of the %s', async resource => {
    const objects = await world().api.kubectl(
      'get',
      resource,
      '--all-namespaces',
      '-o',
      'json',
      '--show-managed-fields',
    );
    expect(objects.match(KEY)).toBeNull();
  });

  test('in no metric', async () => {
    const metrics = await world().operator().metrics();
    expect(metrics).toContain('controller="apikey"');
    expect(metrics.match(KEY)).toBeNull();
  });
}
