interface Lanes<T> {
  /** Two items of one lane never run at the same time. */
  readonly laneOf: (item: T) => string;
  readonly workers: number;
  /** Called before each item except the first. */
  readonly mayStart: () => boolean;
}

/** Runs the items in order, several at a time, and returns those that were not started. `run` must not reject. */
export async function runInLanes<T>(
  items: readonly T[],
  {laneOf, workers, mayStart}: Lanes<T>,
  run: (item: T) => Promise<void>,
): Promise<T[]> {
  const waiting = [...items];
  const busy = new Set<string>();
  let started = 0;
  const take = (): T | undefined => {
    if (started > 0 && !mayStart()) return undefined;
    const next = waiting.findIndex(item => !busy.has(laneOf(item)));
    return next < 0 ? undefined : waiting.splice(next, 1)[0];
  };
  const work = async (): Promise<void> => {
    for (let item = take(); item !== undefined; item = take()) {
      started += 1;
      const lane = laneOf(item);
      busy.add(lane);
      await run(item);
      busy.delete(lane);
    }
  };
  await Promise.all(Array.from({length: workers}, work));
  return waiting;
}
