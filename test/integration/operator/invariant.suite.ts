/** Checks the whole recorded history for what must never have been true. Runs last. */
import {expect, test} from 'vitest';
import {ANNOTATION} from '../../../src/api/names.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {RELEASE} from '../../support/install.ts';
import type {OperatorWorld} from './operator-world.ts';

export function invariantSuite(world: () => OperatorWorld): void {
  // promise: proof
  test('no custom host was ever routed before its claim and its certificate stood', () => {
    const {history} = world();
    const added = history.versions(kinds.INGRESS).filter(({type, object}) => type === 'ADDED' && isCustom(object));
    for (const {object, at} of added) {
      const {namespace = '', annotations = {}} = object.metadata;
      const host = annotations[ANNOTATION.host] ?? '';
      const isBefore = (version: {type: string; at: number}) => version.type === 'ADDED' && version.at < at;
      const claims = history.versions(kinds.DOMAIN_CLAIM, host).filter(isBefore);
      const secrets = history.versions(kinds.SECRET, `${namespace}/${routeName(namespace, host)}`).filter(isBefore);
      expect([claims.length > 0, secrets.length > 0], `${namespace}/${host} at ${at}`).toEqual([true, true]);
    }
    expect(added.length).toBeGreaterThan(50);
  });

  // promise: dns-owner
  test('no custom host was ever routed by two namespaces at once', () => {
    const {history} = world();
    const routedBy = new Map<string, Map<string, string>>();
    const atOnce: string[] = [];
    for (const {type, key, object, at} of history.versions(kinds.INGRESS).filter(({object}) => isCustom(object))) {
      const {namespace = '', annotations = {}} = object.metadata;
      const host = annotations[ANNOTATION.host] ?? '';
      const routing = routedBy.get(host) ?? new Map<string, string>();
      routedBy.set(host, routing);
      const matchesRequests = object.spec.rules.some(({http}) => http);
      if (type === 'DELETED' || !matchesRequests) routing.delete(key);
      else routing.set(key, namespace);
      if (new Set(routing.values()).size > 1) atOnce.push(`${host} at ${at}: ${[...routing.keys()].join(', ')}`);
    }
    expect(atOnce).toEqual([]);
    expect(routedBy.size).toBeGreaterThan(50);
  });

  test('no redirect was ever published to a host that was not served', () => {
    const {history} = world();
    const redirects = history
      .versions(MIDDLEWARE)
      .filter(({object}) => object.metadata.annotations?.[ANNOTATION.redirectTo]);
    for (const {object, at, type} of redirects) {
      const {namespace = '', annotations = {}} = object.metadata;
      const target = routeName(namespace, annotations[ANNOTATION.redirectTo] ?? '');
      const standing = history.versions(kinds.INGRESS, `${namespace}/${target}`).filter(version => version.at < at);
      if (type === 'ADDED')
        expect(standing.at(-1)?.type, `${namespace}/${object.metadata.name} at ${at}`).not.toBe('DELETED');
      expect(standing.length).toBeGreaterThan(0);
    }
    expect(redirects.length).toBeGreaterThan(5);
  });
}

function isCustom({metadata}: kinds.Ingress): boolean {
  return metadata.namespace !== RELEASE.namespace && metadata.labels?.['nameplate.dev/project'] === undefined;
}
