/** The writes to a namespace's record, by clients without an API server. */
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {hostBytes, MAX_RECORD_BYTES} from '../../api/held-hosts-size.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import type {Outcome} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DomainClaim, HeldHosts} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {reconcileHeldHosts} from './held-hosts.ts';

test('a lost host leaves the record even if the API server refuses to add another one', async () => {
  const claim = {metadata: {name: 'new.test', uid: 'uid-new'}, spec: {account: 'uid-a', namespace: 'a'}} as DomainClaim;
  const record = {
    metadata: {namespace: 'a', name: 'nameplate', resourceVersion: '1'},
    spec: {hosts: {'lost.test': 'uid-lost'}},
  } as unknown as HeldHosts;
  const namespace = {metadata: {name: 'a', uid: 'uid-a'}};
  const state = 'synced';
  const stores = {
    claims: {state, byIndex: () => [claim], get: () => claim},
    projects: {state},
    namespaces: {state, get: () => namespace},
    heldHosts: {state, get: () => record},
  };
  const patches: unknown[] = [];
  const client = {
    get: async () => claim,
    patch: async (_kind: unknown, _key: unknown, {spec}: {spec: {hosts: object}}) => {
      patches.push(spec.hosts);
      if (Object.hasOwn(spec.hosts, 'new.test')) throw new Error('refused');
      return record;
    },
  };
  const config = {defaultHost: {tls: 'wildcard'}, plans: {pro: {}}, defaultPlan: 'pro'};
  const reconcile = reconcileHeldHosts({stores, config, clock: new ManualClock()} as unknown as Operator);
  const context = {client: client as unknown as KubeClient, signal: new AbortController().signal};
  await expect(reconcile('a', context as Parameters<typeof reconcile>[1])).rejects.toThrow('refused');
  expect(patches).toEqual([{'lost.test': null}, {'new.test': 'uid-new'}]);
});

/** A namespace's claims and record, and an API server that takes `answerMs` for each read. */
class Namespace {
  readonly clock = new ManualClock();
  readonly claims = new Map<string, DomainClaim>();
  readonly writes: Readonly<Record<string, string | null>>[] = [];
  readonly warnings: object[] = [];
  readonly projects: object[] = [];
  answerMs = 0;
  record: HeldHosts | undefined;
  /** Called with each write. */
  onWrite = (): void => undefined;
  readonly #reconcile: Reconcile;

  constructor() {
    const state = 'synced';
    const stores = {
      claims: {state, byIndex: () => [...this.claims.values()], get: (host: string) => this.claims.get(host)},
      projects: {state},
      namespaces: {state, get: () => ({metadata: {name: 'a', uid: 'uid-a'}})},
      heldHosts: {state, get: () => this.record},
    };
    const config = {defaultHost: {tls: 'certificate'}, plans: {pro: {}}, defaultPlan: 'pro'};
    const places = {in: () => this.projects};
    this.#reconcile = reconcileHeldHosts({stores, config, places, clock: this.clock} as unknown as Operator);
  }

  get hosts(): Readonly<Record<string, string>> {
    return this.record?.spec.hosts ?? {};
  }

  claim(name: string, spec: Partial<DomainClaim['spec']> = {}): void {
    const fields = {account: 'uid-a', namespace: 'a', since: '2026-11-25T00:00:00Z', ...spec};
    this.claims.set(name, {metadata: {name, uid: `uid-${name}`}, spec: fields} as DomainClaim);
  }

  write({spec}: {spec: {hosts: Record<string, string | null>}}): HeldHosts {
    this.writes.push(spec.hosts);
    this.onWrite();
    const hosts = Object.entries({...this.hosts, ...spec.hosts}).filter(([, uid]) => uid !== null);
    const metadata = {namespace: 'a', name: 'nameplate'};
    this.record = {metadata, spec: {hosts: Object.fromEntries(hosts)}} as unknown as HeldHosts;
    return this.record;
  }

  /** Rejects at a reconcile's deadline. */
  run(): Promise<Outcome> {
    const deadlineMs = this.clock.monotonic() + 60_000;
    const client = {
      get: async (_kind: unknown, {name}: {name: string}) => {
        await this.clock.advance(this.answerMs);
        if (this.clock.monotonic() > deadlineMs) throw new Error('the deadline has passed');
        return this.claims.get(name);
      },
      create: async (_kind: unknown, object: Parameters<Namespace['write']>[0]) => this.write(object),
      patch: async (_kind: unknown, _key: unknown, patch: Parameters<Namespace['write']>[0]) => this.write(patch),
    };
    const logger = {warn: (fields: object) => this.warnings.push(fields)};
    const context = {client, logger, signal: new AbortController().signal};
    return this.#reconcile('a', context as unknown as Parameters<Reconcile>[1]);
  }
}

test('claims that arrive within a second of each other cost two writes, and a removal does not wait', async () => {
  const namespace = new Namespace();
  const {clock, writes} = namespace;
  for (let index = 0; index < 20; index++) {
    namespace.claim(`h${index}.test`);
    await namespace.run();
    await clock.advance(10);
  }
  namespace.claims.delete('h0.test');
  expect(await namespace.run()).toMatchObject({kind: 'after'});
  expect(writes).toEqual([{'h0.test': 'uid-h0.test'}, {'h0.test': null}]);
  await clock.advance(1000);
  await namespace.run();
  expect(Object.keys(writes[2] ?? {})).toHaveLength(19);
  expect(await namespace.run()).toEqual({kind: 'done'});
});

test('a host whose claim is deleted during the reconcile is not taken for a default host', async () => {
  const namespace = new Namespace();
  namespace.claim('lost.test');
  await namespace.run();
  namespace.claims.delete('lost.test');
  namespace.claim('deleted.test');
  await namespace.clock.advance(1000);
  namespace.onWrite = () => void namespace.claims.delete('deleted.test'); // while lost.test is removed
  await namespace.run();
  expect(namespace.hosts).toEqual({});
});

test('a namespace whose hosts take minutes to confirm gets a lost record back in parts', async () => {
  const namespace = new Namespace();
  for (let index = 0; index < 500; index++) namespace.claim(`h${index}.test`);
  namespace.answerMs = 250;
  const recorded: number[] = [];
  for (;;) {
    const outcome = await namespace.run();
    recorded.push(Object.keys(namespace.hosts).length);
    if (outcome.kind !== 'after') break;
    await namespace.clock.advance(outcome.ms);
  }
  expect(recorded[0]).toBeGreaterThan(0);
  expect(recorded.at(-1)).toBe(500);
});

/** All names have the same length, the greatest, so that few hosts fill a record. */
function long(name: string): string {
  return name.padEnd(253, 'x');
}

const [FIRST, NEW, LIVE, OLD] = [long('0.'), long('new.'), long('live.'), long('old.')];

/** A namespace whose record has room for `count` more hosts. */
function almostFull(count: number): Namespace {
  const namespace = new Namespace();
  const recorded = Math.floor(MAX_RECORD_BYTES / hostBytes(long(''))) - count;
  const names = Array.from({length: recorded}, (_, index) => long(`${index}.`));
  for (const name of names) namespace.claim(name);
  namespace.write({spec: {hosts: Object.fromEntries(names.map(name => [name, `uid-${name}`]))}});
  namespace.writes.length = 0;
  return namespace;
}

test('in a full record, the hosts with ordered certificates come first, then the oldest claims', async () => {
  const namespace = almostFull(2);
  namespace.claim(NEW, {since: '2026-11-24T00:00:00Z'});
  namespace.claim(LIVE, {since: '2026-11-26T00:00:00Z', orders: [{at: '2026-11-26T00:00:00Z'}]});
  namespace.claim(OLD, {since: '2026-11-23T00:00:00Z'});
  expect(await namespace.run()).toEqual({kind: 'done'});
  expect(namespace.writes).toEqual([{[LIVE]: `uid-${LIVE}`, [OLD]: `uid-${OLD}`}]);
});

test('a full record is logged once, keeps its hosts, and takes the next one when it has room', async () => {
  const namespace = almostFull(0);
  namespace.claim(NEW);
  for (let turn = 0; turn < 3; turn++) await namespace.run();
  expect(namespace.warnings).toEqual([{hosts: Object.keys(namespace.hosts).length, left: 1}]);
  namespace.claims.delete(FIRST);
  await namespace.run();
  await namespace.run();
  expect(namespace.writes).toEqual([{[FIRST]: null}, {[NEW]: `uid-${NEW}`}]);
});

test('a full record takes a default host', async () => {
  const namespace = almostFull(0);
  namespace.projects.push({metadata: {uid: 'uid-project'}, defaultHost: 'shop-a.apps.test'});
  await namespace.run();
  expect(namespace.writes).toEqual([{'shop-a.apps.test': 'uid-project'}]);
});

test('a host that is claimed again changes its UID in a full record', async () => {
  const namespace = almostFull(0);
  namespace.claims.set(FIRST, {...namespace.claims.get(FIRST), metadata: {name: FIRST, uid: 'new'}} as DomainClaim);
  await namespace.run();
  expect(namespace.writes).toEqual([{[FIRST]: 'new'}]);
});
