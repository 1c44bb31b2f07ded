/**
 * Hedged requests: tries the candidates in order, each as soon as the previous one has failed or `pause` is over, and
 * returns the first result. So a dead server costs a pause instead of a timeout. Undefined if no candidate has a
 * result.
 */
export async function hedged<C, T>(
  candidates: readonly C[],
  attempt: (candidate: C) => Promise<T | undefined>,
  pause: (signal: AbortSignal) => Promise<void>,
): Promise<T | undefined> {
  const attempts: Promise<T>[] = [];
  for (const candidate of candidates) {
    const last = attempt(candidate).then(result => result ?? Promise.reject(new Error('no result')));
    attempts.push(last);
    const cancel = new AbortController();
    const wait = pause(cancel.signal).catch(() => undefined);
    const result = await Promise.race([anyOf(attempts), last.catch(() => undefined), wait]);
    cancel.abort();
    if (result !== undefined) return result as T;
  }
  return anyOf(attempts);
}

function anyOf<T>(attempts: readonly Promise<T>[]): Promise<T | undefined> {
  return Promise.any(attempts).catch(() => undefined);
}
