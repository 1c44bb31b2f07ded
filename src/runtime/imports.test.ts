/**
 * The imports that are allowed, so that this folder could be a separate package. The linter checks the same for whole
 * folders.
 */
import {glob, readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {expect, test} from 'vitest';

const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@kubernetes/client-node': ['kube/kubeconfig.ts'],
  undici: ['kube/transport.ts'],
};
const EVERYWHERE: ReadonlySet<string> = new Set(['pino', 'prom-client']);

interface Import {
  readonly from: string;
  /** A package, or a path below this folder. */
  readonly to: string;
}

const imports: Import[] = [];
for await (const from of glob('**/*.ts', {cwd: import.meta.dirname, exclude: ['**/*.test.ts']})) {
  const text = await readFile(join(import.meta.dirname, from), 'utf8');
  for (const [, to = ''] of text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'/gm)) {
    if (to.startsWith('node:')) continue;
    imports.push({
      from,
      to: to.startsWith('.') ? relative(import.meta.dirname, join(import.meta.dirname, dirname(from), to)) : to,
    });
  }
}

test('nothing here imports the rest of this repository, except ../base', () => {
  expect(imports.length).toBeGreaterThan(50);
  expect(imports.filter(({to}) => to.startsWith('..') && !to.startsWith('../base/'))).toEqual([]);
});

test.each([
  ['kube', 'cache'],
  ['kube', 'controller'],
  ['cache', 'controller'],
  ['cache', 'apply'],
  ['kube', 'apply'],
  ['apply', 'controller'],
])('%s/ knows nothing of %s/', (lower, upper) => {
  expect(imports.filter(({from, to}) => from.startsWith(`${lower}/`) && to.startsWith(`${upper}/`))).toEqual([]);
});

test('packages are imported where they belong', () => {
  const isPackage = ({to}: Import) => !to.endsWith('.ts');
  const isAllowed = ({from, to}: Import) => EVERYWHERE.has(to) || PACKAGES[to]?.includes(from);
  expect(imports.filter(isPackage).filter(entry => !isAllowed(entry))).toEqual([]);
});
