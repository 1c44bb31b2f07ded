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
      const known = Object.keys(schema.properties ?? {}).join(', ');
      return {path: [...path, name], message: `is not an option; allowed here: ${known}`};
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
