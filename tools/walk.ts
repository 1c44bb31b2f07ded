/**
 * Counts the files that one must read to follow a host from YAML to Live, and a POST /messages to its answer: those that
 * the entry points import, directly or by way of others, within the rooms concerned. Imports of types do not count.
 *
 *     node tools/walk.ts [--files]
 */
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join, normalize} from 'node:path';

interface Walk {
  readonly name: string;
  readonly from: readonly string[];
  readonly within: readonly string[];
}

const WALKS: readonly Walk[] = [
  {
    name: 'a host from YAML to Live',
    from: ['project/reconcile', 'domain/reconcile', 'certificate/approve', 'issuer/orders', 'issuer/sign'].map(
      file => `src/operator/${file}.ts`,
    ),
    within: ['src/operator/', 'src/schedule/', 'src/probe/'],
  },
  {
    name: 'a POST /messages on SQLite',
    from: ['http/server', 'http/app', 'store/sqlite/sqlite-store', 'store/sqlite/worker'].map(
      file => `src/messages/${file}.ts`,
    ),
    within: ['src/messages/'],
  },
];

const IMPORT = /^(?:import|export) (?!type\b)(?:\{(?<names>[^}]*)\}|[^;'{]*)(?: from )?'(?<path>\.[^']+)'/gm;

function importsOf(file: string, text: string): string[] {
  const found = [...text.matchAll(IMPORT)].map(({groups}) => groups ?? {});
  const isValue = (names: string) => names.split(',').some(name => name.trim() && !name.trim().startsWith('type '));
  return found
    .filter(({names}) => names === undefined || isValue(names))
    .map(({path = ''}) => normalize(join(dirname(file), path)));
}

for (const {name, from, within} of WALKS) {
  const lines = new Map<string, number>();
  const next = [...from];
  for (let file = next.pop(); file !== undefined; file = next.pop()) {
    if (lines.has(file) || !existsSync(file) || !within.some(room => file?.startsWith(room))) continue;
    const text = readFileSync(file, 'utf8');
    lines.set(file, text.split('\n').length - 1);
    next.push(...importsOf(file, text));
  }
  const sum = [...lines.values()].reduce((a, b) => a + b, 0);
  console.log(`${name}: ${lines.size} files, ${sum} lines`);
  if (process.argv.includes('--files')) for (const file of [...lines.keys()].sort()) console.log(`  ${file}`);
}
