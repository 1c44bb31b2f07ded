/** Reads a program's command line. */
import {type ParseArgsConfig, parseArgs} from 'node:util';
import {ConfigError} from '../config/load-config.ts';
import {printableLines} from '../operations/untrusted-text.ts';

/** Like `parseArgs`, but throws a ConfigError that ends in the usage. */
export function readCommandLine<T extends ParseArgsConfig>(config: T, usage: string): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (cause) {
    throw new ConfigError('the command line', [(cause as Error).message, usage], {cause});
  }
}

/** Throws a ConfigError that ends in the usage. 0 means any free port. */
export function portOf(text: string, usage: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new ConfigError('the command line', [`${text} is not a port`, usage]);
}

/** A program that a person runs, and that exits when it is done. */
interface Tool<Command> {
  /** Printed before the colon of each error. */
  readonly name: string;
  readonly usage: string;
  /** Rejects with the problem of the command line. */
  parse(argv: readonly string[]): Command | 'help' | Promise<Command | 'help'>;
  /** Resolves with the exit code. */
  run(command: Command): Promise<number>;
}

/** The exit codes of all tools. A tool itself exits with 1 for its findings. */
const CODES = {done: 0, usage: 2, failed: 3} as const;

/** Resolves with the exit code. Prints the usage if it was requested or is needed, and the error if the tool failed. */
export async function runTool<Command>(tool: Tool<Command>, argv: readonly string[]): Promise<number> {
  const report = (error: unknown, more = '') =>
    process.stderr.write(
      `${tool.name}: ${printableLines(error instanceof Error ? error.message : String(error))}\n${more}`,
    );
  let command: Command | 'help';
  try {
    command = await tool.parse(argv);
  } catch (error) {
    report(error, `\n${tool.usage}`);
    return CODES.usage;
  }
  if (command === 'help') {
    process.stdout.write(tool.usage);
    return CODES.done;
  }
  try {
    return await tool.run(command);
  } catch (error) {
    report(error);
    return CODES.failed;
  }
}
