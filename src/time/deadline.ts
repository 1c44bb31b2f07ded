/** Why a `Deadline` aborted, if its time ran out. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
  }
}

/**
 * A signal that aborts when the parent does, or after `ms` with a `DeadlineError`. Disposing of it clears the timer and
 * the listener:
 *
 *     using deadline = new Deadline(5_000, signal);
 *
 * `AbortSignal.any` and `AbortSignal.timeout` would do the same, but a parent that lives as long as the process keeps
 * every signal that they derive from it until the garbage collector has scanned everything.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #parent: AbortSignal | undefined;
  readonly #onParentAbort = (): void => this.#controller.abort(this.#parent?.reason);

  constructor(ms: number, parent?: AbortSignal) {
    this.#parent = parent;
    this.#timer = setTimeout(() => this.#controller.abort(new DeadlineError(ms)), ms);
    if (parent?.aborted) this.#onParentAbort();
    else parent?.addEventListener('abort', this.#onParentAbort, {once: true});
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent?.removeEventListener('abort', this.#onParentAbort);
  }
}

/** Runs the work with the signal of a `Deadline`, which is disposed of when the work ends. */
export async function withDeadline<T>(
  ms: number,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using deadline = new Deadline(ms, parent);
  return await work(deadline.signal);
}

/**
 * Stops waiting for the work when the signal aborts. The work may continue: an exec plugin that hangs, a request that
 * waits for a connection.
 */
export async function abortable<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  const {promise: aborted, reject} = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, {once: true});
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
