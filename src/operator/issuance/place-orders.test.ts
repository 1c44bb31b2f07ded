/** How long a pass lasts and rests, and what it does. Only what a test names advances the clock. */
import {setImmediate as turn} from 'node:timers/promises';
import {pino} from 'pino';
import {beforeEach, expect, test} from 'vitest';
import {signingRequest} from '../../../test/integration/approval/signing-request.ts';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {dayOf} from '../../api/conditions.ts';
import {Store} from '../../runtime/cache/store.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../runtime/kube/object.ts';
import {
  type CertificateRequest,
  type DomainClaim,
  HELD_HOSTS,
  HELD_HOSTS_NAME,
  type HeldHosts,
} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {OrderSchedule} from '../state/order-schedule.ts';
import {SlotReservations} from '../state/slot-reservations.ts';
import {INDEX} from '../state/stores.ts';
import {reconcileOrders} from './place-orders.ts';

const ISSUER = {name: 'ca', kind: 'ClusterIssuer', group: 'cert-manager.io'};
const ACCOUNT = 'ClusterIssuer/ca';
const SECOND = 1000;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const DELETED = {deletionTimestamp: '2026-11-21T11:59:30Z'};
const csr = await signingRequest({names: ['DNS:a.test']});

let clock: ManualClock;
/** How far these advance the clock: a request to the API server, looking up a namespace, parsing a request. */
let writeMs: number;
let lookMs: number;
let parseMs: number;
/** How often these were read: what is parsed, what a verdict depends on, and claims that do not matter. */
let reads: {request: number; usages: number; otherClaims: number};
/** Whether the API server refuses the decision on a request. */
let refuses: (name: string) => boolean;
/** The host's claim on the API server. */
let readClaim: () => DomainClaim | undefined;
/** The record of orders for default hosts on the API server, if there is one. No cache has it. */
let record: [] | [HeldHosts];
/** The claim's version, if it matters. */
let claimVersion: string | undefined;
let claims: Store<DomainClaim>;
let requests: Store<CertificateRequest>;
let projects: Store<KubeObject>;
/** A new process. Each call is one pass. */
let start: (config?: object) => () => ReturnType<ReturnType<typeof reconcileOrders>>;
let reconcile: ReturnType<typeof start>;
let orderSchedule: OrderSchedule;

/** Time passes, and nobody sleeps. */
const pass = (ms: number): void => void clock.advance(ms);

beforeEach(() => {
  clock = new ManualClock(NOW);
  writeMs = 0;
  lookMs = 0;
  parseMs = 0;
  reads = {request: 0, usages: 0, otherClaims: 0};
  refuses = () => false;
  requests = newStore();
  requests.addIndex(INDEX.undecided, () => [ACCOUNT]);
  requests.addIndex(INDEX.approvedWithoutClaim, () => []);
  requests.addIndex(INDEX.inProgress, () => []);
  projects = newStore();
  projects.addIndex(INDEX.pausedHost, () => []);
  projects.addIndex(INDEX.paused, () => []);
  projects.addIndex(INDEX.defaultHost, () => ['a/a.test']);
  claims = newStore();
  claims.addIndex(INDEX.orderDay, ({spec}) => (spec.orders ?? []).map(({at}) => dayOf(at)));
  record = [];
  claimVersion = undefined;
  readClaim = () => claims.get('a.test') as DomainClaim;
  claims.replace(new Map([['a.test', claim()]]), '1');
  const namespaces = newStore();
  const namespace = {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a', uid: 'uid-a'}};
  namespaces.replace(new Map([['a', namespace]]), '1');
  const look = (key: string) => {
    pass(lookMs);
    return namespaces.get(key);
  };
  const [domains, heldHosts] = [newStore(), newStore()];
  domains.addIndex(INDEX.paused, () => []);
  heldHosts.addIndex(INDEX.orderDay, () => []);
  const stores = {
    claims,
    certificateRequests: requests,
    certificates: newStore(),
    challenges: newStore(),
    heldHosts,
    projects,
    domains,
    namespaces: {state: 'synced', get: look, byIndex: () => []},
  };
  // The caches follow immediately.
  const client = {
    get: async () => readClaim(),
    async *list(resource: ResourceType) {
      yield {items: resource === HELD_HOSTS ? record : [namespace]};
    },
    patch: async (_: unknown, __: unknown, {metadata, spec}: HeldHosts) => {
      const [before] = record;
      if (!before || metadata.resourceVersion !== before.metadata.resourceVersion) {
        throw new ApiError('PATCH', 409, {reason: 'Conflict'});
      }
      const resourceVersion = `${Number(metadata.resourceVersion) + 1}`;
      const orders = {...before.spec.orders, ...spec.orders}; // a merge patch
      record = [{...before, metadata: {...before.metadata, resourceVersion}, spec: {...before.spec, orders}}];
    },
    replace: async (_: unknown, object: DomainClaim) => {
      pass(writeMs);
      if (object.metadata.resourceVersion !== claimVersion) throw new ApiError('PUT', 409, {reason: 'Conflict'});
      claims.upsert(object);
    },
    applyStatus: async (_: unknown, {metadata}: KubeObject) => {
      pass(writeMs);
      if (refuses(metadata.name)) throw new ApiError('PATCH', 403, {message: 'no'});
      requests.remove(requests.get(`a/${metadata.name}`) as CertificateRequest);
    },
  };
  const logger = pino({level: 'silent'});
  orderSchedule = new OrderSchedule();
  const reservations = new SlotReservations();
  const [names, places] = [{defaultHost: () => 'a.test'}, {has: () => true}];
  const events = {event: () => undefined};
  const operator = {stores, clock, names, places, orderSchedule, reservations, logger, events};
  const context = {client: client as unknown as KubeClient, signal: new AbortController().signal};
  start = (config = CONFIG) => {
    const run = reconcileOrders({...operator, config} as unknown as Operator);
    return () => run(ACCOUNT, context as Parameters<typeof run>[1]);
  };
  reconcile = start();
});

const CONFIG = {
  controller: {workers: 4, paused: false},
  plans: {pro: {}},
  defaultPlan: 'pro',
  platform: {baseDomain: 'apps.test'},
  defaultHost: {tls: 'wildcard'},
  certificates: {
    issuerRef: ISSUER,
    formerIssuerRefs: [],
    challenges: {inProgress: 1000, inProgressPerAccount: 1000, renewalReserve: 0, timeoutSeconds: 900},
    approval: {exemptNamespaces: [], tenantCertificates: {hosts: [ISSUER], services: []}},
    orderBudget: {orders: 1000, windowSeconds: 10, renewalReserve: 0, newHostsPerDomain: 1000, domainWindowSeconds: 10},
    failureBudget: {failures: 1000, windowSeconds: 10},
  },
};

/** Default hosts have certificates of their own. */
const OWN_CERTIFICATES = {...CONFIG, platform: {baseDomain: 'test'}, defaultHost: {tls: 'certificate'}};

function newStore<T extends KubeObject>(): Store<T> {
  return new Store<T>({
    onHandlerError: error => {
      throw error;
    },
  });
}

function claim(): DomainClaim {
  const spec = {account: 'uid-a', namespace: 'a', since: '2026-11-01T00:00:00Z'};
  return {apiVersion: 'nameplate.dev/v1alpha1', kind: 'DomainClaim', metadata: {name: 'a.test'}, spec} as DomainClaim;
}

function waitFor(count: number): void {
  const all = Array.from({length: count}, (_, n) => {
    const metadata = {name: `r${n}`, namespace: 'a', uid: `uid-${n}`, creationTimestamp: '2026-11-21T11:59:00Z'};
    return {
      apiVersion: 'cert-manager.io/v1',
      kind: 'CertificateRequest',
      metadata,
      spec: {
        issuerRef: ISSUER,
        get request() {
          reads.request++;
          pass(parseMs);
          return csr;
        },
        get usages() {
          reads.usages++;
          return [];
        },
      },
    };
  });
  requests.replace(new Map(all.map(request => [keyOf(request), request])), '1');
}

test('a pass over many orders ends after a while, and the next one immediately continues where it ended', async () => {
  waitFor(40);
  writeMs = SECOND / 2;
  expect(await reconcile()).toEqual(after(0));
  expect(clock.now() - NOW).toBe(15 * SECOND);
  expect(requests.size).toBe(40 - 15);
  for (let outcome = await reconcile(); outcome.kind !== 'done'; ) outcome = await reconcile();
  expect(requests.size).toBe(0);
});

test('however many changes trigger it, it spends at most a tenth of the time on planning', async () => {
  waitFor(10);
  lookMs = 5;
  expect(await reconcile()).toEqual(done());
  const looked = 2 * 10 * lookMs;
  waitFor(1);
  const rest = 10 * looked;
  expect(await reconcile()).toEqual(after(rest));
  pass(rest - 1);
  expect(await reconcile()).toEqual(after(1));
  expect(requests.size).toBe(1);
  pass(1);
  expect(await reconcile()).toEqual(done());
  expect(requests.size).toBe(0);
});

test('a request whose decision is refused waits longer each time, delays no other, and its host knows why', async () => {
  const told: string[] = [];
  orderSchedule.subscribe(key => told.push(`${key}: ${refusal() ?? ''}`));
  const refusal = () => {
    const planned = orderSchedule.get(ACCOUNT, 'a/a.test');
    return planned === 'unknown' ? planned : planned?.refusal;
  };
  refuses = name => name === 'r0';
  waitFor(3);
  expect(await reconcile()).toEqual(after(SECOND));
  expect([...requests.list()].map(({metadata}) => metadata.name)).toEqual(['r0']);
  pass(SECOND);
  expect(await reconcile()).toEqual(after(2 * SECOND));
  requests.upsert({...(requests.get('a/r0') as CertificateRequest), metadata: {name: 'r1', namespace: 'a'}});
  expect(await reconcile(), 'one that comes meanwhile does not wait').toEqual(after(2 * SECOND));
  expect(requests.get('a/r1')).toBeUndefined();
  expect(refusal()).toBe('PATCH: 403: no');
  refuses = () => false;
  pass(2 * SECOND);
  expect(await reconcile()).toEqual(done());
  expect(requests.size).toBe(0);
  expect(told).toEqual(['a/a.test: PATCH: 403: no', 'a/a.test: ']);
});

test('a request that may not have its host is looked at again until it is denied, and approved if that changes', async () => {
  const held = claims.get('a.test') as DomainClaim;
  claims.remove(held);
  waitFor(1);
  expect(await reconcile()).toEqual(after(SECOND));
  claims.upsert(held);
  expect(await reconcile()).toEqual(done());
  expect(requests.size).toBe(0);
});

test.each([
  {what: 'waits until its namespace has a record for the order', deletionTimestamp: {}, reads: 1},
  // A tenant's finalizer may keep it for as long as the tenant likes.
  {what: 'of a Project that is being deleted is not ordered for', deletionTimestamp: DELETED, reads: 0},
])('a request for a default host $what', async ({deletionTimestamp, reads}) => {
  claims.remove(claims.get('a.test') as DomainClaim);
  const metadata = {name: 'p', namespace: 'a', ...deletionTimestamp};
  projects.upsert({apiVersion: 'nameplate.dev/v1alpha1', kind: 'Project', metadata});
  waitFor(1);
  let claimsRead = 0;
  readClaim = () => {
    claimsRead += 1;
    return undefined;
  };
  expect(await start(OWN_CERTIFICATES)()).toEqual(after(SECOND));
  expect(claimsRead).toBe(reads);
  expect(requests.size).toBe(1);
});

test('one pass places several orders of a default host, although no cache shows their record yet', async () => {
  claims.remove(claims.get('a.test') as DomainClaim);
  projects.upsert({apiVersion: 'nameplate.dev/v1alpha1', kind: 'Project', metadata: {name: 'p', namespace: 'a'}});
  const metadata = {name: HELD_HOSTS_NAME, namespace: 'a', resourceVersion: '1'};
  const at = '2026-11-21T11:59:58Z';
  // The first request was recorded before the process ended.
  const before = {'a.test': [{at, request: 'uid-0'}], 'b.test': [{at, request: 'uid-b'}]};
  record = [{apiVersion: 'nameplate.dev/v1alpha1', kind: 'HeldHosts', metadata, spec: {hosts: {}, orders: before}}];
  waitFor(3);
  expect(await start(OWN_CERTIFICATES)()).toEqual(done());
  expect(requests.size).toBe(0);
  const requested = Object.entries(record[0].spec.orders ?? {}).map(([host, all]) => [host, all.map(it => it.request)]);
  expect(requested).toEqual([
    ['a.test', ['uid-0', 'uid-1', 'uid-2']],
    ['b.test', ['uid-b']],
  ]);
});

test('a request whose host has moved is not approved, even if no cache shows it yet', async () => {
  waitFor(1);
  readClaim = () => ({...claim(), spec: {...claim().spec, account: 'uid-b', namespace: 'b'}});
  expect(await reconcile()).toEqual(after(SECOND));
  pass(SECOND);
  expect(await reconcile(), 'so that it takes no slot from others in each pass').toEqual(after(2 * SECOND));
  expect(requests.size).toBe(1);
  expect(claims.get('a.test')?.spec.orders).toBeUndefined();
});

test('a request is not approved if the claim of its host changes before its order is recorded', async () => {
  waitFor(1);
  readClaim = () => ({...claim(), metadata: {name: 'a.test', resourceVersion: '1'}});
  claimVersion = '2';
  expect(await reconcile(), 'no error: one request must not delay the others').toEqual(after(SECOND));
  expect(requests.size).toBe(1);
});

const {orderBudget} = CONFIG.certificates;
const isFull = {...CONFIG, certificates: {...CONFIG.certificates, orderBudget: {...orderBudget, orders: 0}}};
const COUNT = 100;

test('waiting requests are parsed once, judged again only if something changes, and compared with no other claims', async () => {
  for (let n = 0; n < COUNT; n++) {
    const spec = {...claim().spec, orders: [{at: '2026-10-01T00:00:00Z'}]};
    const other = {...claim(), metadata: {name: `other-${n}.test`}, spec};
    claims.upsert(other);
    Object.defineProperty(other, 'spec', {get: () => ++reads.otherClaims && spec});
  }
  waitFor(COUNT);
  const run = start(isFull);
  expect(await run()).toEqual(after(10 * SECOND));
  expect(reads).toMatchObject({request: COUNT, otherClaims: 0});
  const before = {...reads};
  expect(await run()).toEqual(after(10 * SECOND));
  expect(reads).toEqual(before);
  claims.upsert({...claim(), metadata: {name: 'a.test', resourceVersion: '2'}});
  expect(await run()).toEqual(after(10 * SECOND));
  expect(reads).toMatchObject({request: COUNT, otherClaims: 0});
  expect(reads.usages).toBeGreaterThan(before.usages);
});

test('many new requests are parsed in several turns of the event loop, so the lease is renewed meanwhile', async () => {
  waitFor(COUNT);
  parseMs = 1;
  let turns = 0;
  let outcome: unknown;
  const ended = reconcile().then(result => {
    outcome = result;
  });
  for (; outcome === undefined; turns++) await turn();
  await ended;
  expect(outcome).toEqual(done());
  expect(turns).toBeGreaterThanOrEqual(COUNT / 10);
  expect(requests.size).toBe(0);
});

test('a pass parses as many new requests as it has time for, and places the orders of these', async () => {
  waitFor(COUNT);
  parseMs = SECOND;
  expect(await reconcile()).toEqual(after(SECOND));
  expect(requests.size).toBe(COUNT - 15);
  for (let outcome = await reconcile(); outcome.kind !== 'done'; ) outcome = await reconcile();
  expect(requests.size).toBe(0);
});
