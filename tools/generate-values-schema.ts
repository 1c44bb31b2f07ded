/**
 * Generates the description of the chart's values, in two files, from two sources:
 *
 * - the sections `messages.config` and `config` of values.yaml, with every default and description, from the schemas of
 *   the two configurations;
 * - values.schema.json: these sections from the same schemas, the rest from values.yaml (a value has the type of its
 *   default and the description in its comment).
 *
 *     node tools/generate-values-schema.ts           writes both files
 *     node tools/generate-values-schema.ts --check   exits 1 and names the files that differ
 */
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {isMap, isScalar, isSeq, type Pair, parseDocument, type Scalar, stringify, type YAMLMap} from 'yaml';
import {messagesConfigSchema} from '../src/messages/config-schema.ts';
import {operatorConfigSchema} from '../src/operator/config/schema.ts';

interface Schema {
  type?: string;
  description?: string;
  title?: string;
  default?: unknown;
  examples?: readonly unknown[];
  pattern?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: readonly string[];
  [keyword: string]: unknown;
}

/** Options that the chart does not support, or sets itself because they follow from the release or the pod. */
const setByTheChart = {
  operator: [
    'admission',
    'diagnostics',
    'platform.keyFile',
    'platform.keySecret',
    'controller.leaderElection.leaseName',
    'controller.leaderElection.namespace',
  ],
  messages: [
    'server.port',
    'operations',
    'diagnostics',
    'keys.file',
    'store.folder',
    'store.postgres.uriFile',
    'store.postgres.caFile',
    'store.postgres.awaitMigration',
  ],
};

const chart = join(import.meta.dirname, '../charts/nameplate');
const messagesMarker =
  '  # Configuration of the messages API. Everything below is generated from src/messages/config-schema.ts (make generate).\n';
const operatorMarker =
  '# Configuration of the operator. Everything below is generated from src/operator/config/schema.ts (make generate).\n';

/** Generated content by path. */
export function generateValues(): ReadonlyMap<string, string> {
  const path = join(chart, 'values.yaml');
  // The messages API's section is the last manually written one, and its configuration comes last.
  const [handWritten = ''] = read(path).split(messagesMarker);
  const messages = withoutChartOptions(messagesConfigSchema, setByTheChart.messages);
  const operator = withoutChartOptions(operatorConfigSchema as Schema, setByTheChart.operator);
  const values = [
    `${handWritten}${messagesMarker}  config:\n${configValues(messages, '    ')}`,
    `${operatorMarker}config:\n${configValues(operator, '  ')}`,
  ].join('\n');
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...mapSchema(parseDocument(handWritten).contents as YAMLMap),
  };
  const ofMessages = schema.properties?.messages;
  schema.properties = {
    global: {type: 'object'},
    // For the condition `nameplate.enabled` of a chart that depends on this one. Only Helm reads it.
    enabled: {const: true, description: 'For a condition of a chart that depends on this one. Only Helm reads it.'},
    ...schema.properties,
    messages: withRequiredSections({
      ...ofMessages,
      properties: {...ofMessages?.properties, config: mayBeUnset(messages)},
    }),
    config: mayBeUnset(operator),
  };
  schema.required = [...(schema.required ?? []), 'config'];
  for (const name of NEEDED) requireValue(schema, name.split('.'));
  return new Map([
    [path, values],
    [join(chart, 'values.schema.json'), `${JSON.stringify(schema, null, 2)}\n`],
  ]);
}

/** Further values that templates do not check before they use them, so null must be refused by name. */
const NEEDED = [
  'image.repository',
  'admission.trusted',
  'admission.edgeClasses',
  'admission.edgeApiGroups',
  'admission.edgeAddresses.annotations',
  'commonLabels',
  'podSecurityContext',
  'diagnostics.enabled',
  'messages.ingress.annotations',
  'messages.certificate.issuerRef',
  'config.platform.reservedHosts',
  'config.certificates.issuerRef.kind',
  'config.certificates.formerIssuerRefs',
  'config.certificates.approval.exemptNamespaces',
  'config.certificates.approval.tenantCertificates.hosts',
  'config.certificates.approval.tenantCertificates.services',
  'config.routing.ingressClassName',
];

function requireValue(schema: Schema, [name = '', ...rest]: readonly string[]): void {
  const property = schema.properties?.[name];
  if (property === undefined) throw new Error(`values.yaml has no ${name}`);
  if (rest.length > 0) requireValue(property, rest);
  else schema.required = [...(schema.required ?? []), name];
}

function withoutChartOptions(
  {$schema: _, ...schema}: Schema,
  chartOptions: readonly string[],
  path: readonly string[] = [],
): Schema {
  if (schema.properties === undefined) return schema;
  const properties = Object.entries(schema.properties)
    .map(([name, property]) => ({name, property, at: [...path, name]}))
    .filter(({at}) => !chartOptions.includes(at.join('.')))
    .map(({name, property, at}) => [name, withoutChartOptions(property, chartOptions, at)] as const);
  return {...schema, properties: Object.fromEntries(properties)};
}

/** A required option is an empty string in values.yaml, so that the templates can fail with a helpful message. */
function mayBeUnset(schema: Schema): Schema {
  const {required = [], ...rest} = schema;
  if (rest.properties === undefined) return rest;
  const properties = Object.entries(rest.properties).map(([name, property]) => {
    const {pattern, ...others} = property;
    const unset = required.includes(name) && pattern !== undefined;
    return [name, unset ? {...others, anyOf: [{const: ''}, {pattern}]} : mayBeUnset(property)] as const;
  });
  return withRequiredSections({...rest, properties: Object.fromEntries(properties)});
}

/** Helm removes a value that is set to null, and templates read into sections, so they must be there. */
function withRequiredSections(schema: Schema): Schema {
  const sections = Object.entries(schema.properties ?? {}).filter(([, {properties}]) => properties !== undefined);
  return {...schema, ...(sections.length > 0 && {required: sections.map(([name]) => name)})};
}

/** The options as commented YAML; one that is absent by default is commented out. */
function configValues({properties = {}}: Schema, indent: string): string {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const comment = wrap(`-- ${describe(schema)}`, indent);
      if (schema.properties !== undefined) return `${comment}${indent}${name}:\n${configValues(schema, `${indent}  `)}`;
      const {items} = schema;
      if (items?.examples !== undefined && schema.default === undefined) {
        return `${comment}${indent}# ${name}: [${items.examples.join(', ')}]\n`;
      }
      return `${comment}${indent}${yamlEntry(name, schema.default ?? '').replaceAll('\n', `\n${indent}`)}\n`;
    })
    .join('');
}

function describe({description = '', enum: choices, examples}: Schema): string {
  const allowed = Array.isArray(choices) && choices.length > 1 ? ` One of ${choices.join(', ')}.` : '';
  return `${description}${allowed}${examples === undefined ? '' : ` Example: ${examples.join(', ')}`}`;
}

function yamlEntry(name: string, value: unknown): string {
  return stringify({[name]: value}, {singleQuote: true}).trimEnd();
}

function wrap(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && indent.length + 2 + last.length + 1 + word.length <= 120) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines.map(line => `${indent}# ${line}\n`).join('');
}

function mapSchema(map: YAMLMap): Schema {
  const properties = map.items.map((pair, index) => {
    // The parser attaches a comment before the first key to the map.
    const comment = (index === 0 && map.commentBefore) || (pair.key as Scalar).commentBefore || '';
    const description = / -- (.*)/s.exec(comment)?.[1]?.replaceAll(/\s*\n\s*/g, ' ');
    return [keyOf(pair), {...(description !== undefined && {description}), ...valueSchema(pair, description)}] as const;
  });
  return withRequiredSections({
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  });
}

/** A map that has its own description or no keys may have any content: resources, labels, tolerations. */
function valueSchema({value}: Pair, description: string | undefined): Schema {
  if (isSeq(value)) return {type: 'array'};
  if (isMap(value)) return value.items.length === 0 || description !== undefined ? {type: 'object'} : mapSchema(value);
  const scalar: unknown = isScalar(value) ? value.value : undefined;
  const choices = / One of ([\w, -]+)\.$/.exec(description ?? '')?.[1]?.split(', ');
  if (choices !== undefined) return {type: 'string', enum: choices};
  return {type: typeof scalar === 'number' ? 'integer' : typeof scalar};
}

function keyOf({key}: Pair): string {
  return String((key as Scalar).value);
}

/** Paths of generated files that are out of date. */
export function staleFiles(): readonly string[] {
  return [...generateValues()].filter(([path, content]) => read(path) !== content).map(([path]) => path);
}

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

if (import.meta.main) {
  const stale = staleFiles();
  if (process.argv.includes('--check')) {
    for (const path of stale) console.error(`${path} is not current: run make generate`);
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else {
    for (const [path, content] of generateValues()) writeFileSync(path, content);
  }
}
