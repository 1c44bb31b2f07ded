/** Builds the JSON schemas of configuration files. */
export type Schema = Readonly<Record<string, unknown>>;

/** Keys and list indexes from the root of the configuration. */
export type ConfigPath = readonly (string | number)[];

/** One thing to fix, as a sentence whose subject is the path. */
export interface ConfigProblem {
  readonly path: ConfigPath;
  readonly message: string;
}

export const DAY_SECONDS = 86_400;

/** An object that rejects unknown keys. */
export function object(
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
) {
  return {type: 'object', description, additionalProperties: false, properties, required};
}

/** An object that, if absent, consists of the defaults of its properties. */
export function section(
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
) {
  return {...object(description, properties, required), default: {}};
}

export function choice(values: readonly string[], byDefault: string, description: string) {
  return {type: 'string', enum: values, default: byDefault, description};
}

type Range = readonly [minimum: number, maximum: number];

export function integer(byDefault: number, [minimum, maximum]: Range, description: string) {
  return {type: 'integer', minimum, maximum, default: byDefault, description};
}

/** The options of heap snapshots and CPU profiles, which every program has. */
export const diagnostics = section(
  'Heap snapshots (SIGUSR2) and CPU profiles (SIGHUP). They contain keys and Secrets.',
  {
    folder: {
      type: 'string',
      minLength: 1,
      title: 'the path of a folder',
      description: 'Folder to write them to. It must exist. If it is missing, the signals are not handled.',
    },
    cpuSeconds: integer(10, [1, 300], 'The length of a CPU profile, in seconds.'),
  },
);
