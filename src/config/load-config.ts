/** Reads a YAML configuration file and reports all its problems together, by line. */
import {readFile} from 'node:fs/promises';
import {Ajv} from 'ajv';
import {type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument} from 'yaml';
import {schemaProblem} from './config-problem.ts';
import type {ConfigPath, ConfigProblem} from './config-schema.ts';

/** The definition of a program's configuration. `T` is the configuration with every default applied. */
export interface ConfigDefinition<T> {
  /** JSON schema, draft 7, with `default` on every option that has one. It must reject unknown keys. */
  readonly schema: object;
  /** By name, the formats of texts that the schema uses. */
  readonly formats?: Readonly<Record<string, (text: string) => boolean>>;
  /** Contradictions between options that the schema finds valid. */
  readonly check?: (config: T) => readonly ConfigProblem[];
}

/** The configuration is not valid. `problems` has one line for each thing to fix; `message` has all of them. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(source: string, problems: readonly string[], options?: ErrorOptions) {
    super(`${source} cannot be used:\n${problems.map(problem => `  ${problem}`).join('\n')}`, options);
    this.problems = problems;
  }
}

/** Reads and parses the file at `path`. Also throws ConfigError if it cannot be read. */
export async function loadConfig<T>(path: string, definition: ConfigDefinition<T>): Promise<T> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(path, [cause instanceof Error ? cause.message : String(cause)], {cause});
  });
  return parseConfig(text, path, definition);
}

/** Parses configuration text; errors call it `source`. Throws ConfigError. */
export function parseConfig<T>(text: string, source: string, definition: ConfigDefinition<T>): T {
  const lines = new LineCounter();
  const document = parseDocument(text, {lineCounter: lines, prettyErrors: false});
  if (document.errors.length > 0) {
    throw new ConfigError(
      source,
      document.errors.map(error => `${place(lines, error.pos[0])}: ${error.message}`),
    );
  }
  const config: unknown = document.toJS() ?? {};
  const problems = findProblems(config, definition)
    .map(problem => ({...problem, offset: offsetOf(document, problem.path)}))
    .sort((a, b) => a.offset - b.offset)
    .map(({path, message, offset}) => `${place(lines, offset)}: ${formatPath(path)} ${message}`);
  if (problems.length === 0) return config as T;
  throw new ConfigError(source, [...new Set(problems)]);
}

/** Fills the defaults into `config`, then returns what is wrong with it. */
function findProblems<T>(
  config: unknown,
  {schema, formats = {}, check}: ConfigDefinition<T>,
): readonly ConfigProblem[] {
  const validate = new Ajv({allErrors: true, useDefaults: true, verbose: true, formats}).compile<T>(schema);
  if (validate(config)) return check?.(config) ?? [];
  return (validate.errors ?? []).map(schemaProblem).filter(problem => problem !== undefined);
}

function place(lines: LineCounter, offset: number): string {
  const {line, col} = lines.linePos(offset);
  return `line ${line}, column ${col}`;
}

/** The position of the key (or list item) at `path`, or of its nearest existing parent. */
function offsetOf(document: Document, path: ConfigPath): number {
  let offset = 0;
  let node: unknown = document.contents;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      node = item;
      offset = startOf(item) ?? offset;
    } else if (isMap(node)) {
      const pair = node.items.find(({key}) => isScalar(key) && String(key.value) === String(step));
      node = pair?.value;
      offset = startOf(pair?.key) ?? offset;
    }
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function formatPath(path: ConfigPath): string {
  if (path.length === 0) return 'the file';
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}
