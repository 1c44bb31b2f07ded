/** Structured logs: one JSON object per line on standard output, with secrets redacted. */
import {type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions} from 'pino';

interface LogOptions {
  /** The lowest level that is written: trace, debug, info, warn, error, fatal, or silent. */
  readonly level: string;
  /** The program's name, in every line as `program`. */
  readonly program: string;
  /** Default: standard output. */
  readonly destination?: DestinationStream;
}

/** Fields that are never written, anywhere in the first three levels of a logged object. */
const secretFields = ['authorization', 'token', 'password', 'privateKey', 'apiKey', 'stringData'];

/** The content of a Secret that is logged as a whole. */
const secretContent = ['data["tls.key"]', 'data["platform.key"]', 'data.key'];

/**
 * Levels are words, times ISO 8601 in UTC, errors (under `err`) with stack and causes. Errors are not redacted, so
 * never put a secret into an error message.
 */
export function createLogger({level, program, destination}: LogOptions): Logger {
  const options = {
    level,
    base: {program},
    timestamp: stdTimeFunctions.isoTime,
    messageKey: 'message',
    formatters: {level: (name: string) => ({level: name})},
    serializers: {err: stdSerializers.errWithCause},
    redact: {paths: [...secretFields, ...secretContent].flatMap(anywhere), censor: '[redacted]'},
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

function anywhere(field: string): readonly string[] {
  return [field, `*.${field}`, `*.*.${field}`];
}
