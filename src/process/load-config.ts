/** Reads a YAML configuration file and says everything that is wrong with it, at once and by line. */

/** What a program's configuration must look like. `T` is the configuration with every default applied. */
export interface ConfigDefinition<T> {
  /** JSON schema, draft 7, with `default` on every option that has one; unknown keys must be refused by it. */
  readonly schema: object;
  /** Contradictions between options that the schema finds valid. */
  readonly check?: (config: T) => readonly {readonly path: readonly (string | number)[]; readonly message: string}[];
}

/** The configuration cannot be used. `problems` has one line for each thing to mend; `message` has them all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(source: string, problems: readonly string[], options?: ErrorOptions) {
    super(`${source} cannot be used:\n${problems.map(problem => `  ${problem}`).join('\n')}`, options);
    this.problems = problems;
  }
}

/** Reads and parses the file at `path`. Throws ConfigError also when it cannot be read. */
export async function loadConfig<T>(_path: string, _definition: ConfigDefinition<T>): Promise<T> {
  throw new Error('not yet written');
}

/** Parses configuration text; `source` is how errors call it. Throws ConfigError. */
export function parseConfig<T>(_text: string, _source: string, _definition: ConfigDefinition<T>): T {
  throw new Error('not yet written');
}
