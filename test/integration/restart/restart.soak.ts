/**
 * A restart changes nothing: after any sequence of changes and faults, once no work is due, a new process of the operator
 * leaves every object as it is. So every rule that withholds something ends: at a time, by an event, or once a person
 * does what a status asks for. In every other round, the operator is killed in the middle of the sequences.
 *
 * Families are independent, so they share each restart. `SEED=N` repeats a run, `FAMILY=index` only one of its families.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {below, pick, seededRandom} from '../dns/mutate.ts';
import {disturb} from './disturbances.ts';
import {Family, MOVE_NAMES, type Step, stepsOf} from './family.ts';
import {CHANGE_NAMES, RestartWorld, type Said} from './restart-world.ts';

const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
/** Each has two accounts. In each round, each lives through a sequence, and all share the restart. */
const FAMILIES = Number(process.env.FAMILIES ?? (process.env.SOAK ? 200 : 100));
const ROUNDS = Number(process.env.ROUNDS ?? (process.env.SOAK ? 10 : 2));
/** What is left of earlier rounds slows later ones, so a new world is started now and then. */
const WORLDS = Number(process.env.WORLDS ?? (process.env.SOAK ? 5 : 1));
const ONLY = process.env.FAMILY === undefined ? undefined : Number(process.env.FAMILY);
const INDEXES = Array.from({length: WORLDS}, (_, index) => index).filter(
  index => ONLY === undefined || index === Math.floor(ONLY / FAMILIES),
);
/** The most in a sequence; some faults show only if little follows. */
const STEPS = 8;
const PAUSE_MS = 2_000;

/** A sequence for each round. */
interface Life {
  readonly family: Family;
  readonly sequences: readonly Sequence[];
}

interface Sequence {
  /** The family is reset first. */
  readonly isFresh: boolean;
  readonly steps: readonly Step[];
}

interface Fault {
  readonly family: string;
  /** Which object differs, or which fact does not hold. */
  readonly what: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

let world: RestartWorld;
/** How often each move was made. */
const taken = new Map<string, number>();

describe.each(INDEXES)(`SEED=${SEED}, world %i`, index => {
  let lives: readonly Life[];

  beforeAll(async () => {
    world = await RestartWorld.start();
    const all = Array.from({length: FAMILIES}, (_, number) => index * FAMILIES + number);
    lives = all.filter(number => ONLY === undefined || number === ONLY).map(lifeOf);
  });
  afterAll(() => world?.stop());

  test.each(Array.from({length: ROUNDS}, (_, round) => round))(
    'a restart changes nothing (round %i)',
    {timeout: 1_200_000},
    async round => {
      const found = await faultsOf(lives, round, index * ROUNDS + round);
      for (const {family, what, before, after} of found.slice(0, 20)) {
        const life = lives.find(each => each.family.id === family);
        const states = before || after ? `\n  before ${JSON.stringify(before)}\n  after  ${JSON.stringify(after)}` : '';
        console.error(`${family} ${what}${states}`);
        for (const {isFresh, steps} of life?.sequences.slice(0, round + 1) ?? []) {
          console.error(`    ${isFresh ? 'set back' : 'continued'}`);
          for (const step of steps) console.error(`    ${JSON.stringify(step)}`);
        }
      }
      expect(found.map(({family, what}) => `${family}: ${what}`)).toEqual([]);
    },
  );
});

// In a few hundred sequences, a move that is often refused may never be made.
if (process.env.SOAK && ONLY === undefined) {
  test('every move was made', () => {
    expect(MOVE_NAMES.filter(move => !taken.has(move))).toEqual([]);
  });
}

function lifeOf(number: number): Life {
  const random = seededRandom(SEED * 100_003 + number);
  const {ca, names} = world;
  const sequences = Array.from({length: ROUNDS}, (_, round) => ({
    isFresh: random() < 0.5 || round === 0,
    steps: stepsOf(random, 1 + below(STEPS, random), PAUSE_MS),
  }));
  return {family: new Family({...ca, names}, `f${number}`, world.zone(number)), sequences};
}

/** `number`: of the round among those of all worlds. */
async function faultsOf(lives: readonly Life[], round: number, number: number): Promise<Fault[]> {
  const random = seededRandom(SEED * 31 + number);
  const change = round % 2 === 1 ? pick(CHANGE_NAMES, random) : undefined;
  const families = lives.map(({family}) => family);
  const startedMs = performance.now();
  await world.resume();
  if (world.isPaused) await world.restart('no change');
  await Promise.all(lives.map(({family, sequences}) => (sequences[round]?.isFresh ? family.begin() : undefined)));
  await world.quiet();
  const beganMs = performance.now();
  const killed = change !== undefined && delay(random() * 5_000).then(() => world.kill());
  const [, first] = await Promise.all([live(lives, round, 0, 0.5), disturb(world, SEED + 2 * number, random), killed]);
  if (change !== undefined) {
    await world.restart(change);
    await world.warmUp();
  }
  const [, second] = await Promise.all([live(lives, round, 0.5, 1), disturb(world, SEED + 2 * number + 1, random)]);
  const livedMs = performance.now();
  await world.rest(families);
  const before = world.said(families);
  const untrue = families.flatMap(family => world.untrue(family).map(what => ({family: family.id, what})));
  const restedMs = performance.now();
  await world.restart();
  await world.restAgain(families);
  const after = world.said(families);
  const middle = change === undefined ? 'no restart' : `a restart with ${change}`;
  const seconds = [beganMs - startedMs, livedMs - beganMs, restedMs - livedMs, performance.now() - restedMs];
  const times = seconds.map(ms => Math.round(ms / 1000)).join(', ');
  console.log(`${families.length} sequences; ${first}, ${middle}, ${second}; ${times} s`);
  const differences = families.flatMap(({id}, index) => differencesOf(id, before[index] ?? {}, after[index] ?? {}));
  return [...untrue, ...differences];
}

function differencesOf(family: string, before: Said, after: Said): Fault[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys
    .filter(key => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .map(key => ({family, what: key, before: before[key], after: after[key]}));
}

/** A part of the sequence of each life. */
async function live(lives: readonly Life[], round: number, from: number, to: number): Promise<void> {
  await Promise.all(
    lives.map(async ({family, sequences}) => {
      const {steps = []} = sequences[round] ?? {};
      for (const step of steps.slice(Math.ceil(from * steps.length), Math.ceil(to * steps.length))) {
        if (await family.take(step)) taken.set(step.move, (taken.get(step.move) ?? 0) + 1);
        await delay(step.pauseMs);
      }
    }),
  );
}
