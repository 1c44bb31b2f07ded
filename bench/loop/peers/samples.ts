/**
 * What each peer measures. A peer is a program `PEER KUBECONFIG NAMESPACE OBJECTS` that follows the ConfigMaps of a
 * namespace. Once it has seen that many objects, it prints `{"syncedMs"}`: the time since its client was created. It
 * answers each line of its input with `{"delays", "lastAt"}`: for every write since the last answer, how long after the
 * write (`data.sent`, in milliseconds; see `nowMs`) its reconcile began; and when the last of these reconciles began.
 */
import {createInterface} from 'node:readline';

export interface Synced {
  readonly syncedMs: number;
}

export interface Report {
  readonly delays: readonly number[];
  readonly lastAt: number;
}

export interface Arguments {
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly objects: number;
}

export function readArguments(): Arguments {
  const [kubeconfig = '', namespace = '', objects = ''] = process.argv.slice(2);
  return {kubeconfig, namespace, objects: Number(objects)};
}

/**
 * Milliseconds since this machine started, by CLOCK_MONOTONIC, which all processes share. `performance.timeOrigin` of
 * two processes can differ by milliseconds.
 */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export class Samples {
  readonly #startedAt = performance.now();
  readonly #objects: number;
  readonly #sent = new Map<string, string>();
  #delays: number[] = [];
  #lastAt = 0;

  constructor(objects: number) {
    this.#objects = objects;
    createInterface({input: process.stdin})
      .on('line', () => this.#report())
      .on('close', () => process.exit(0));
  }

  /**
   * Call this when a reconcile of the object begins. The first version of each object was written before this peer
   * started.
   */
  note(name: string, sent = ''): void {
    const now = nowMs();
    const before = this.#sent.get(name);
    this.#sent.set(name, sent);
    if (before === undefined) {
      if (this.#sent.size === this.#objects) say({syncedMs: performance.now() - this.#startedAt} satisfies Synced);
      return;
    }
    if (before === sent) return;
    this.#delays.push(now - Number(sent));
    this.#lastAt = now;
  }

  #report(): void {
    say({delays: this.#delays, lastAt: this.#lastAt} satisfies Report);
    this.#delays = [];
  }
}

function say(fields: object): void {
  process.stdout.write(`${JSON.stringify(fields)}\n`);
}
