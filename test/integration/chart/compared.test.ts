/** The comparison with cert-manager's chart is complete: a value that they add or that we rename fails this test. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {beforeAll, expect, test} from 'vitest';
import {ensurePrograms} from '../../cluster/programs.ts';

const root = join(import.meta.dirname, '../../..');

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

let theirs: ReadonlySet<string>;
let ours: ReadonlySet<string>;
/** Files of a release. */
let files: readonly string[];
let rows: readonly {readonly theirs: string[]; readonly ours: string[]}[];

beforeAll(async () => {
  const chart = (await ensurePrograms(['certmanager'])).asset('cert-manager-chart');
  theirs = new Set(pathsOf(JSON.parse(await readFile(join(chart, 'values.schema.json'), 'utf8'))));
  const own = join(root, 'charts/nameplate/values.schema.json');
  ours = new Set(pathsOf(JSON.parse(await readFile(own, 'utf8'))));
  const page = await readFile(join(root, 'docs/decisions/chart-compared.md'), 'utf8');
  const [values = '', released = ''] = page.split('## The release');
  files = rowsOf(released).flatMap(row => row.ours);
  rows = rowsOf(values);
});

function rowsOf(table: string): {theirs: string[]; ours: string[]}[] {
  return table.split('\n').flatMap(line => {
    const [, first = '', second = '', verdict] = line.split('|');
    return verdict === undefined || /^-+$/.test(first) ? [] : [{theirs: namesIn(first), ours: namesIn(second)}];
  });
}

/** The paths of all values: objects and their content. */
function pathsOf(schema: Schema, root = schema, prefix = ''): string[] {
  const found = schema.$ref ? root.$defs?.[schema.$ref.replace('#/$defs/', '')] : schema;
  return Object.entries(found?.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    return [path, ...pathsOf(property, root, `${path}.`)];
  });
}

/** Commands contain spaces; values do not. */
function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^` ]+)`/g)].map(([, name = '']) => name);
}

function parentsOf(path: string): string[] {
  const parts = path.split('.');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'));
}

test("each value of cert-manager's chart has a row, of its own or of an object that contains it", () => {
  expect(theirs.size).toBeGreaterThan(100);
  const named = new Set(rows.flatMap(row => row.theirs));
  const objects = new Set([...theirs].flatMap(parentsOf));
  const isCompared = (path: string) => [path, ...parentsOf(path)].some(each => named.has(each));
  expect([...theirs].filter(path => !objects.has(path) && !isCompared(path))).toEqual([]);
});

test('each name in the table is a value of the chart that it stands for', () => {
  const unknown = rows.flatMap(row => [
    ...row.theirs.filter(name => !theirs.has(name)).map(name => `cert-manager: ${name}`),
    ...row.ours.filter(name => !ours.has(name)).map(name => `Nameplate: ${name}`),
  ]);
  expect(unknown).toEqual([]);
});

test('each file and command that the comparison of releases names is in the README of a release', async () => {
  const readme = await readFile(join(root, 'tools/release/RELEASE.md'), 'utf8');
  expect(files.length).toBeGreaterThan(3);
  expect(files.filter(name => !readme.includes(`\`${name}\``))).toEqual([]);
});
