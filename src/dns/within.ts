/**
 * Runs the work with a signal that aborts when the parent does, or after `ms` with a `TimeoutError`. `AbortSignal.any` and
 * `AbortSignal.timeout` would do, but what they make of a parent that lives as long as the process is held by it until
 * the garbage collector has gone over everything; a verdict needs dozens of them.
 */
export async function within<T>(
  ms: number,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const expire = () => controller.abort(new DOMException(`not within ${ms} ms`, 'TimeoutError'));
  const timer = setTimeout(expire, ms);
  const follow = () => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener('abort', follow, {once: true});
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    parent.removeEventListener('abort', follow);
  }
}
