/** Reads a program's command line. */
import {type ParseArgsConfig, parseArgs} from 'node:util';
import {ConfigError} from './load-config.ts';

/** As `parseArgs`, but throws a ConfigError that ends in the usage. */
export function readCommandLine<T extends ParseArgsConfig>(config: T, usage: string): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (cause) {
    throw new ConfigError('the command line', [(cause as Error).message, usage], {cause});
  }
}
