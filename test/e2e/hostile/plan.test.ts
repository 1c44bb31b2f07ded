import {describe, expect, it} from 'vitest';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import type {WritableKind} from './catalog.ts';
import {ANNOTATIONS, meaningOf} from './fields.ts';
import {everything} from './objects.ts';
import {describeMove, planOf} from './plan.ts';
import {Draw, type Known} from './pools.ts';
import {Random} from './random.ts';
import {type Schema, schemaOf} from './schema.ts';

const KNOWN: Known = {
  namespace: 'attacker',
  hosts: ['h0.attacker.test', 'h1.attacker.test'],
  victims: [{namespace: 'victim', host: 'shop.victim.test', service: 'victims'}],
  platformHosts: ['apps.platform.test'],
  edgeClass: 'edge',
  clusterIssuers: ['platform'],
  platformIssuer: {name: 'platform', kind: 'ACMEIssuer', group: 'nameplate.dev'},
  approvedIssuer: 'own',
  relay: 'http://relay.test/directory',
  ca: 'http://ca.test/dir',
  caBundle: 'AAAA',
  keySecret: 'key',
  service: 'web',
  trap: '192.0.2.2',
  addresses: ['192.0.2.1'],
  requests: {'shop.victim.test': 'AAAA'},
};

const TEXT: Schema = {type: 'string'};

function kind(group: string, name: string, spec: Schema, verbs = ['create', 'patch', 'delete']): WritableKind {
  const resource = {group, version: 'v1', kind: name, plural: `${name.toLowerCase()}s`, namespaced: true};
  return {resource, schema: {type: 'object', properties: {spec}}, verbs: new Set(verbs), subresources: []};
}

/** A kind that the generator knows only from this schema. */
const ROUTE = kind('routes.test', 'Road', {
  type: 'object',
  required: ['weight'],
  properties: {
    weight: {type: 'integer'},
    color: TEXT,
    hosts: {type: 'array', items: TEXT},
    tls: {type: 'object', properties: {secretName: TEXT, options: TEXT}},
    backend: {type: 'object', required: ['port'], properties: {name: TEXT, port: {type: 'integer'}}},
  },
});
const CATALOG = [
  ROUTE,
  kind('cert-manager.io', 'Issuer', {type: 'object'}),
  kind('acme.cert-manager.io', 'Order', {type: 'object'}, ['delete']),
  kind('', 'Service', {type: 'object'}),
];

function plan(seed: string) {
  return planOf(new Random(seed), CATALOG, KNOWN, 200);
}

describe('the generator', () => {
  it('the same seed makes the same moves, and another seed makes others', () => {
    expect(plan('a')).toEqual(plan('a'));
    expect(plan('a')).not.toEqual(plan('b'));
  });

  it('sets every field that names something, and what these need, in a kind that it does not know', () => {
    const draw = new Draw(new Random('a'), KNOWN, 'shop.victim.test', []);
    const made = everything(ROUTE, draw, 'mine') as {spec?: Record<string, unknown>};
    expect(made.spec).toEqual({
      hosts: [expect.any(String)],
      tls: {secretName: expect.any(String)},
      backend: {name: expect.any(String), port: 80},
      weight: 80,
    });
  });

  it('names mostly the host that an object is about, and the managed Secret of that host', () => {
    const draw = new Draw(new Random('a'), KNOWN, 'h1.attacker.test', []);
    const hosts = Array.from({length: 100}, () => draw.value('host'));
    expect(hosts.filter(host => host === 'h1.attacker.test').length).toBeGreaterThan(60);
    const secrets = Array.from({length: 100}, () => draw.value('secret'));
    expect(secrets).toContain(routeName('attacker', 'h1.attacker.test'));
    expect(secrets).toContain(routeName('victim', 'shop.victim.test'));
  });

  it('writes routes and listeners of the Gateway API for the host that an object is about', () => {
    for (const name of ['HTTPRoute', 'ListenerSet', 'Gateway']) {
      const draws = Array.from({length: 20}, (_, n) => new Draw(new Random(`${n}`), KNOWN, 'shop.victim.test', []));
      const made = draws.map(draw => JSON.stringify(everything(kind('gateway', name, {type: 'object'}), draw, 'mine')));
      expect(made.filter(text => text.includes('"shop.victim.test"')).length).toBeGreaterThan(10);
    }
  });

  it('uses only verbs that the role has, begins with each kind, and makes every sort of move', () => {
    const moves = ['a', 'b', 'c'].flatMap(plan);
    const written = moves.filter(move => 'resource' in move && move.resource.kind === 'Order');
    expect(new Set(written.map(move => move.do))).toEqual(new Set(['delete', 'react']));
    const created = plan('a').flatMap(move => (move.do === 'create' ? [move.resource.kind] : []));
    expect(new Set(created.slice(0, 3))).toEqual(new Set(['Road', 'Issuer', 'Service']));
    const sorts = [
      'create',
      'patch',
      'delete',
      'react',
      'undo',
      'add',
      'remove',
      'point',
      'relay',
      'crowd',
      'send',
      'lose',
      'gain',
      'wait',
    ];
    expect([...new Set(moves.map(move => move.do))].sort()).toEqual(sorts.sort());
    expect(moves.map(describeMove).filter(line => line.includes('\n'))).toEqual([]);
  });
});

it.each([
  ['spec.rules.host', 'host'],
  ['spec.tls.secretName', 'secret'],
  ['spec.acme.server', 'url'],
  ['spec.acme.privateKeySecretRef.name', 'secret'],
  ['spec.issuerRef.name', 'issuer'],
  ['spec.issuerRef.kind', 'issuerKind'],
  ['spec.rules.http.paths.backend.service.name', 'service'],
  ['spec.ingressClassName', 'class'],
  ['spec.acme.solvers.http01.ingress.class', 'class'],
  ['spec.externalName', 'host'],
  ['spec.domains.aliases', 'host'],
  ['spec.routes.match', 'rule'],
  ['spec.template.spec.containers.name', undefined],
  ['metadata.namespace', undefined],
])('%s names a %s', (path, meaning) => {
  expect(meaningOf(path.split('.'))).toBe(meaning);
});

it('annotations are known once each', () => {
  const keys = ANNOTATIONS.map(([key]) => key);
  expect(new Set(keys).size).toBe(keys.length);
});

it('schemas are read through references, also those that refer to themselves', () => {
  const gvk = {group: 'a.test', version: 'v1', kind: 'Tree'};
  const tree: Schema = {
    type: 'object',
    properties: {host: TEXT, child: {allOf: [{$ref: '#/components/schemas/tree'}]}},
    'x-kubernetes-group-version-kind': [gvk],
  };
  const schema = schemaOf({components: {schemas: {tree}}}, gvk);
  expect(schema?.properties?.child?.properties?.child?.properties?.host).toEqual(TEXT);
  expect(schemaOf({components: {schemas: {tree}}}, {...gvk, kind: 'Bush'})).toBeUndefined();
});
