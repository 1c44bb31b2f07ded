/**
 * Lists the tests of each promise and each attack in docs/threat-model.md.
 *
 *     node tools/generate-threats.ts           writes docs/threat-model-tests.md
 *     node tools/generate-threats.ts --check   exits 1 if that file differs
 *
 * A comment directly above a test, or above a row of a table of tests, names what it proves:
 *
 *     // attack: foreign-route
 *     // promise: dns-owner
 *
 * Both fail if a promise or an attack has no test, or if a comment names none.
 */
import {globSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const PAGE = 'docs/threat-model-tests.md';
const THREAT_MODEL = 'docs/threat-model.md';
const TESTS = '{src,test,tools}/**/*.{test,suite,rows,soak}.ts';
const TAG = /^ *\/\/ (attack|promise): (.+)$/;

/** Something that tests prove: a promise or an attack of the threat model. */
interface Subject {
  readonly kind: 'attack' | 'promise';
  readonly id: string;
  readonly title: string;
}

interface Proof {
  readonly kind: string;
  readonly id: string;
  readonly path: string;
  /** Of the test, after those of the `describe`s around it; undefined if there is none. */
  readonly title: string | undefined;
}

/** Promises are items such as `1. **No bypass** (`no-bypass`)`, attacks rows whose first column is such an id. */
export function subjectsOf(threatModel: string): Subject[] {
  const promises = threatModel.matchAll(/^\d+\. \*\*(?<title>[^*]+)\*\* \(`(?<id>[\w-]+)`\)/gm);
  const attacks = threatModel.matchAll(/^\| `(?<id>[\w-]+)` \| (?<title>[^|]+) \|/gm);
  const read = (kind: Subject['kind']) => (match: RegExpExecArray) => {
    const {id = '', title = ''} = match.groups ?? {};
    return {kind, id, title};
  };
  return [...[...promises].map(read('promise')), ...[...attacks].map(read('attack'))];
}

export function proofsIn(path: string, code: string): Proof[] {
  const lines = code.split('\n');
  return lines.flatMap((line, index) => {
    const [, kind, ids] = TAG.exec(line) ?? [];
    if (kind === undefined || ids === undefined) return [];
    const title = titleBelow(lines, index);
    return ids.split(', ').map(id => ({kind, id, path, title}));
  });
}

function titleBelow(lines: readonly string[], tag: number): string | undefined {
  const first = lines.findIndex((line, index) => index > tag && !TAG.test(line));
  const own = literalIn(headOf(lines, first));
  if (own === undefined) return undefined;
  let indent = indentOf(lines[first] ?? '');
  const titles = [own];
  for (let index = tag - 1; index >= 0 && indent > 0; index--) {
    const line = lines[index] ?? '';
    if (line === '' || indentOf(line) >= indent) continue;
    indent = indentOf(line);
    const around = /^ *describe\b/.test(line) ? literalIn(headOf(lines, index)) : undefined;
    if (around !== undefined) titles.unshift(around);
  }
  return titles.join(': ');
}

/** The lines that contain the title. That of `test.each([…])('…'` follows its rows, at the indent of the test. */
function headOf(lines: readonly string[], first: number): string {
  const line = lines[first] ?? '';
  const twoLines = (index: number) => lines.slice(index, index + 2).join('\n');
  if (!/^ *(?:test|it|describe)(?:\.\w+)*\.each\b/.test(line)) return twoLines(first);
  const same = line.indexOf(')(');
  if (same !== -1) return twoLines(first).slice(same);
  const end = lines.findIndex(
    (other, index) => index > first && indentOf(other) === indentOf(line) && /^ *[\])}]+\(/.test(other),
  );
  return end === -1 ? '' : twoLines(end);
}

function literalIn(code: string): string | undefined {
  const [, quote, text] = /(['"`])((?:\\.|(?!\1).)*)\1/.exec(code) ?? [];
  return text?.replaceAll(`\\${quote}`, quote ?? '');
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

export function problemsOf(subjects: readonly Subject[], proofs: readonly Proof[]): string[] {
  const isOf = (proof: Proof) => (subject: Subject) => proof.kind === subject.kind && proof.id === subject.id;
  return [
    ...subjects
      .filter((subject, index) => subjects.findIndex(({id}) => id === subject.id) < index)
      .map(({id}) => `${id} is in ${THREAT_MODEL} twice`),
    ...subjects
      .filter(subject => !proofs.some(proof => isOf(proof)(subject)))
      .map(({kind, id}) => `no test has the comment // ${kind}: ${id}`),
    ...proofs
      .filter(proof => !subjects.some(isOf(proof)))
      .map(({kind, id, path}) => `${path}: ${THREAT_MODEL} has no ${kind} ${id}`),
    ...proofs
      .filter(({title}) => title === undefined)
      .map(({kind, id, path}) => `${path}: no title follows // ${kind}: ${id}`),
  ];
}

/** Throws if `problemsOf` finds any. */
export function pageOf(subjects: readonly Subject[], proofs: readonly Proof[]): string {
  const problems = problemsOf(subjects, proofs);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const sections = (kind: Subject['kind']) =>
    subjects.filter(subject => subject.kind === kind).map(subject => sectionOf(subject, proofs));
  return `${[
    '# Tests of the threat model',
    '<!-- Generated by tools/generate-threats.ts from comments in the tests. Do not edit. -->',
    'Each section lists the tests of one promise or attack of the [threat model](threat-model.md).',
    '## Promises',
    ...sections('promise'),
    '## Attacks',
    ...sections('attack'),
  ].join('\n\n')}\n`;
}

function sectionOf({kind, id, title}: Subject, proofs: readonly Proof[]): string {
  const own = proofs.filter(proof => proof.kind === kind && proof.id === id);
  const files = [...new Set(own.map(({path}) => path))].map(path => {
    const titles = own.filter(proof => proof.path === path).map(proof => `  - ${escaped(proof.title ?? '')}`);
    return [`- [${path}](../${path})`, ...titles].join('\n');
  });
  return [`### ${id}`, title, files.join('\n')].join('\n\n');
}

function escaped(title: string): string {
  return title.replace(/[*_<>`|[\]\\]/g, '\\$&');
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The page, from the tests of the repository. */
export function generate(): string {
  const files = globSync(TESTS, {cwd: ROOT}).sort();
  return pageOf(
    subjectsOf(read(THREAT_MODEL)),
    files.flatMap(path => proofsIn(path, read(path))),
  );
}

if (import.meta.main) {
  const page = generate();
  if (!process.argv.includes('--check')) writeFileSync(join(ROOT, PAGE), page);
  else if (read(PAGE) !== page) {
    console.error(`${PAGE} is not current: run make generate`);
    process.exitCode = 1;
  }
}
