/** Why a `Deadline` aborted, when it was the time that ran out. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
  }
}

/**
 * A signal that aborts when the parent does, or after `ms` with a `DeadlineError`.
 *
 * `AbortSignal.any` and `AbortSignal.timeout` would do, but a signal made from a parent that lives as long as the
 * process is held by it; this one lets go of timer and listener when disposed:
 *
 *     using deadline = new Deadline(5_000, signal);
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
