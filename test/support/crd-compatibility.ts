/** Finds what a new CRD no longer accepts or stores of previously valid objects. */
import {isDeepStrictEqual} from 'node:util';

export interface Crd {
  readonly metadata: {readonly name: string};
  readonly spec: {
    readonly scope: string;
    readonly names: {readonly kind: string; readonly plural: string};
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly schema: {readonly openAPIV3Schema: Schema};
    }[];
  };
}

export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly 'x-kubernetes-validations'?: readonly {readonly rule: string}[];
  readonly [keyword: string]: unknown;
}

/** Any change to these can reject or reorder valid objects, or change their meaning. */
const FIXED = [
  ...['type', 'format', 'pattern', 'nullable', 'uniqueItems', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['default', 'oneOf', 'anyOf', 'allOf', 'not'],
  ...['x-kubernetes-int-or-string', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys'],
];
const UPPER = ['maxLength', 'maxItems', 'maximum', 'maxProperties'];
const LOWER = ['minLength', 'minItems', 'minimum', 'minProperties'];

/** One line per problem. Empty if every object that the old CRD accepts stays valid and complete in the new one. */
export function incompatibilities(before: Crd, after: Crd | undefined): readonly string[] {
  const {name} = before.metadata;
  if (!after) return [`${name} was removed`];
  const problems: string[] = [];
  if (before.spec.scope !== after.spec.scope) problems.push(`${name}: the scope changed`);
  if (before.spec.names.kind !== after.spec.names.kind) problems.push(`${name}: the kind changed`);
  for (const old of before.spec.versions.filter(({served}) => served)) {
    const next = after.spec.versions.find(version => version.name === old.name && version.served);
    if (!next) problems.push(`${name}: ${old.name} is no longer served`);
    else problems.push(...narrowings(old.schema.openAPIV3Schema, next.schema.openAPIV3Schema, `${name} ${old.name}`));
  }
  return problems;
}

function narrowings(before: Schema, after: Schema, path: string): string[] {
  const problems: string[] = [];
  for (const keyword of FIXED) {
    if (!isDeepStrictEqual(before[keyword], after[keyword])) problems.push(`${path}: ${keyword} changed`);
  }
  for (const keyword of UPPER)
    if (limit(after, keyword, Infinity) < limit(before, keyword, Infinity))
      problems.push(`${path}: ${keyword} is lower`);
  for (const keyword of LOWER)
    if (limit(after, keyword, -Infinity) > limit(before, keyword, -Infinity))
      problems.push(`${path}: ${keyword} is higher`);
  if (after.enum) {
    const lost = before.enum ? before.enum.filter(value => !after.enum?.includes(value)) : ['any other value'];
    problems.push(...lost.map(value => `${path}: ${JSON.stringify(value)} is no longer allowed`));
  }
  const required = (after.required ?? []).filter(name => !before.required?.includes(name));
  problems.push(...required.map(name => `${path}.${name} is now required`));
  const rules = new Set(before['x-kubernetes-validations']?.map(({rule}) => rule));
  const added = (after['x-kubernetes-validations'] ?? []).filter(({rule}) => !rules.has(rule));
  problems.push(...added.map(({rule}) => `${path}: new rule ${rule}`));
  for (const [name, old] of Object.entries(before.properties ?? {})) {
    const next = after.properties?.[name];
    if (next) problems.push(...narrowings(old, next, `${path}.${name}`));
    else problems.push(`${path}.${name} was removed`);
  }
  if (before.items) problems.push(...narrowings(before.items, after.items ?? {}, `${path}[]`));
  if (typeof before.additionalProperties === 'object') {
    const next = typeof after.additionalProperties === 'object' ? after.additionalProperties : {};
    problems.push(...narrowings(before.additionalProperties, next, `${path}.*`));
  }
  return problems;
}

function limit(schema: Schema, keyword: string, otherwise: number): number {
  const value = schema[keyword];
  return typeof value === 'number' ? value : otherwise;
}
