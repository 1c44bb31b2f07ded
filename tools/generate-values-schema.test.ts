import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {Ajv} from 'ajv';
import {describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {generateValues, staleFiles} from './generate-values-schema.ts';

const chart = join(import.meta.dirname, '../charts/nameplate');
const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values;
const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as Schema;

interface Values {
  readonly [name: string]: unknown;
}
interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

test('values.yaml and values.schema.json are current', () => {
  expect(staleFiles()).toEqual([]);
});

test('generating twice changes nothing', () => {
  expect(generateValues()).toEqual(generateValues());
});

test('every value that a user may set has a description', () => {
  expect(undescribed(schema, [])).toEqual([]);
});

function undescribed({properties, description}: Schema, path: readonly string[]): readonly string[] {
  if (properties === undefined) return description === undefined && path[0] !== 'global' ? [path.join('.')] : [];
  return Object.entries(properties).flatMap(([name, property]) => undescribed(property, [...path, name]));
}

describe('the schema', () => {
  const validate = new Ajv({strictTypes: false, validateFormats: false}).compile(schema);

  test('accepts the defaults', () => {
    expect(validate(values)).toBe(true);
  });

  test.each([
    ['a misspelt value', {replica: 2}],
    ['a misspelt option', {config: {dns: {chekcs: {}}}}],
    ['a value of another type', {replicas: 'two'}],
    ['a mode that does not exist', {admission: {mode: 'warn'}}],
    ['an option out of range', {config: {controller: {workers: 0}}}],
    ['a domain that is none', {config: {platform: {baseDomain: 'https://example.net'}}}],
    ['what the chart sets itself', {config: {platform: {keyFile: '/key'}}}],
  ])('refuses %s', (_, wrong) => {
    expect(validate(wrong)).toBe(false);
  });
});
