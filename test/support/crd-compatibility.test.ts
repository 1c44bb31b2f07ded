/** Objects of the last release stay valid: compares the CRDs of its commit with today's. */
import {execFileSync} from 'node:child_process';
import {globSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {LAST_RELEASE} from '../cluster/last-release.ts';
import {type Crd, incompatibilities, type Schema} from './crd-compatibility.ts';

const ROOT = join(import.meta.dirname, '../..');

function git(...args: readonly string[]): string {
  return execFileSync('git', args, {cwd: ROOT, encoding: 'utf8'});
}

const {version} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {version: string};
/** With the same version, the last release is still to come, and the CRDs may change. */
const isReleased = LAST_RELEASE.version !== version;
const files = git('ls-tree', '--name-only', LAST_RELEASE.commit, 'crds/').trim().split('\n');
const before = isReleased ? files.map(path => parse(git('show', `${LAST_RELEASE.commit}:${path}`)) as Crd) : [];
const after = globSync('crds/*.yaml', {cwd: ROOT}).map(path => parse(readFileSync(join(ROOT, path), 'utf8')) as Crd);

test.each(before)('$metadata.name accepts and keeps what it did in the last release', old => {
  const now = after.find(({metadata}) => metadata.name === old.metadata.name);
  expect(incompatibilities(old, now)).toEqual([]);
});

describe('finds', () => {
  const crd = (schema: Schema, served = true): Crd => ({
    metadata: {name: 'things.example.com'},
    spec: {
      scope: 'Namespaced',
      names: {kind: 'Thing', plural: 'things'},
      versions: [{name: 'v1', served, storage: true, schema: {openAPIV3Schema: schema}}],
    },
  });
  const old = {
    type: 'object',
    properties: {a: {type: 'string', maxLength: 9, enum: ['x', 'y']}, list: {type: 'array', items: {type: 'string'}}},
  };
  const {a, list} = old.properties;
  test.each([
    ['a removed field', {...old, properties: {list}}, 'things.example.com v1.a was removed'],
    ['a new required field', {...old, required: ['a']}, 'things.example.com v1.a is now required'],
    [
      'a narrower enum',
      {...old, properties: {list, a: {...a, enum: ['x']}}},
      'things.example.com v1.a: "y" is no longer allowed',
    ],
    [
      'a lower limit',
      {...old, properties: {list, a: {...a, maxLength: 8}}},
      'things.example.com v1.a: maxLength is lower',
    ],
    [
      'a new limit',
      {...old, properties: {a, list: {...list, maxItems: 8}}},
      'things.example.com v1.list: maxItems is lower',
    ],
    [
      'another type in a list',
      {...old, properties: {a, list: {...list, items: {type: 'integer'}}}},
      'things.example.com v1.list[]: type changed',
    ],
    [
      'another default',
      {...old, properties: {list, a: {...a, default: 'y'}}},
      'things.example.com v1.a: default changed',
    ],
    [
      'a new alternative',
      {...old, properties: {a, list: {...list, oneOf: [{required: ['x']}]}}},
      'things.example.com v1.list: oneOf changed',
    ],
    [
      'other keys of a list',
      {...old, properties: {a, list: {...list, 'x-kubernetes-list-map-keys': ['x']}}},
      'things.example.com v1.list: x-kubernetes-list-map-keys changed',
    ],
    ['a new rule', {...old, 'x-kubernetes-validations': [{rule: 'false'}]}, 'things.example.com v1: new rule false'],
  ])('%s', (_, schema, problem) => {
    expect(incompatibilities(crd(old), crd(schema))).toEqual([problem]);
  });

  test('a removed kind, and a version that is no longer served', () => {
    expect(incompatibilities(crd(old), undefined)).toEqual(['things.example.com was removed']);
    expect(incompatibilities(crd(old), crd(old, false))).toEqual(['things.example.com: v1 is no longer served']);
    expect(incompatibilities(crd(old), crd({...old, properties: {...old.properties, b: {type: 'string'}}}))).toEqual(
      [],
    );
  });
});
