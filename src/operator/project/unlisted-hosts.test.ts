/** How often the Projects of a namespace are read, and what a plan in the cache proves. Without an API server. */

import {beforeEach, expect, test, vi} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {apiOf} from '../../../test/support/memory-operator.ts';
import {LABEL} from '../../api/names.ts';
import type {ResourceType} from '../../runtime/kube/object.ts';
import type {ProjectOperator} from './context.ts';
import {UnlistedHosts} from './unlisted-hosts.ts';

const READ_MS = 3_000;
/** How long a read takes. */
let readMs: number;

let clock: ManualClock;
let reads: number;
let count: number;
let unlisted: UnlistedHosts;
let listed: string | undefined;

beforeEach(() => {
  clock = new ManualClock();
  [reads, listed, readMs] = [0, undefined, READ_MS];
  const projects = {countByIndex: () => count, byIndex: () => [], get: () => undefined};
  const stores = {projects, domains: {get: () => undefined}};
  unlisted = new UnlistedHosts({stores, clock} as unknown as ProjectOperator);
});

function waitMs(host: string): Promise<number> {
  async function* list() {
    reads += 1;
    await clock.sleep(readMs);
    yield {items: listed === undefined ? [] : [{metadata: {name: 'p'}, spec: {domains: {primary: listed}}}]};
  }
  return unlisted.waitMs(apiOf({list}), `acme/${host}`);
}

// attack: too-many-projects
test('a namespace with many Projects is read once at a time, and rests', async () => {
  count = 50_000;
  const first = waitMs('a.example');
  expect(await waitMs('b.example')).toBe(1000);
  await clock.advance(READ_MS);
  expect(await first).toBe(0);
  await clock.advance(4 * READ_MS - 600);
  expect(await waitMs('b.example')).toBe(600);
  expect(reads).toBe(1);
  await clock.advance(600);
  listed = 'b.example';
  const second = waitMs('b.example');
  await clock.advance(READ_MS);
  expect([await second, reads]).toEqual([1000, 2]);
});

test('a namespace with few Projects is read without a rest', async () => {
  [count, readMs] = [500, 199];
  const waits = Promise.all([waitMs('a.example'), waitMs('b.example')]);
  await clock.advance(readMs);
  expect([await waits, reads]).toEqual([[0, 0], 2]);
  const third = waitMs('c.example');
  await clock.advance(readMs);
  expect([await third, reads]).toEqual([0, 3]);
});

test('a namespace with few Projects rests if they are so large that a read takes long', async () => {
  [count, readMs] = [500, 200];
  const first = waitMs('a.example');
  await clock.advance(readMs);
  expect(await first).toBe(0);
  expect([await waitMs('b.example'), reads]).toEqual([800, 1]);
});

const OWNED = {metadata: {labels: {[LABEL.managed]: 'true'}}, spec: {projectRef: {name: 'listing'}}};
const ACCOUNT = {'nameplate.dev/account': 'acme'};

test.each([
  {what: 'the API server confirms its plan', labels: ACCOUNT, taken: ['p', 'q'], want: 0},
  {
    what: 'its namespace has another plan',
    labels: {...ACCOUNT, 'nameplate.dev/plan': 'large'},
    taken: ['p', 'q'],
    want: 1000,
  },
  {what: 'its namespace has another account', labels: {}, taken: ['p', 'q'], want: 1000},
  {what: 'a Project that took a place is gone', labels: ACCOUNT, taken: ['q'], want: 1000},
  {what: 'the cache has given it a place meanwhile', labels: ACCOUNT, taken: ['p', 'q'], hasPlace: true, want: 1000},
  {what: 'it owns the Domain', labels: ACCOUNT, taken: ['p', 'q'], owns: true, want: 1000},
])(
  'a Project without a place does not keep its host if $what: $want',
  async ({labels, taken, hasPlace = false, owns = false, want}) => {
    const [namespaceOf, projectOf] = [
      (labels: Record<string, string>) => ({metadata: {name: 'acme', uid: 'n', labels}}),
      (uid: string) => ({
        metadata: {name: uid, namespace: 'acme', uid},
        spec: {domains: uid === 'listing' ? {primary: 'a.example'} : undefined},
      }),
    ];
    const operator = {
      stores: {
        projects: {countByIndex: () => 3, byIndex: () => [projectOf('listing')], get: () => projectOf('listing')},
        domains: {get: () => (owns ? OWNED : undefined)},
        namespaces: {get: () => namespaceOf(ACCOUNT)},
      },
      places: {
        projects: {
          has: vi.fn(() => hasPlace).mockReturnValueOnce(false),
          in: () => ['p', 'q'].map(projectOf),
        },
      },
      config: {plans: {small: {}, large: {}}, defaultPlan: 'small'},
      clock,
    };
    async function* list({kind}: ResourceType) {
      yield {items: kind === 'Namespace' ? [namespaceOf(labels)] : [...taken, 'listing'].map(projectOf)};
    }
    expect(
      await new UnlistedHosts(operator as unknown as ProjectOperator).waitMs(apiOf({list}), 'acme/a.example'),
    ).toBe(want);
  },
);
