/**
 * Generates the types of what people write in YAML from the schemas that validate it: src/api/generated from the CRDs
 * in crds/, and the types of the configurations, with every default applied, from their schemas.
 *
 *     node tools/generate-types.ts           writes the files
 *     node tools/generate-types.ts --check   exits 1 and names the files that differ
 */
import {readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {compile, type JSONSchema} from 'json-schema-to-typescript';
import {parse} from 'yaml';
import {consoleConfigSchema} from '../src/console/config-schema.ts';
import {messagesConfigSchema} from '../src/messages/config-schema.ts';
import {operatorConfigSchema} from '../src/operator/config/schema.ts';

const root = join(import.meta.dirname, '..');

interface CustomResourceDefinition {
  spec: {
    group: string;
    names: {kind: string};
    versions: {name: string; schema: {openAPIV3Schema: JSONSchema}}[];
  };
}

/** Dates stay strings, as the API server sends them, and objects allow only properties that the schema names. */
function closed(schema: JSONSchema): JSONSchema {
  const copy: JSONSchema = {...schema};
  if (copy['x-kubernetes-int-or-string']) {
    return {description: copy.description ?? '', oneOf: [{type: 'integer'}, {type: 'string'}]};
  }
  delete copy.maxItems; // it would become a union of tuples
  if (copy.properties) {
    copy.properties = Object.fromEntries(Object.entries(copy.properties).map(([key, value]) => [key, closed(value)]));
    copy.additionalProperties = false;
  }
  if (typeof copy.additionalProperties === 'object') copy.additionalProperties = closed(copy.additionalProperties);
  if (copy.items && !Array.isArray(copy.items)) copy.items = closed(copy.items as JSONSchema);
  return copy;
}

function types(schema: JSONSchema, name: string): Promise<string> {
  return compile(closed(schema), name, {
    bannerComment: '',
    additionalProperties: false,
    style: {singleQuote: true, bracketSpacing: false, printWidth: 120},
  });
}

async function typesOfKind({spec: {names, versions}}: CustomResourceDefinition): Promise<string> {
  const {kind} = names;
  const [version] = versions;
  if (!version) throw new Error(`${kind}: the CRD has no version`);
  const {spec, status} = version.schema.openAPIV3Schema.properties ?? {};
  const parts: string[] = [];
  for (const [name, schema] of Object.entries({Spec: spec, Status: status})) {
    if (schema) parts.push(await types(schema, `${kind}${name}`));
  }
  return `// Generated from crds/ by tools/generate-types.ts; do not edit.\n\n${parts.join('\n')}`;
}

/** The schema after defaulting: an option with a default is always set. */
function complete({title: _, minItems: __, ...schema}: JSONSchema): JSONSchema {
  const {properties = {}, required, items, additionalProperties} = schema;
  const isSet = ([name, option]: [string, JSONSchema]) =>
    option.default !== undefined || [required].flat().includes(name);
  return {
    ...schema,
    ...(items && {items: complete(items as JSONSchema)}),
    ...(typeof additionalProperties === 'object' && {additionalProperties: complete(additionalProperties)}),
    ...(schema.properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, option]) => [name, complete(option)])),
      required: Object.entries(properties)
        .filter(isSet)
        .map(([name]) => name),
    }),
  };
}

function withReadonly(types: string): string {
  return types
    .replace(/^( +)(\w+\??|\[k: string\]): /gm, '$1readonly $2: ')
    .replace(/: (\w+\[\];)$/gm, ': readonly $1')
    .replace(/^( +)(.+): (\{\n(?:\1 .*\n)*\1\}\[\];)$/gm, '$1$2: readonly $3');
}

async function typesOfConfig(schema: object, name: string, source: string): Promise<string> {
  const config = withReadonly(await types(complete(schema as JSONSchema), name));
  return `// Generated from ${source} by tools/generate-types.ts; do not edit.\n\n${config}`;
}

const generated = new Map<string, string>();
for (const file of (await readdir(join(root, 'crds'))).filter(name => name.endsWith('.yaml'))) {
  const crd = parse(await readFile(join(root, 'crds', file), 'utf8')) as CustomResourceDefinition;
  generated.set(`src/api/generated/${crd.spec.names.kind.toLowerCase()}.ts`, await typesOfKind(crd));
}
for (const [folder, source, name, schema] of [
  ['src/operator/config', 'schema.ts', 'OperatorConfig', operatorConfigSchema],
  ['src/messages', 'config-schema.ts', 'MessagesConfig', messagesConfigSchema],
  ['src/console', 'config-schema.ts', 'ConsoleConfig', consoleConfigSchema],
] as const) {
  generated.set(`${folder}/generated/config.ts`, await typesOfConfig(schema, name, `${folder}/${source}`));
}

const stale: string[] = [];
for (const [path, text] of generated) {
  const file = join(root, path);
  if (!process.argv.includes('--check')) await writeFile(file, text);
  else if ((await readFile(file, 'utf8').catch(() => '')) !== text) stale.push(path);
}
if (stale.length > 0) {
  console.error(`These are not current: ${stale.join(', ')}\nRun 'make generate' and commit the result.`);
  process.exit(1);
}
