/** Prints the commands that a person would type, and their output. Every printed command really runs. */
import {join} from 'node:path';
import {type InspectColor, styleText} from 'node:util';
import {run} from '../cluster/children.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const COMMAND_LIMIT_MS = 240_000;
const SHOWN_LINES = 12;
const SHOWN_COLUMNS = 700;

export interface Expectation {
  /** What the output proves, for the line with the check mark. */
  readonly shows: string;
  /** Each must match somewhere in the output. */
  readonly matching?: readonly RegExp[];
  /** How many lines of the output are printed. */
  readonly lines?: number;
}

export interface Output {
  readonly text: string;
  readonly seconds: number;
}

/** Steps that run alongside others, and are printed later. */
export interface Aside<T> {
  readonly done: Promise<T>;
  /** Prints what they have printed so far, and from then on prints as they go. */
  show(): Promise<T>;
}

export class Terminal {
  #step = 0;
  readonly #start = performance.now();
  readonly #parent: Terminal | undefined;
  /** The output of steps that are not shown yet. */
  #held: (() => void)[] | undefined;
  readonly #asides: Terminal[] = [];

  constructor(parent?: Terminal) {
    this.#parent = parent;
    this.#held = parent && [];
  }

  /** Since the first step. */
  get seconds(): number {
    return this.#parent?.seconds ?? secondsSince(this.#start);
  }

  /** Starts steps now, and prints them later. */
  aside<T>(steps: (terminal: Terminal) => Promise<T>): Aside<T> {
    const terminal = new Terminal(this);
    this.#asides.push(terminal);
    const done = steps(terminal);
    done.catch(() => {}); // reported where `done` is awaited
    const show = () => {
      terminal.#release();
      return done;
    };
    return {done, show};
  }

  /** Prints everything held back, when the story ends early. */
  releaseAll(): void {
    for (const terminal of this.#asides) terminal.#release();
  }

  /** Numbers are given in the order in which steps are printed. */
  heading(text: string): void {
    this.#print(() => {
      if (this.#parent) this.#parent.heading(text);
      else print(`\n${paint('bold', `${++this.#step}. ${text}`)}`);
    });
  }

  say(text: string): void {
    this.#print(() => print(paint('dim', `# ${text}`)));
  }

  #print(now: () => void): void {
    if (this.#held) this.#held.push(now);
    else now();
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const printOne of held) printOne();
  }

  /**
   * Runs command lines in a shell, in the repository's folder. Throws if one fails, or its output is not as expected.
   */
  async type(commands: string | readonly string[], expected: Expectation): Promise<Output> {
    const {shows, matching = [], lines = SHOWN_LINES} = expected;
    const all = [commands].flat();
    for (const command of all) this.#print(() => print(paint('cyan', `$ ${command}`)));
    const start = performance.now();
    const shell = ['bash', '-c', ['set -euo pipefail; exec 2>&1', ...all].join('\n')];
    const signal = AbortSignal.timeout(COMMAND_LIMIT_MS);
    const text = (await run(shell, {cwd: REPOSITORY, signal}).catch(cause => failure(shows, cause))).trim();
    const seconds = secondsSince(start);
    if (text) this.#print(() => print(trimmed(text, lines)));
    for (const pattern of matching) {
      if (!pattern.test(text)) throw new Error(`wanted "${shows}", but the answer does not match ${pattern}`);
    }
    this.#pass(shows, seconds);
    return {text, seconds};
  }

  /** Prints the result of a check that needs no command. */
  check(shows: string, holds: boolean, found: string): void {
    if (!holds) throw new Error(`wanted "${shows}", but found: ${found}`);
    this.#pass(`${shows}: ${found}`);
  }

  #pass(shows: string, seconds?: number): void {
    const time = seconds === undefined ? '' : paint('dim', ` (${seconds.toFixed(1)} s)`);
    this.#print(() => print(`${paint('green', '✓')} ${shows}${time}`));
  }
}

function failure(shows: string, cause: Error): never {
  const limit = `no answer within ${COMMAND_LIMIT_MS / 1000} s`;
  const why = cause.name === 'AbortError' ? limit : cause.message.replace(/^.*ended \(/s, 'the command ended (');
  throw new Error(`wanted "${shows}", but ${why}`, {cause});
}

export function print(text: string): void {
  console.log(text);
}

function paint(style: InspectColor, text: string): string {
  return styleText(style, text, {stream: process.stdout});
}

function trimmed(text: string, lines: number): string {
  const all = text.split('\n');
  const shown = all
    .slice(0, lines)
    .map(line => (line.length > SHOWN_COLUMNS ? `${line.slice(0, SHOWN_COLUMNS)}…` : line));
  return [...shown, ...(all.length > lines ? [`… ${all.length - lines} more lines`] : [])].join('\n');
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}
