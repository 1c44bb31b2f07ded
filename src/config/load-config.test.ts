import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {type ConfigDefinition, ConfigError, loadConfig, parseConfig} from './load-config.ts';

interface Example {
  readonly name: string;
  readonly retry: {readonly times: number; readonly on: readonly string[]};
  readonly verbose: boolean;
}

const definition: ConfigDefinition<Example> = {
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: {type: 'string', title: 'a lower-case word', pattern: '^[a-z]+$', examples: ['shop']},
      verbose: {type: 'boolean', default: false},
      level: {type: 'string', enum: ['low', 'high'], default: 'low'},
      retry: {
        type: 'object',
        additionalProperties: false,
        default: {},
        properties: {
          times: {type: 'integer', minimum: 0, maximum: 9, default: 3},
          on: {type: 'array', items: {type: 'string', title: 'a word', pattern: '^[a-z]+$'}, default: []},
        },
      },
      plans: {
        type: 'object',
        minProperties: 1,
        default: {free: {}},
        propertyNames: {title: 'a short word', pattern: '^[a-z]{1,5}$', examples: ['pro']},
        additionalProperties: {type: 'object'},
      },
    },
  },
  check: ({retry}) => (retry.times === 7 ? [{path: ['retry', 'times'], message: 'is 7; allowed: not 7'}] : []),
};

function problems(text: string): readonly string[] {
  try {
    parseConfig(text, 'example.yaml', definition);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('a good file', () => {
  test('has every default filled in, also in sections that it leaves out', () => {
    expect(parseConfig('name: shop\nverbose: true', 'example.yaml', definition)).toEqual({
      name: 'shop',
      verbose: true,
      level: 'low',
      retry: {times: 3, on: []},
      plans: {free: {}},
    });
  });

  test('may use anchors', () => {
    expect(parseConfig('name: &n shop\nretry: {on: [*n]}', 'example.yaml', definition).retry.on).toEqual(['shop']);
  });
});

describe('a bad file is reported by line, path, what was found, and what is allowed', () => {
  const rows: readonly {readonly name: string; readonly text: string; readonly want: readonly string[]}[] = [
    {
      name: 'empty',
      text: '',
      want: ['line 1, column 1: name is missing; needed: a lower-case word, such as shop'],
    },
    {
      name: 'not a mapping',
      text: '- name',
      want: ['line 1, column 1: the file is a list; allowed: a mapping of name, verbose, level, retry, plans'],
    },
    {
      name: 'no YAML',
      text: 'name: shop\nretry: {times: 1',
      want: ['line 2, column 17: Flow map in block collection must be sufficiently indented and end with a }'],
    },
    {
      name: 'a key twice',
      text: 'name: shop\nname: market',
      want: ['line 2, column 1: Map keys must be unique'],
    },
    {
      name: 'wrong type, nested',
      text: 'name: shop\nretry:\n  times: often\n',
      want: ['line 3, column 3: retry.times is "often"; allowed: a whole number from 0 to 9'],
    },
    {
      name: 'out of range',
      text: 'name: shop\nretry: {times: 10}',
      want: ['line 2, column 9: retry.times is 10; allowed: a whole number from 0 to 9'],
    },
    {
      name: 'words that other YAML versions take for booleans',
      text: 'name: shop\nverbose: yes',
      want: ['line 2, column 1: verbose is "yes"; allowed: true or false'],
    },
    {
      name: 'not in the list of values',
      text: 'name: shop\nlevel: medium',
      want: ['line 2, column 1: level is "medium"; allowed: low, high'],
    },
    {
      name: 'a pattern, with an example',
      text: 'name: Shop 1',
      want: ['line 1, column 1: name is "Shop 1"; allowed: a lower-case word, such as shop'],
    },
    {
      name: 'an item of a list',
      text: 'name: shop\nretry:\n  on:\n  - timeout\n  - 503\n',
      want: ['line 5, column 5: retry.on[1] is 503; allowed: a word'],
    },
    {
      name: 'a section without content',
      text: 'name: shop\nretry:\n',
      want: ['line 2, column 1: retry is empty; allowed: a mapping of times, on'],
    },
    {
      name: 'an unknown key',
      text: 'name: shop\nretry: {backoff: 1}',
      want: ['line 2, column 9: retry.backoff is not an option; allowed here: times, on'],
    },
    {
      name: 'a key of a free mapping',
      text: 'name: shop\nplans:\n  enterprise: {}\n',
      want: ['line 3, column 3: plans.enterprise cannot be a key here; allowed: a short word, such as pro'],
    },
    {
      name: 'an empty free mapping',
      text: 'name: shop\nplans: {}',
      want: ['line 2, column 1: plans is an empty mapping; allowed: a non-empty mapping'],
    },
    {
      name: 'two options that contradict each other',
      text: 'name: shop\nretry: {times: 7}',
      want: ['line 2, column 9: retry.times is 7; allowed: not 7'],
    },
    {
      name: 'several faults, all at once and in the order of the file',
      text: 'verbose: 1\nretry: {times: -1}\ncolour: red\n',
      want: [
        'line 1, column 1: name is missing; needed: a lower-case word, such as shop',
        'line 1, column 1: verbose is 1; allowed: true or false',
        'line 2, column 9: retry.times is -1; allowed: a whole number from 0 to 9',
        'line 3, column 1: colour is not an option; allowed here: name, verbose, level, retry, plans',
      ],
    },
  ];
  test.each(rows)('$name', ({text, want}) => {
    expect(problems(text)).toEqual(want);
  });
});

describe('loadConfig', () => {
  test('reads the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      await writeFile(join(folder, 'example.yaml'), 'name: shop\n');
      await expect(loadConfig(join(folder, 'example.yaml'), definition)).resolves.toMatchObject({name: 'shop'});
    } finally {
      await rm(folder, {recursive: true});
    }
  });

  test('says which file cannot be read', async () => {
    await expect(loadConfig('/nowhere/example.yaml', definition)).rejects.toThrow(
      /^\/nowhere\/example.yaml cannot be used:\n {2}ENOENT/,
    );
  });
});
