/** Checks the documents: links work, the files and tests that they name exist, and lists are complete. */
import {existsSync, globSync, readFileSync} from 'node:fs';
import {dirname, join, normalize} from 'node:path';
import {describe, expect, test} from 'vitest';
import {DOMAIN_REASONS} from '../../src/operator/domain/reasons.ts';

const ROOT = join(import.meta.dirname, '../..');
const IGNORED = /(^|\/)(node_modules|dist|coverage|\.git)(\/|$)/;
const DOCUMENTS = globSync('**/*.md', {cwd: ROOT, exclude: path => IGNORED.test(path)})
  .concat(globSync('.github/**/*.md', {cwd: ROOT}))
  .sort();
/** The pages that a reader should finish. */
const LONGEST = {
  'README.md': 150,
  'docs/threat-model.md': 300,
  'docs/benchmarks.md': 200,
  'docs/design.md': 200,
  'docs/operations.md': 250,
};
/** Paths and words that mean nothing to a reader of the repository. */
const OUTSIDE = /(?<![\w.~-])\/(work|home|root|Users|mnt|srv)\/[\w.-]+|\b[Tt]he brief\b|\bDESIGN\b/g;

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function withoutCode(document: string): string {
  return document.replace(/^```.*?^```$/gms, '');
}

/** Anchors as Markdown viewers create them. */
function anchorsOf(document: string): string[] {
  const headings = [...withoutCode(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return headings.map(heading => heading.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
}

/** The relative links of a document, as paths from the root, and their anchors. */
function linksOf(
  path: string,
): {readonly link: string; readonly target: string; readonly anchor: string | undefined}[] {
  const links = [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links
    .filter(link => !/^(https|mailto):/.test(link))
    .map(link => {
      const [file = '', anchor] = link.split('#');
      return {link, target: file === '' ? path : normalize(join(dirname(path), file)), anchor};
    });
}

test.each(Object.entries(LONGEST))('%s has at most %d lines', (path, lines) => {
  expect(read(path).split('\n').length - 1).toBeLessThanOrEqual(lines);
});

describe.each(DOCUMENTS)('%s', path => {
  test('every link points to something in the repository', () => {
    const broken = linksOf(path).filter(({target, anchor}) => {
      if (target.startsWith('..') || !existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
    });
    expect(broken.map(({link}) => link)).toEqual([]);
  });

  test('every file that it names exists', () => {
    expect(pathsIn(path).filter(named => !placesOf(path, named).some(existsSync))).toEqual([]);
  });

  test('names nothing outside of the repository', () => {
    expect(read(path).match(OUTSIDE) ?? []).toEqual([]);
  });
});

test('code, charts, and CRDs name nothing outside of the repository, and their comments fit into a line', () => {
  const files = globSync('{src,test,bench,tools,charts,crds,examples}/**/*.{ts,yaml,tpl,txt}', {cwd: ROOT}).filter(
    path => !IGNORED.test(path) && !path.includes('generated') && path !== 'test/support/docs.test.ts',
  );
  const found = files.flatMap(path => (read(path).match(OUTSIDE) ?? []).map(text => `${path}: ${text}`));
  expect(found).toEqual(['tools/release/runtime.ts: /home/nonroot']); // in the base image
  const wide = files.filter(path => path.startsWith('src/') && /^ *(?:\/\/|\*|\/\*\*) .{119,}/m.test(read(path)));
  expect(wide).toEqual([]);
});

/**
 * Paths in code style, relative to the repository or to the document. The changelog may name deleted ones, and no clean
 * checkout has the output of builds.
 */
function pathsIn(path: string): string[] {
  if (path === 'CHANGELOG.md') return [];
  const named = [...withoutCode(read(path)).matchAll(/`([\w.-]+(?:\/[\w.-]+)+)\/?`/g)].map(([, name = '']) => name);
  const checked = named.filter(name => !IGNORED.test(name));
  return checked.filter(name => placesOf(path, name.split('/')[0] ?? '').some(existsSync));
}

function placesOf(path: string, named: string): string[] {
  return [join(ROOT, named), join(ROOT, dirname(path), named)];
}

test('docs/README.md links to every document', () => {
  const seen = new Set<string>();
  const next = ['docs/README.md'];
  for (let path = next.pop(); path !== undefined; path = next.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    next.push(...linksOf(path).flatMap(({target}) => (target.endsWith('.md') ? [target] : [])));
  }
  expect(DOCUMENTS.filter(path => !path.startsWith('.github/') && !seen.has(path))).toEqual([]);
});

test('commands name the files of the current release', () => {
  const {version} = JSON.parse(read('package.json')) as {version: string};
  const files = DOCUMENTS.flatMap(
    path => read(path).match(/\bnameplate(?:-cli|-runtime)?-\d[\w.-]*\.(?:tgz|oci\.tar)/g) ?? [],
  );
  expect(files.filter(name => !name.includes(`-${version}.`))).toEqual([]);
  expect(files.length).toBeGreaterThan(3);
});

/** The first column of a section's table, if it is in code style. */
function firstColumn(document: string, heading: string): string[] {
  const [section = ''] = document.slice(document.indexOf(`\n## ${heading}\n`) + 1).split('\n## ', 1);
  return [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = '']) => name);
}

test('src/operator/README.md lists the controllers', () => {
  const code = globSync('src/operator/**/*.ts', {cwd: ROOT}).map(read).join();
  const names = [...code.matchAll(/\.controller\(\{\s*name: '([\w-]+)'/g)].map(([, name = '']) => name);
  expect(firstColumn(read('src/operator/README.md'), 'Controllers').sort()).toEqual(names.sort());
});

describe('docs/design.md', () => {
  const design = read('docs/design.md');

  test('lists the steps of the reconcile in their order', () => {
    const code = read('src/operator/domain/reconcile.ts');
    const steps = firstColumn(design, 'The reconcile of a Domain');
    const [, listed = ''] = /steps: ([^.]*)\./.exec(code.replaceAll('\n * ', ' ')) ?? [];
    expect(listed.split(/, (?:and )?/)).toEqual(steps);
    const calls = steps.map(step => code.lastIndexOf(`${step}(`));
    expect(calls).toEqual(calls.toSorted((a, b) => a - b));
    expect(calls).not.toContain(-1);
  });

  test('names the step that decides each condition', () => {
    const [, steps = ''] = design.split('\n| step | condition |');
    expect(Object.keys(DOMAIN_REASONS).filter(condition => !steps.includes(`| \`${condition}\` |`))).toEqual([]);
  });
});

test('docs/operations.md lists the metrics of Nameplate', () => {
  const sources = globSync('src/**/*.ts', {cwd: ROOT}).filter(path => !path.endsWith('.test.ts'));
  const inCode = sources.flatMap(path => read(path).match(/(?<=')nameplate_\w+(?=')/g) ?? []);
  const inDocs = read('docs/operations.md').match(/(?<=`)nameplate_\w+(?=`)/g) ?? [];
  expect([...new Set(inDocs)].sort()).toEqual([...new Set(inCode)].sort());
});

interface ValuesSchema {
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
}

test('every value of the chart that a document names exists', () => {
  const schema = JSON.parse(read('charts/nameplate/values.schema.json')) as ValuesSchema;
  // The chart makes it of `platformKey`; the others are files.
  const others = /^config\.platform\.keyFile$|\.(?:ts|yaml|db)$/;
  const lacks = (name: string) => {
    let section: ValuesSchema | undefined = schema;
    for (const part of name.split('.')) {
      if (section === undefined) return true;
      if (section.properties === undefined) return false; // whatever the user writes
      section = section.properties[part];
    }
    return section === undefined;
  };
  const names = DOCUMENTS.filter(path => !/CHANGELOG|decisions/.test(path)).flatMap(path => [
    ...read(path).matchAll(/`(?<name>[a-zA-Z]+(?:\.[a-zA-Z]+)+)(?:=[^`]*)?`/g),
  ]);
  const ofChart = names
    .map(({groups}) => groups?.name ?? '')
    .filter(name => schema.properties?.[name.split('.')[0] ?? '']?.properties);
  expect(ofChart.length).toBeGreaterThan(100);
  expect([...new Set(ofChart.filter(lacks))].filter(name => !others.test(name))).toEqual([]);
});

test('the code of each attack in docs/threat-model.md exists', () => {
  const rows = read('docs/threat-model.md').match(/^\| `[\w-]+` \|.*$/gm) ?? [];
  const paths = rows.map(row =>
    [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
  const folders = ['src', 'charts/nameplate/templates', '.'];
  expect(paths.flat().filter(path => !folders.some(folder => existsSync(join(ROOT, folder, path))))).toEqual([]);
  expect(paths.every(ofAttack => ofAttack.length > 0)).toBe(true);
  expect(rows.length).toBeGreaterThan(30);
});
