/**
 * Imports go in one direction. A room is a folder directly in src, and the folders in it are rooms within that room. No
 * two rooms or files import each other, not even types, and no exported name has two meanings.
 */
import {glob, readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {expect, test} from 'vitest';
import ours from '../package.json' with {type: 'json'};
import runtime from './runtime/package.json' with {type: 'json'};

/** For each room, lowest first, the others that it may import, sorted. `..` is the repository's package.json. */
const MAY_IMPORT = {
  api: '',
  config: '',
  time: '',
  fairness: '',
  operations: 'fairness time',
  schedule: 'fairness time',
  probe: 'operations schedule time',
  acme: 'time',
  dns: 'operations schedule time',
  runtime: 'fairness operations time',
  apikey: 'api config runtime time',
  operator: 'acme api apikey config dns fairness operations probe runtime time',
  messages: 'apikey config fairness operations time',
  challenges: 'operations',
  nameserver: 'api dns fairness operations runtime time',
  advice: 'api operator runtime',
  console: 'advice api config dns fairness operations operator runtime time',
  kubectl: 'advice api config operations operator runtime time',
  bin: '.. api apikey challenges config console dns kubectl messages nameserver operations operator runtime time',
};
/** The only files of a room that others may import. */
const FRONTS = {
  dns: ['dns/dns.ts', 'dns/names/wire-names.ts', 'dns/wire/wire-reader.ts'],
  runtime: Object.values(runtime.exports).map(path => join('runtime', path)),
};

interface Import {
  /** A path below src. */
  readonly from: string;
  /** A path relative to src, or a package. */
  readonly to: string;
}

const texts = new Map<string, string>();
for await (const file of glob('*/**/*.ts', {cwd: import.meta.dirname, exclude: ['**/*.test.ts']})) {
  texts.set(file, await readFile(join(import.meta.dirname, file), 'utf8'));
}
const imports = [...texts].flatMap(([from, text]) => importsOf(from, text));
const betweenFiles = imports.filter(({to}) => /\.(ts|json)$/.test(to));
const betweenRooms = betweenFiles.filter(({from, to}) => roomOf(from) !== roomOf(to));

function importsOf(from: string, text: string): Import[] {
  const found = text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm);
  return [...found].map(([, named, bare, dynamic]) => {
    const to = named ?? bare ?? dynamic ?? '';
    return {from, to: to.startsWith('.') ? relative('.', join(dirname(from), to)) : to};
  });
}

function roomOf(path: string): string {
  return path.split('/', 1)[0] ?? '';
}

/** The places that this one imports, directly or by way of others. */
function reachable(leaving: ReadonlyMap<string, readonly Import[]>, place: string): Set<string> {
  const reached = new Set(leaving.get(place)?.map(({to}) => to));
  for (const next of reached) for (const {to} of leaving.get(next) ?? []) reached.add(to);
  return reached;
}

/** The places that import themselves. */
function circular(edges: readonly Import[]): string[] {
  const leaving = Map.groupBy(edges, ({from}) => from);
  return [...leaving.keys()].filter(place => reachable(leaving, place).has(place));
}

test('each room imports the rooms that the table allows, all of them', () => {
  expect(imports.length).toBeGreaterThan(500);
  const rooms = [...new Set([...texts.keys()].map(roomOf))];
  const importedBy = (room: string) => betweenRooms.filter(({from}) => roomOf(from) === room).map(({to}) => roomOf(to));
  const found = rooms.map(room => [room, [...new Set(importedBy(room))].sort().join(' ')]);
  expect(Object.fromEntries(found)).toEqual(MAY_IMPORT);
});

test('no two folders import each other, directly or by way of others', () => {
  const folders = betweenFiles.map(({from, to}) => ({from: dirname(from), to: dirname(to)}));
  expect(circular(folders.filter(({from, to}) => from !== to))).toEqual([]);
});

test('no file imports itself, directly or by way of others', () => {
  expect(circular(betweenFiles)).toEqual([]);
});

test.each(Object.entries(FRONTS))('other rooms import only the front of %s', (room, front) => {
  const crossing = betweenRooms.filter(({to}) => roomOf(to) === room);
  expect(crossing.length).toBeGreaterThan(0);
  expect(crossing.filter(({to}) => !front.includes(to))).toEqual([]);
});

test('only the file that reads kubeconfigs imports @kubernetes/client-node', () => {
  const importing = imports.filter(({to}) => to.startsWith('@kubernetes/client-node'));
  expect(importing.map(({from}) => from)).toEqual(['runtime/kube/kubeconfig.ts']);
});

test('the package of the runtime names the packages that it imports, from the versions on that we test', () => {
  const leaving = Map.groupBy(imports, ({from}) => from);
  const own = [...texts.keys()].filter(file => roomOf(file) === 'runtime');
  const files = new Set([...own, ...own.flatMap(file => [...reachable(leaving, file)])]);
  const packaged = imports.filter(({from, to}) => files.has(from) && !/^node:|\.ts$/.test(to));
  const versions: Readonly<Record<string, string>> = ours.dependencies;
  const ranges = packaged.map(({to}) => [to, `^${versions[to]}`]);
  expect({...runtime.dependencies, ...runtime.peerDependencies}).toEqual(Object.fromEntries(ranges));
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
