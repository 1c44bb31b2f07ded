/**
 * Is every npm package under a licence that the project may use, and pinned by its content? Names what is not.
 *
 *     node tools/check-packages.ts
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

/** Permissive: they ask for no more than to be named. */
const SHIPPED = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
];
/** Of tools, which nobody gets from us. */
const TOOLS = [...SHIPPED, 'CC-BY-3.0', 'MPL-2.0'];

/** What the registry that the lock file was made from does not have: Biome for other machines than ours. */
const UNKNOWN = /^node_modules\/@biomejs\/cli-(android|darwin|win32|linux-\w+-musl)/;

const LOCK_FILES = [
  'package-lock.json',
  'bench/loop/peers/package-lock.json',
  'bench/messages/peers/package-lock.json',
];

/** Of lock file version 3. https://docs.npmjs.com/cli/configuring-npm/package-lock-json */
export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** One line for each. `packages`: by their paths; what needs no name is the project itself. */
export function problemsOf(packages: Readonly<Record<string, LockedPackage>>, isShipped: boolean): string[] {
  const problems: string[] = [];
  for (const [path, {version = '', license = '', integrity = '', dev = false}] of Object.entries(packages)) {
    if (path === '' || (dev && UNKNOWN.test(path))) continue;
    const name = `${path.replace(/^.*node_modules\//, '')} ${version}`;
    const allowed = isShipped && !dev ? SHIPPED : TOOLS;
    if (!isAllowed(license, allowed))
      problems.push(`${name}: licence "${license}" is not one of ${allowed.join(', ')}`);
    if (!integrity.startsWith('sha512-')) problems.push(`${name}: no sha512 of its content`);
  }
  return problems;
}

/** An SPDX expression of names, AND, OR and parentheses: AND binds more strongly, and of a choice one has to do. */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const inner = /\(([^()]*)\)/.exec(expression);
  if (inner) {
    const value = isAllowed(inner[1] ?? '', allowed) ? allowed[0] : 'refused';
    return isAllowed(expression.replace(inner[0], `${value}`), allowed);
  }
  return expression.split(' OR ').some(choice => choice.split(' AND ').every(name => allowed.includes(name.trim())));
}

if (import.meta.main) {
  for (const file of LOCK_FILES) {
    const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
    const {packages} = JSON.parse(text) as {packages: Record<string, LockedPackage>};
    for (const problem of problemsOf(packages, file === 'package-lock.json')) {
      console.error(`${file}: ${problem}`);
      process.exitCode = 1;
    }
  }
}
