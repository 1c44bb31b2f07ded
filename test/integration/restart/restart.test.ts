/**
 * A restart changes nothing: after any sequence of changes and faults, once no work is due, a new process of the operator
 * leaves every object as it is. So every rule that withholds something ends: at a time, by an event, or by a person's act
 * that is shown. In every other round, the operator is killed in the middle of the sequences.
 *
 * Families are independent, so they share each restart. `SEED=N` repeats a run, `FAMILY=index` only one of its families.
 */
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {below, seededRandom} from '../dns/mutate.ts';
import {disturb} from './disturbances.ts';
import {Family, MOVE_NAMES, type Step, stepsOf} from './family.ts';
import {RestartWorld} from './restart-world.ts';

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
/** At most; some faults show only if little follows. */
const STEPS = 8;
const PAUSE_MS = 2_000;

/** A sequence for each round. */
interface Life {
  readonly family: Family;
  readonly sequences: readonly Sequence[];
}

interface Sequence {
  /** The family is set back first. */
  readonly isFresh: boolean;
  readonly steps: readonly Step[];
}

interface Difference {
  readonly family: string;
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
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
  }, 180_000);
  afterAll(() => world?.stop());

  test.each(Array.from({length: ROUNDS}, (_, round) => round))(
    'a restart changes nothing (round %i)',
    {timeout: 1_200_000},
    async round => {
      const found = await differencesOf(lives, round, index * ROUNDS + round);
      for (const {family, key, before, after} of found.slice(0, 20)) {
        const life = lives.find(each => each.family.id === family);
        console.error(`${family} ${key}\n  before ${JSON.stringify(before)}\n  after  ${JSON.stringify(after)}`);
        for (const {isFresh, steps} of life?.sequences.slice(0, round + 1) ?? []) {
          console.error(`    ${isFresh ? 'set back' : 'continued'}`);
          for (const step of steps) console.error(`    ${JSON.stringify(step)}`);
        }
      }
      expect(found.map(({family, key}) => `${family}: ${key}`)).toEqual([]);
    },
  );
});

test.skipIf(ONLY !== undefined)('every move was made', () => {
  expect(MOVE_NAMES.filter(move => !taken.has(move))).toEqual([]);
});

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
async function differencesOf(lives: readonly Life[], round: number, number: number): Promise<Difference[]> {
  const random = seededRandom(SEED * 31 + number);
  const families = lives.map(({family}) => family);
  await world.resume();
  await Promise.all(lives.map(({family, sequences}) => (sequences[round]?.isFresh ? family.begin() : undefined)));
  await world.quiet();
  const beganMs = performance.now();
  const [, first] = await Promise.all([live(lives, round, 0, 0.5), disturb(world, SEED + 2 * number, random)]);
  if (round % 2 === 1) {
    await world.restart('kill');
    await world.warmUp();
  }
  const [, second] = await Promise.all([live(lives, round, 0.5, 1), disturb(world, SEED + 2 * number + 1, random)]);
  const livedMs = performance.now();
  await world.rest(families);
  const before = families.map(family => world.said(family));
  expect(families.flatMap(family => world.untrue(family))).toEqual([]);
  const restedMs = performance.now();
  await world.restart();
  await world.restAgain(families);
  const after = families.map(family => world.said(family));
  const seconds = [livedMs - beganMs, restedMs - livedMs, performance.now() - restedMs].map(ms =>
    Math.round(ms / 1000),
  );
  console.log(`${families.length} sequences; ${first}, then ${second}; ${seconds.join(', ')} s`);
  return families.flatMap((family, index) => {
    const [was, is] = [before[index] ?? {}, after[index] ?? {}];
    const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])];
    return keys
      .filter(key => JSON.stringify(was[key]) !== JSON.stringify(is[key]))
      .map(key => ({family: family.id, key, before: was[key], after: is[key]}));
  });
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
