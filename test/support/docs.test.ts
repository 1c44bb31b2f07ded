/** What the documents refer to is there: files, sections, and the tests that the threat model quotes. */
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {expect, test} from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/dns.md',
  'docs/rbac.md',
  'docs/threat-model.md',
];

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** As the places that show Markdown make them. */
function anchorsOf(document: string): string[] {
  const headings = [...document.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return headings.map(heading => heading.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
}

test.each(DOCUMENTS)('every link of %s leads somewhere', path => {
  const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const broken = links.filter(link => {
    const [file = '', anchor] = link.split('#');
    if (file.startsWith('https://')) return false;
    const target = file === '' ? path : join(dirname(path), file);
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
  });
  expect(broken).toEqual([]);
});

const threats = read('docs/threat-model.md').replace(/\n +/g, ' ');

test('every file that the threat model names exists', () => {
  const paths = [...threats.matchAll(/`((?:src|test|tools|charts|crds)\/[^`]+)`/g)].map(([, path = '']) => path);
  expect(paths.filter(path => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(paths.length).toBeGreaterThan(30);
});

test('every test that the threat model quotes is in the file that it names before', () => {
  const quoted = threats.split(/`((?:src|test|tools)\/[^`]+\.ts)`/).flatMap((text, index, parts) => {
    const path = index % 2 === 0 ? parts[index - 1] : undefined;
    if (path === undefined) return [];
    const [before = ''] = text.split('\n');
    return [...before.matchAll(/\*([^*]+)\*/g)].map(([, name = '']) => ({path, name}));
  });
  const plain = (code: string) => code.replaceAll("\\'", "'");
  expect(quoted.filter(({path, name}) => !plain(read(path)).includes(name))).toEqual([]);
  expect(quoted.length).toBeGreaterThan(25);
});
