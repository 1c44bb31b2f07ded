/**
 * The operator is killed just before and just after each write of a whole domain life. After a restart, it must end
 * where a life without a death ends, having created and deleted everything as often.
 */
import {randomBytes} from 'node:crypto';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {beforeAll, expect, test} from 'vitest';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {INGRESS} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {bundleOperator} from '../../support/operator-process.ts';
import {type DomainTenant, type DomainTenantWorld, newDomainTenant} from '../operator/domain-tenant.ts';
import {issuances, liveThrough, type State, type Traces} from './life.ts';
import {type DeathMoment, MortalOperator, type MortalOperatorWorld, type Plan} from './mortal-operator.ts';

/** As many as two cores can handle: an operator briefly occupies one of them when it starts. */
const LIVES_AT_ONCE = 6;

export interface CrashOptions {
  /** The kinds of the edge's routes. Default: those of Traefik. */
  readonly routes?: readonly ResourceType[];
  /** Whether the operator also dies at each write in turn. Default: true. */
  readonly tables?: boolean;
  /** Whether the operator also records orders and decides on requests, as with `operatorApproves`. Default: false. */
  readonly approves?: boolean;
  /** What a new tenant needs in addition to its namespace and its zone. */
  readonly prepare?: (tenant: DomainTenant) => Promise<void>;
  /** How long all lives of a test may take. */
  readonly timeoutMs: number;
}

interface Life {
  readonly traces: Traces;
  readonly writes: readonly string[];
  readonly deaths: readonly number[];
  readonly tenant: DomainTenant;
}

export function crashSuite(world: () => DomainTenantWorld & MortalOperatorWorld, options: CrashOptions): void {
  const {prepare, routes = [INGRESS, MIDDLEWARE], tables = true, approves = false, timeoutMs} = options;
  /** A life without a death. */
  let undisturbed: Life;
  let program: string;

  beforeAll(async () => {
    // Bundled as it ships, and with V8's compile cache, it starts in a fifth of the time, and it starts about 250
    // times.
    program = await bundleOperator(world().folder);
    process.env.NODE_COMPILE_CACHE = join(world().folder, 'compiled');
    undisturbed = await live(() => undefined);
  });

  /** A life with planned deaths, with its own namespace and operator. */
  async function live(plan: Plan, want?: Traces): Promise<Life> {
    const tenant = await newDomainTenant(world(), `crash-${randomBytes(2).toString('hex')}`);
    await prepare?.(tenant);
    const operator = await MortalOperator.start(world(), tenant.namespace, plan, program);
    try {
      const traces = await liveThrough(tenant, routes, (name, state) => settled(operator, state, want?.[name]));
      const {writes, deaths} = operator;
      return {traces, writes: [...writes], deaths: [...deaths], tenant};
    } catch (error) {
      throw new Error(`${(error as Error).message}; the operator's last words: ${await operator.lastWords()}`);
    } finally {
      await operator.stop();
    }
  }

  /** Lives with each of the plans, several at a time. Returns the failures, by the plan's name. */
  async function failuresOf(plans: ReadonlyMap<string, Plan>): Promise<{failures: string[]; deaths: number}> {
    const failures: string[] = [];
    const waiting = [...plans];
    let deaths = 0;
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [name, plan] = next;
        try {
          const life = await live(plan, undisturbed.traces);
          deaths += life.deaths.length;
          const found = differences(life.traces, undisturbed.traces);
          if (found.length > 0) throw new Error([...found, issuances(life.tenant)].join('\n'));
        } catch (error) {
          const failure = `killed ${name}: ${(error as Error).message}`;
          console.error(failure); // now, because the other lives take minutes
          failures.push(failure);
        }
      }
    };
    await Promise.all(Array.from({length: LIVES_AT_ONCE}, worker));
    return {failures, deaths};
  }

  function once(moment: DeathMoment): Map<string, Plan> {
    const at = (death: number): [string, Plan] => [
      `${moment} write ${death} (${undisturbed.writes[death - 1]})`,
      n => (n === death ? moment : undefined),
    ];
    return new Map(undisturbed.writes.map((_, index) => at(index + 1)));
  }

  test('a life without a death writes as little as it must', () => {
    // The default host: 2 objects, annotation, 2 statuses. Each host: Domain, 4 statuses or more, claim, Certificate,
    // route.
    expect(undisturbed.writes.length).toBeGreaterThan(25);
    expect(undisturbed.writes.length).toBeLessThan(80);
    // The order of a host is recorded on its claim just before the decision.
    const decisions = undisturbed.writes.filter(write => write === 'PATCH certificaterequests/status').length;
    expect(decisions >= 2).toBe(approves);
    console.log(`A whole life makes ${undisturbed.writes.length} writes: ${undisturbed.writes.join(', ')}`);
  });

  test.each<DeathMoment>(tables ? ['before', 'after'] : [])(
    'killed just %s each write, the operator ends where it would have ended',
    async moment => {
      const {failures, deaths} = await failuresOf(once(moment));
      expect(failures).toEqual([]);
      // Two writes of one status or record may become one. Then a life is over before its last planned death.
      const certain = undisturbed.writes.filter(write => !/^PATCH \w+\/status$/.test(write));
      expect(deaths).toBeGreaterThanOrEqual(certain.length);
    },
    timeoutMs,
  );

  test(
    'killed after every write that it makes, it ends there, too',
    async () => {
      const {failures, deaths} = await failuresOf(new Map([['after every write', () => 'after' as const]]));
      expect(failures).toEqual([]);
      expect(deaths).toBeGreaterThan(25);
    },
    timeoutMs,
  );

  if (process.env.SOAK) {
    test(
      'killed at 50 pairs of writes, it ends there, too',
      async () => {
        const plans = new Map<string, Plan>();
        const {length} = undisturbed.writes;
        const random = () => 1 + Math.floor(Math.random() * length);
        while (plans.size < 50) {
          const [first, second] = [random(), random()];
          const moments: DeathMoment[] = ['before', 'after'];
          const plan: Plan = n => (n === first ? moments[second % 2] : n === second ? moments[first % 2] : undefined);
          plans.set(`at writes ${first} and ${second}`, plan);
        }
        expect((await failuresOf(plans)).failures).toEqual([]);
      },
      timeoutMs,
    );
  }
}

/** Returns the state once it is as wanted or, if nothing is known yet, once it has not changed for a while. */
async function settled(operator: MortalOperator, state: () => State, want: State | undefined): Promise<State> {
  if (want) {
    const isSo = () => isDeepStrictEqual(state(), want);
    await until('the state is as it should be', isSo).catch(() => undefined);
    return state();
  }
  let last = {writes: -1, state: {} as State, sameFor: 0};
  await until('nothing changes any more', () => {
    const now = {writes: operator.writes.length, state: state()};
    const isSame = now.writes === last.writes && isDeepStrictEqual(now.state, last.state);
    last = {...now, sameFor: isSame ? last.sameFor + 1 : 0};
    return last.sameFor >= 30;
  });
  return last.state;
}

function differences(traces: Traces, wanted: Traces): string[] {
  return (['live', 'removed'] as const).flatMap(end => {
    const [found, want] = [traces[end], wanted[end]];
    const keys = Object.keys({...want, ...found}).filter(key => !isDeepStrictEqual(found[key], want[key]));
    return keys.map(key => `${end}: ${key} is ${JSON.stringify(found[key])}, not ${JSON.stringify(want[key])}`);
  });
}
