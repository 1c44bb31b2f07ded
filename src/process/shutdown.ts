/** Turns SIGTERM and SIGINT into one AbortSignal, and makes sure that the process ends. */
import type {Logger} from 'pino';

export interface ShutdownOptions {
  readonly logger: Logger;
  /** After the first signal the process has this long to end by itself; then it exits with code 1. */
  readonly deadlineMs: number;
  /** The process unless given. */
  readonly process?: ShutdownProcess;
}

/** What is used of `node:process`. */
export interface ShutdownProcess {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: (signal: NodeJS.Signals) => void): unknown;
  exit(code: number): void;
}

export interface Shutdown {
  /** Aborted by the first SIGTERM or SIGINT, or by `begin`. */
  readonly signal: AbortSignal;
  /** Begins the shutdown from inside, for example because the lease was lost. */
  begin(reason: string): void;
  /** The work has ended: the deadline and the signal handlers are taken away. */
  finished(): void;
}

export function handleShutdown(_options: ShutdownOptions): Shutdown {
  throw new Error('not yet written');
}
