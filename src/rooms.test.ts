/**
 * A room is a folder with few files. No two rooms or files import each other, not even types, and no exported name has
 * two meanings.
 */
import {glob, readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {expect, test} from 'vitest';
import {ROOMS} from '../tools/import-rules.ts';

const MAX_FILES = 15;

interface Import {
  /** A path below src. */
  readonly from: string;
  /** A path below src, or a package. */
  readonly to: string;
}

const texts = new Map<string, string>();
for await (const file of glob('*/**/*.ts', {cwd: import.meta.dirname, exclude: ['**/*.test.ts']})) {
  texts.set(file, await readFile(join(import.meta.dirname, file), 'utf8'));
}
const imports = [...texts].flatMap(([from, text]) => importsOf(from, text));

function importsOf(from: string, text: string): Import[] {
  const found = text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm);
  return [...found].map(([, named, bare, dynamic]) => {
    const to = named ?? bare ?? dynamic ?? '';
    return {from, to: to.startsWith('.') ? relative('.', join(dirname(from), to)) : to};
  });
}

const roomOf = (path: string) => (path.endsWith('.ts') ? dirname(path) : path);

/** The rooms that a room may import, directly or through others. */
function reachableFrom(room: string): Set<string> {
  const reached = new Set(ROOMS[room]?.map(roomOf));
  for (const next of reached) for (const path of ROOMS[next] ?? []) reached.add(roomOf(path));
  return reached;
}

test('no two rooms may import each other, directly or by way of others', () => {
  expect(Object.keys(ROOMS).filter(room => reachableFrom(room).has(room))).toEqual([]);
});

test('the linter lets a room import what its files need, and nothing else', () => {
  expect(imports.length).toBeGreaterThan(500);
  const between = imports.filter(({from, to}) => /\.(ts|json)$/.test(to) && dirname(from) !== dirname(to));
  const used = between.map(({from, to}) => {
    const allowed = ROOMS[dirname(from)] ?? [];
    return `${dirname(from)} imports ${allowed.includes(to) ? to : dirname(to)}`;
  });
  const allowed = Object.entries(ROOMS).flatMap(([room, others]) => others.map(other => `${room} imports ${other}`));
  expect(allowed.sort()).toEqual([...new Set(used)].sort());
});

test(`no room has more than ${MAX_FILES} files`, () => {
  const sizes = Object.entries(Object.groupBy(texts.keys(), file => dirname(file)));
  const large = sizes.filter(([, all = []]) => all.length > MAX_FILES).map(([room]) => room);
  expect(large).toEqual([]);
});

test('base imports only Node, the package for metrics, and itself', () => {
  const isForeign = ({to}: Import) => !to.startsWith('node:') && to !== 'prom-client' && !to.startsWith('base/');
  expect(imports.filter(({from}) => from.startsWith('base/')).filter(isForeign)).toEqual([]);
});

test('no file imports itself, directly or by way of others', () => {
  const importedBy = Map.groupBy(imports, ({from}) => from);
  const reachable = (file: string) => {
    const reached = new Set(importedBy.get(file)?.map(({to}) => to));
    for (const next of reached) for (const {to} of importedBy.get(next) ?? []) reached.add(to);
    return reached;
  };
  expect([...importedBy.keys()].filter(file => reachable(file).has(file))).toEqual([]);
});

test('no exported name means two things, except that both engines of the store may export it', () => {
  const files = [...texts].filter(([file]) => !file.startsWith('api/generated/'));
  const exports = files.flatMap(([file, text]) =>
    [...text.matchAll(/^export (?:async |abstract )?(?:interface|type|class|function\*?|const|let) (\w+)/gm)].map(
      ([, name = '']) => ({
        name,
        file: file.replace(/^messages\/store\/(sqlite|postgres)\/.*/, 'messages/store engines'),
      }),
    ),
  );
  const filesOf = Map.groupBy(exports, ({name}) => name);
  const twice = [...filesOf].map(([name, all]) => [name, ...new Set(all.map(({file}) => file))]);
  expect(exports.length).toBeGreaterThan(500);
  expect(twice.filter(([, ...places]) => places.length > 1)).toEqual([]);
});
