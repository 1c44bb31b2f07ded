/** Turns SIGTERM and SIGINT into one AbortSignal, and ensures that the process exits. */
import type {Logger} from 'pino';

interface ShutdownOptions {
  readonly logger: Logger;
  /** How long the process may take to exit after the shutdown began. After that, it exits with code 1. */
  readonly deadlineMs: number;
  /** Default: `node:process`. */
  readonly process?: ShutdownProcess;
}

/** The part of `node:process` that is used. */
interface ShutdownProcess {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: (signal: NodeJS.Signals) => void): unknown;
  exit(code: number): void;
}

interface Shutdown {
  /** Aborted by the first SIGTERM or SIGINT, or by `begin`. */
  readonly signal: AbortSignal;
  /** Begins the shutdown from inside, for example because the lease was lost. Only the first reason counts. */
  begin(reason: string): void;
  /** The work has ended: removes the deadline and the signal handlers. */
  finished(): void;
}

/** The first signal begins the shutdown. The second one exits immediately with 128 + its number, as shells do. */
export function handleShutdown({logger, deadlineMs, process: target = process}: ShutdownOptions): Shutdown {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;

  function begin(reason: string): void {
    if (controller.signal.aborted) return;
    logger.info({reason, deadlineMs}, 'Shutting down.');
    deadline = setTimeout(() => {
      logger.error({reason, deadlineMs}, 'The shutdown did not finish in time; exiting.');
      target.exit(1);
    }, deadlineMs);
    // The deadline alone does not keep the process alive.
    deadline.unref();
    controller.abort(new Error(`shutting down: ${reason}`));
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (!controller.signal.aborted) {
      begin(signal);
      return;
    }
    logger.warn({signal}, 'Got a second signal; exiting immediately.');
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
