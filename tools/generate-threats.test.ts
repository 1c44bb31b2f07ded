import {describe, expect, test} from 'vitest';
import {generate, pageOf, problemsOf, proofsIn, subjectsOf} from './generate-threats.ts';

const MODEL = [
  '1. **No bypass** (`no-bypass`) through any resource.',
  '| id | attack | rule | where |',
  '|---|---|---|---|',
  '| `foreign-route` | An Ingress for `victim.example` | Only the operator writes them. | `a.ts` |',
].join('\n');
const SUBJECTS = subjectsOf(MODEL);
const FOREIGN_ROUTE = '// attack: foreign-route';
const NO_BYPASS = '// promise: no-bypass';

test('in this repository, each promise and attack has a test, and each comment names one', () => {
  expect(generate()).toContain('### foreign-route\n');
});

test('reads the promises and attacks of the threat model', () => {
  expect(SUBJECTS).toEqual([
    {kind: 'promise', id: 'no-bypass', title: 'No bypass'},
    {kind: 'attack', id: 'foreign-route', title: 'An Ingress for `victim.example`'},
  ]);
});

describe('the title is that of', () => {
  test.each<[string, string[], string]>([
    ['a test', ["test('it\\'s refused', () => {"], "it's refused"],
    ['a test whose title is on the next line', ['it(', "  'is refused',"], 'is refused'],
    ['a test for each of some rows', ['test.each([', "  ['a row'],", "])('%s is refused', row => {"], '%s is refused'],
    ['a test for each of a list', ["test.each(['a', 'b'])('%s is refused', row => {"], '%s is refused'],
    ['a test for each, with the title on the next line', ['test.each(ROWS)(', "  '%s is refused',"], '%s is refused'],
    ['a row', ["{attack: 'an Ingress', object},"], 'an Ingress'],
    ['a row of several lines', ['{', "  attack: 'an Ingress',", '  object,'], 'an Ingress'],
    ['a test below other comments of this kind', [NO_BYPASS, "test('is refused', () => {"], 'is refused'],
  ])('%s', (_, code, title) => {
    expect(proofsIn('a.test.ts', [FOREIGN_ROUTE, ...code].join('\n'))[0]).toEqual({
      kind: 'attack',
      id: 'foreign-route',
      path: 'a.test.ts',
      title,
    });
  });

  test('a test, after those of the groups around it', () => {
    const lines = [
      "describe('a tenant', () => {",
      "  test('may', () => {});",
      `  ${FOREIGN_ROUTE}`,
      "  test('is refused', f);",
    ];
    expect(proofsIn('a.test.ts', lines.join('\n'))).toMatchObject([{title: 'a tenant: is refused'}]);
  });
});

test('a test may prove several', () => {
  const proofs = proofsIn('a.test.ts', ['// attack: a, b', "test('is refused', f);"].join('\n'));
  expect(proofs.map(({id}) => id)).toEqual(['a', 'b']);
});

describe('a problem', () => {
  const proven = proofsIn('a.test.ts', [FOREIGN_ROUTE, NO_BYPASS, "test('is refused', f);"].join('\n'));

  test.each<[string, Parameters<typeof problemsOf>, string]>([
    ['an attack without a test', [SUBJECTS, proven.slice(1)], 'no test has the comment // attack: foreign-route'],
    ['a promise without a test', [SUBJECTS, proven.slice(0, 1)], 'no test has the comment // promise: no-bypass'],
    [
      'a comment that names no attack',
      [SUBJECTS, [...proven, {kind: 'attack', id: 'no-bypass', path: 'a.test.ts', title: 'is refused'}]],
      'a.test.ts: docs/threat-model.md has no attack no-bypass',
    ],
    [
      'a comment above no test',
      [SUBJECTS, [...proven, ...proofsIn('b.test.ts', FOREIGN_ROUTE)]],
      'b.test.ts: no title follows // attack: foreign-route',
    ],
    [
      'an id that is used twice',
      [[...SUBJECTS, ...SUBJECTS.slice(1)], proven],
      'foreign-route is in docs/threat-model.md twice',
    ],
  ])('is %s', (_, given, problem) => {
    expect(problemsOf(...given)).toEqual([problem]);
    expect(() => pageOf(...given)).toThrow(problem);
  });

  test('is nothing else', () => {
    expect(problemsOf(SUBJECTS, proven)).toEqual([]);
    expect(pageOf(SUBJECTS, proven)).toContain('- [a.test.ts](../a.test.ts)\n  - is refused');
  });
});
