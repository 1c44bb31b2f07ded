/**
 * Checks that every npm package has a license that the project may use, and is pinned by its hash. Names those that do
 * not.
 *
 *     node tools/check-packages.ts
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

/** Permissive licenses, which require no more than attribution. */
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
/** Also allowed for tools, which we do not distribute. */
const TOOLS = [...SHIPPED, 'CC-BY-3.0', 'MPL-2.0'];

/** Builds of Biome for other platforms, which the registry behind the lock file does not have. */
const UNKNOWN = /^node_modules\/@biomejs\/cli-(android|darwin|win32|linux-\w+-musl)/;

const LOCK_FILES = [
  'package-lock.json',
  'bench/loop/peers/package-lock.json',
  'bench/messages/peers/package-lock.json',
];

/** An entry of lock file version 3. https://docs.npmjs.com/cli/configuring-npm/package-lock-json */
export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** One line per problem. `packages` is keyed by path; the empty path is the project itself. */
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

/**
 * `expression`: SPDX, with names, AND, OR, and parentheses. AND binds more tightly; one alternative of an OR is enough.
 */
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
