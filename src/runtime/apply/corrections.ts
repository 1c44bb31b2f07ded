/**
 * Counts how often the operator has written the same content again. Without a limit, two programs that undo each other's
 * writes would never stop.
 */
import type {Clock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {type DeepReadonly, type KubeObject, keyOf, type ResourceType} from '../kube/object.ts';

interface Written {
  readonly hash: string;
  /** How often it was written again. */
  readonly corrections: number;
  /** When it was last written, on the monotonic clock. */
  readonly atMs: number;
}

/** This many corrections are written without a pause. */
const FREE = 5;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** After this time without a correction, the other program counts as having stopped. */
const CALM_MS = 600_000;
const OBJECTS = 100_000;

/** The id that the methods below expect. */
export function identify({kind}: Pick<ResourceType, 'kind'>, object: DeepReadonly<KubeObject>): string {
  return `${kind}/${keyOf(object)}`;
}

export class Corrections {
  readonly #clock: Clock;
  readonly #written: TtlCache<Written>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#written = new TtlCache(clock, OBJECTS);
  }

  /** How long to wait before this content is written to the object again. */
  pauseMs(object: string, hash: string): number {
    const last = this.#written.get(object);
    return last?.hash === hash ? this.#pauseMs(last) : 0;
  }

  wrote(object: string, hash: string): void {
    const last = this.#written.get(object);
    const corrections = last?.hash === hash ? last.corrections + 1 : 0;
    this.#written.set(object, {hash, corrections, atMs: this.#clock.monotonic()}, CALM_MS);
  }

  /** We delete it ourselves, so creating it again corrects nobody. */
  forget(object: string): void {
    this.#written.delete(object);
  }

  /** For an object that others keep changing or deleting: when to check it again, in milliseconds from now. */
  contestedMs(object: string): number | undefined {
    const last = this.#written.get(object);
    if (last === undefined || last.corrections < FREE) return undefined;
    const pauseMs = this.#pauseMs(last);
    return pauseMs > 0 ? pauseMs : last.atMs + CALM_MS - this.#clock.monotonic();
  }

  #pauseMs({corrections, atMs}: Written): number {
    if (corrections < FREE) return 0;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (corrections - FREE), MAX_PAUSE_MS);
    return Math.max(0, atMs + pauseMs - this.#clock.monotonic());
  }
}
