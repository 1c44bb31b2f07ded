/** Checks requests against the schemas of their operation. Every fault that a schema finds becomes a response here. */
import {Ajv, type AnySchemaObject, type ErrorObject} from 'ajv';
import {type Answer, type ProblemCode, problem} from './answer.ts';
import type {ApiOperation} from './operations.ts';
import {IDEMPOTENCY_KEY, type Schemas} from './schemas.ts';

/**
 * The input that a schema judges: parsed, and limited in size. Headers are in lower case; a repeated parameter is an
 * array.
 */
export type Input = Readonly<Record<'query' | 'body' | 'headers', unknown>>;

const ajv = new Ajv({useDefaults: true, verbose: true});

/** Fills in defaults. Returns the response to a request with a fault; of several, to the first in schema order. */
export function validatorOf({query, body, headers}: ApiOperation): (input: Input) => Answer | undefined {
  const lowerCase = Object.entries(headers ?? {}).map(([name, schema]) => [name.toLowerCase(), schema]);
  const validate = ajv.compile({
    type: 'object',
    properties: {
      ...(query && {query: {type: 'object', properties: query, additionalProperties: false}}),
      ...(body && {body: {type: 'object', properties: body.properties, required: body.required ?? []}}),
      ...(headers && {headers: {type: 'object', properties: Object.fromEntries(lowerCase)}}),
    },
  });
  return input => {
    if (validate(input)) return undefined;
    const [error] = validate.errors ?? [];
    return error && faultAnswer(error, Object.keys(headers ?? {}));
  };
}

const WHOLE = /^\d{1,3}$/;

export function decodeQuery(query: string): object {
  const values = new Map<string, unknown>();
  for (const [name, value] of new URLSearchParams(query)) {
    values.set(name, values.has(name) ? [] : WHOLE.test(value) ? Number(value) : value);
  }
  return Object.fromEntries(values);
}

const CODES: Readonly<Record<string, ProblemCode>> = {
  body: 'invalid_json',
  'body/message': 'message_required',
  'headers/Idempotency-Key': 'invalid_idempotency_key',
};

/** `headers`: the names, in the case to show. */
function faultAnswer(error: ErrorObject, headers: readonly string[]): Answer {
  const {params, parentSchema, data} = error;
  const schemas: Schemas = parentSchema?.properties ?? {};
  const [, place = '', found] = error.instancePath.split('/');
  switch (error.keyword) {
    case 'required': {
      const name = String(params.missingProperty);
      return fault(place, name, sentence(name, schemas[name]));
    }
    case 'additionalProperties':
      return fault(place, String(params.additionalProperty), `The parameters are ${Object.keys(schemas).join(', ')}.`);
    default: {
      if (found === undefined) return fault(place, '', 'The body must be a JSON object.');
      const name = headers.find(header => header.toLowerCase() === found) ?? found;
      const isRepeated = place === 'query' && Array.isArray(data);
      return fault(place, name, isRepeated ? `${name} must be given only once.` : sentence(name, parentSchema));
    }
  }
}

function sentence(name: string, schema: AnySchemaObject = {}): string {
  if (schema.type === 'integer') return `${name} must be a whole number from ${schema.minimum} to ${schema.maximum}.`;
  if (schema.enum) return `${name} must be one of ${schema.enum.join(', ')}.`;
  return `${name} must be ${schema.title}.`;
}

function fault(place: string, name: string, detail: string): Answer {
  const code = CODES[name === '' ? place : `${place}/${name}`] ?? 'invalid_parameter';
  const errors = {
    query: {detail, parameter: name},
    headers: {detail: `must be ${IDEMPOTENCY_KEY.title}, quoted or not`, header: name},
    body: {detail, pointer: name === '' ? '#' : `#/${name}`},
  };
  return problem(400, code, detail, {errors: [errors[place as keyof Input]]});
}
