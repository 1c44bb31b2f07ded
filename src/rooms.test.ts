/** A room is a folder. It holds few files, and no two rooms import each other, not even types. */
import {glob, readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {expect, test} from 'vitest';

const MAX_FILES = 14;
/** Of these folders, the rest of src imports only the one file. */
const FRONTS: Readonly<Record<string, string>> = {dns: 'dns/dns.ts'};

interface Import {
  /** A path below src. */
  readonly from: string;
  /** A path below src, or a package. */
  readonly to: string;
}

const files: string[] = [];
for await (const file of glob('**/*.ts', {cwd: import.meta.dirname, exclude: ['**/*.test.ts']})) files.push(file);
const imports = (await Promise.all(files.map(importsOf))).flat();
const rooms = roomsImported();

async function importsOf(from: string): Promise<Import[]> {
  const text = await readFile(join(import.meta.dirname, from), 'utf8');
  const found = text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm);
  return [...found].map(([, named, bare, dynamic]) => {
    const to = named ?? bare ?? dynamic ?? '';
    return {from, to: to.startsWith('.') ? relative('.', join(dirname(from), to)) : to};
  });
}

/** For each room, the other rooms that it imports. */
function roomsImported(): ReadonlyMap<string, ReadonlySet<string>> {
  const imported = new Map(files.map(file => [dirname(file), new Set<string>()]));
  for (const {from, to} of imports) {
    if (to.endsWith('.ts') && dirname(from) !== dirname(to)) imported.get(dirname(from))?.add(dirname(to));
  }
  return imported;
}

/** The rooms that a room imports, directly or by way of others. */
function reachableFrom(room: string): Set<string> {
  const reached = new Set(rooms.get(room));
  for (const next of reached) for (const further of rooms.get(next) ?? []) reached.add(further);
  return reached;
}

test('no two rooms import each other, directly or by way of others', () => {
  expect(imports.length).toBeGreaterThan(500);
  const reachable = new Map([...rooms.keys()].map(room => [room, reachableFrom(room)]));
  const circleOf = (room: string) => [...(reachable.get(room) ?? [])].filter(other => reachable.get(other)?.has(room));
  const circles = [...rooms.keys()].map(room => circleOf(room).sort().join(', ')).filter(circle => circle !== '');
  expect([...new Set(circles)]).toEqual([]);
});

test(`no room has more than ${MAX_FILES} files`, () => {
  const sizes = Object.entries(Object.groupBy(files, file => dirname(file)));
  const large = sizes.filter(([, all = []]) => all.length > MAX_FILES).map(([room]) => room);
  expect(large).toEqual([]);
});

test.each(Object.entries(FRONTS))(
  'of %s, the rest of src imports only %s, which no room behind it imports',
  (house, front) => {
    const isInside = (file: string) => file.startsWith(`${house}/`);
    expect(imports.filter(({from, to}) => !isInside(from) && isInside(to) && to !== front)).toEqual([]);
    expect(imports.filter(({from, to}) => isInside(from) && to === front)).toEqual([]);
  },
);

test('base imports only Node and itself', () => {
  const isForeign = ({to}: Import) => !to.startsWith('node:') && !to.startsWith('base/');
  expect(imports.filter(({from}) => from.startsWith('base/')).filter(isForeign)).toEqual([]);
});
