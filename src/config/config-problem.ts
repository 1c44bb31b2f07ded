/** Turns ajv's errors into sentences: what was found, and what is allowed. */
import type {ErrorObject} from 'ajv';
import type {ConfigPath, ConfigProblem} from './config-schema.ts';

interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Needs ajv's `verbose`. Undefined if another error of the same validation says it better. */
export function schemaProblem(error: ErrorObject): ConfigProblem | undefined {
  const path = parsePointer(error.instancePath);
  const schema = error.parentSchema as Schema;
  if (error.propertyName !== undefined) return undefined;
  switch (error.keyword) {
    case 'required': {
      const name = String(error.params.missingProperty);
      return {path: [...path, name], message: `is missing; needed: ${allowed(schema.properties?.[name] ?? {})}`};
    }
    case 'additionalProperties': {
      const name = String(error.params.additionalProperty);
      return {path: [...path, name], message: unknownKey(name, Object.keys(schema.properties ?? {}))};
    }
    case 'propertyNames': {
      const name = String(error.params.propertyName);
      return {path: [...path, name], message: `cannot be a key here; allowed: ${allowed(error.schema as Schema)}`};
    }
    default:
      return {path, message: `is ${found(error.data)}; allowed: ${allowed(schema)}`};
  }
}

/** A JSON pointer (RFC 6901) as a path. Numeric steps count as list indexes. */
function parsePointer(pointer: string): ConfigPath {
  const steps = pointer.split('/').slice(1);
  return steps.map(step => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return /^\d+$/.test(name) ? Number(name) : name;
  });
}

function unknownKey(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `is not an option${near === undefined ? '' : `, did you mean ${near}?`}; allowed here: ${known.join(', ')}`;
}

function found(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping';
  const text = JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

function allowed(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.join(', ');
  const such = schema.examples === undefined ? '' : `, such as ${schema.examples.join(' or ')}`;
  switch (schema.type) {
    case 'integer':
      return `a whole number from ${schema.minimum} to ${schema.maximum}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return schema.minItems === undefined ? 'a list' : `a list of ${schema.minItems} or more`;
    case 'object':
      return schema.properties === undefined
        ? 'a non-empty mapping'
        : `a mapping of ${Object.keys(schema.properties).join(', ')}`;
    default:
      return `${schema.title ?? 'a text'}${schema.maxLength === undefined ? '' : `, at most ${schema.maxLength} characters`}${such}`;
  }
}

/** The closest known key by edit distance, if it is close enough for its length. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let best: {key: string; edits: number} | undefined;
  for (const key of known) {
    const edits = editDistance(name.toLowerCase(), key.toLowerCase());
    if (edits <= Math.max(2, key.length / 3) && (best === undefined || edits < best.edits)) best = {key, edits};
  }
  return best?.key;
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({length: b.length + 1}, (_, index) => index);
  for (const [i, left] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, right] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (left === right ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
