/** Turns SIGTERM and SIGINT into one AbortSignal, and makes sure that the process ends. */
import type {Logger} from 'pino';

export interface ShutdownOptions {
  readonly logger: Logger;
  /** Once the shutdown has begun, the process has this long to end by itself; then it exits with code 1. */
  readonly deadlineMs: number;
  /** `node:process` unless given. */
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
  /** Begins the shutdown from inside, for example because the lease was lost. Only the first reason counts. */
  begin(reason: string): void;
  /** The work has ended: the deadline and the signal handlers are taken away. */
  finished(): void;
}

/** The first signal begins the shutdown, the second ends the process at once with 128 + its number, as a shell would say. */
export function handleShutdown({logger, deadlineMs, process: target = process}: ShutdownOptions): Shutdown {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;

  function begin(reason: string): void {
    if (controller.signal.aborted) return;
    logger.info({reason, deadlineMs}, 'shutting down');
    deadline = setTimeout(() => {
      logger.error({reason, deadlineMs}, 'not ended in time, exiting');
      target.exit(1);
    }, deadlineMs);
    // What is left to do keeps the process alive, not the deadline.
    deadline.unref();
    controller.abort(new Error(`shutting down: ${reason}`));
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (!controller.signal.aborted) {
      begin(signal);
      return;
    }
    logger.warn({signal}, 'second signal, exiting at once');
    target.exit(signal === 'SIGINT' ? 130 : 143);
  }

  function finished(): void {
    clearTimeout(deadline);
    target.off('SIGTERM', onSignal);
    target.off('SIGINT', onSignal);
  }

  target.on('SIGTERM', onSignal);
  target.on('SIGINT', onSignal);
  return {signal: controller.signal, begin, finished};
}
