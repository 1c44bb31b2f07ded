/** Builds hostile objects of any kind: from a frame if there is one, otherwise from the kind's schema. */
import {apiVersionOf, type KubeObject, type ObjectMeta} from '../../../src/runtime/kube/object.ts';
import type {WritableKind} from './catalog.ts';
import {meaningOf} from './fields.ts';
import type {Draw} from './pools.ts';
import type {Schema} from './schema.ts';
import {type Content, SKELETONS} from './skeletons.ts';

/** An object with every field that names something, as far as its frame allows. */
export function everything(kind: WritableKind, draw: Draw, name: string): KubeObject {
  return complete(kind, draw, name, merge(fill(kind.schema, draw, 1), frame(kind, draw)));
}

/** An object that is usually valid if there is a frame, and occasionally has a field beyond it. */
export function something(kind: WritableKind, draw: Draw, name: string): KubeObject {
  return complete(kind, draw, name, contentOf(kind, draw));
}

/** The parts of a hostile object other than its identity, for a patch. */
export function contentOf(kind: WritableKind, draw: Draw): Content {
  const framed = SKELETONS[kind.resource.kind] !== undefined;
  const more = framed && draw.random.chance(0.8) ? {} : fill(kind.schema, draw, framed ? 0.1 : 0.5);
  return merge(more, frame(kind, draw));
}

function frame(kind: WritableKind, draw: Draw): Content {
  return SKELETONS[kind.resource.kind]?.(draw) ?? {};
}

function complete({resource}: WritableKind, draw: Draw, name: string, content: Content): KubeObject {
  const {metadata, ...rest} = content as Partial<KubeObject>;
  const labels = draw.random.chance(0.3) ? withoutNull(draw.labels()) : {};
  const annotations = draw.random.chance(resource.kind === 'Ingress' ? 0.85 : 0.25) ? draw.annotations() : {};
  const identity: ObjectMeta = {name, namespace: draw.known.namespace, labels, annotations, ...metadata};
  return {apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: identity, ...rest} as KubeObject;
}

function withoutNull(labels: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

const IDENTITY = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** Fills the fields that the schema requires, and with this probability, each field that names something. */
function fill(schema: Schema, draw: Draw, probability: number): Content {
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !IDENTITY.has(name));
  return entriesOf(properties, ([name, property]) =>
    drawn(property, [name], draw, probability, schema.required?.includes(name) ?? false),
  );
}

/** The properties that get a value. */
function entriesOf(
  properties: readonly (readonly [string, Schema])[],
  value: (property: readonly [string, Schema]) => unknown,
): Content {
  const entries = properties.map(property => [property[0], value(property)] as const);
  return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
}

function drawn(schema: Schema, path: readonly string[], draw: Draw, probability: number, required: boolean): unknown {
  const meaning = meaningOf(path);
  const isText = (each?: Schema) => each?.type === 'string';
  if (meaning && (isText(schema) || isText(schema.items)) && (required || draw.random.chance(probability))) {
    const value = draw.value(meaning);
    return schema.type === 'array' ? [value] : value;
  }
  if (schema.properties) {
    const properties = Object.entries(schema.properties);
    const needs = (name: string) => schema.required?.includes(name) ?? false;
    const some = entriesOf(properties, ([name, each]) =>
      drawn(each, [...path, name], draw, probability, required && needs(name)),
    );
    if (Object.keys(some).length === 0) return required ? {} : undefined;
    // Now that the object exists, it needs its required fields.
    const missing = properties.filter(([name]) => needs(name) && !(name in some));
    return {...some, ...entriesOf(missing, ([name, each]) => plain(each, [...path, name], draw))};
  }
  if (schema.items && (schema.items.properties || required)) {
    const item = drawn(schema.items, path, draw, probability, required);
    return item === undefined ? (required ? [] : undefined) : [item];
  }
  return required ? plain(schema, path, draw) : undefined;
}

function plain(schema: Schema, path: readonly string[], draw: Draw): unknown {
  if (schema.format === 'int-or-string') return 80;
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  switch (schema.type) {
    case 'string': {
      const meaning = meaningOf(path);
      return schema.format === 'date-time' ? '2026-01-01T00:00:00Z' : meaning ? draw.value(meaning) : 'a';
    }
    case 'integer':
    case 'number':
      return 80;
    case 'boolean':
      return false;
    case 'array':
      return schema.items ? [plain(schema.items, path, draw)] : [];
    default:
      return schema.properties ? drawn(schema, path, draw, 0, true) : {};
  }
}

/** `over` wins; lists are not joined. */
function merge(under: Content, over: Content): Content {
  const merged: Content = {...under};
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isMap(below) && isMap(value) ? merge(below, value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Content {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
