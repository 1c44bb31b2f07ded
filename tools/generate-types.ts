/**
 * Generates src/api/generated/*.ts from the CRD YAML in crds/, the single source of truth.
 *
 *     node tools/generate-types.ts           writes the files
 *     node tools/generate-types.ts --check   exits 1 and names the files that differ
 */
import {readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {compile, type JSONSchema} from 'json-schema-to-typescript';
import {parse} from 'yaml';

const root = join(import.meta.dirname, '..');
const outputDir = join(root, 'src/api/generated');

interface CustomResourceDefinition {
  spec: {
    group: string;
    names: {kind: string};
    versions: {name: string; schema: {openAPIV3Schema: JSONSchema}}[];
  };
}

/** Dates stay strings, as the API server sends them, and objects admit only what the schema names. */
function closed(schema: JSONSchema): JSONSchema {
  const copy: JSONSchema = {...schema};
  if (copy['x-kubernetes-int-or-string']) {
    return {description: copy.description ?? '', oneOf: [{type: 'integer'}, {type: 'string'}]};
  }
  delete copy.maxItems; // would become a union of tuples
  if (copy.properties) {
    copy.properties = Object.fromEntries(Object.entries(copy.properties).map(([key, value]) => [key, closed(value)]));
    copy.additionalProperties = false;
  }
  if (typeof copy.additionalProperties === 'object') copy.additionalProperties = closed(copy.additionalProperties);
  if (copy.items && !Array.isArray(copy.items)) copy.items = closed(copy.items as JSONSchema);
  return copy;
}

async function typesOf(crd: CustomResourceDefinition): Promise<string> {
  const {kind} = crd.spec.names;
  const version = crd.spec.versions[0];
  if (!version) throw new Error(`${kind}: the CRD has no version`);
  const {spec, status} = version.schema.openAPIV3Schema.properties ?? {};
  const parts: string[] = [];
  for (const [name, schema] of Object.entries({Spec: spec, Status: status})) {
    if (schema) {
      parts.push(
        await compile(closed(schema), `${kind}${name}`, {
          bannerComment: '',
          additionalProperties: false,
          style: {singleQuote: true, bracketSpacing: false, printWidth: 120},
        }),
      );
    }
  }
  return `// Generated from crds/ by tools/generate-types.ts; do not edit.\n\n${parts.join('\n')}`;
}

const stale: string[] = [];
for (const file of (await readdir(join(root, 'crds'))).filter(name => name.endsWith('.yaml'))) {
  const crd = parse(await readFile(join(root, 'crds', file), 'utf8')) as CustomResourceDefinition;
  const target = join(outputDir, `${crd.spec.names.kind.toLowerCase()}.ts`);
  const text = await typesOf(crd);
  if (process.argv.includes('--check')) {
    const current = await readFile(target, 'utf8').catch(() => '');
    if (current !== text) stale.push(target);
  } else {
    await writeFile(target, text);
  }
}
if (stale.length > 0) {
  console.error(`These differ from crds/: ${stale.join(', ')}\nRun 'make generate' and commit the result.`);
  process.exit(1);
}
