/**
 * A pass over the certificate orders while many requests wait and the budget is used up: `node bench/loop/plan.ts
 * [REQUESTS] [ACCOUNTS] [CLAIMS]`, by default 20,000 of 1,000, and 100,000 claims of live hosts. Nothing is due, so the
 * pass reads the caches, plans, and publishes, and writes nothing. Prints how long it takes, and for how long at most it
 * occupies the event loop: the first pass, which reads all requests, with code that has not run before, and the median
 * of those that follow. It also prints how long reading the recorded orders and planning take.
 */
import {setImmediate as turn} from 'node:timers/promises';
import {pino} from 'pino';
import {timestamp} from '../../src/api/conditions.ts';
import {LABEL} from '../../src/api/names.ts';
import {parseConfig} from '../../src/config/load-config.ts';
import {KnownSince} from '../../src/operator/caches/known-since.ts';
import {createPlaces} from '../../src/operator/caches/places.ts';
import {createStores} from '../../src/operator/caches/stores.ts';
import {placedOrders} from '../../src/operator/claim/order-records.ts';
import {type CaLimits, decideOrders, type WaitingOrder} from '../../src/operator/claim/order-windows.ts';
import type {OperatorConfig} from '../../src/operator/config/config.ts';
import {operatorConfigDefinition} from '../../src/operator/config/schema.ts';
import {traefik} from '../../src/operator/edge/traefik.ts';
import {OrderSchedule} from '../../src/operator/issuer/order-schedule.ts';
import {reconcileOrders} from '../../src/operator/issuer/orders.ts';
import {routeName} from '../../src/operator/kinds/derived-names.ts';
import type {Operator} from '../../src/operator/operator.ts';
import {Store} from '../../src/runtime/cache/store.ts';
import type {Manager} from '../../src/runtime/controller/manager.ts';
import {atOnce} from '../../src/runtime/controller/turns.ts';
import {type KubeObject, keyOf} from '../../src/runtime/kube/object.ts';
import {systemClock} from '../../src/time/clock.ts';
import {pemOf} from '../../test/integration/approval/hostile-csr.ts';
import {signingRequest} from '../../test/integration/approval/signing-request.ts';
import {quantile} from '../statistics.ts';

const [requests = 20_000, accounts = 1000, claims = 100_000] = process.argv.slice(2).map(Number);
const PASSES = 41;
const DAY_MS = 86_400_000;
const config = parseConfig<OperatorConfig>(
  'platform: {baseDomain: apps.example.net, targetDomain: edge.example.net}\ncertificates: {issuerRef: {name: ca, kind: ACMEIssuer, group: nameplate.dev}}',
  'nameplate.yaml',
  operatorConfigDefinition,
);
const {certManagerUser, issuerRef} = config.certificates;
/** The defaults of an ACMEIssuer. */
const limits: CaLimits = {
  ...{orders: 300, windowSeconds: 10_800, renewalReserve: 60},
  ...{newHostsPerDomain: 50, domainWindowSeconds: 604_800, ordersPerHost: 5, hostWindowSeconds: 3600},
};
const nowMs = Date.now();

/** All hosts have the same length, so each can replace that of the one request that OpenSSL made. */
const hostOf = (n: number) => `h${pad(n)}.d${pad(n >> 1)}.example`;
const namespaceOf = (n: number) => `tenant-${n % accounts}`;
const pad = (n: number) => `${n}`.padStart(7, '0');
const pem = Buffer.from(await signingRequest({names: [`DNS:${hostOf(0)}`]}), 'base64').toString();
const der = Buffer.from(pem.replaceAll(/-----.*-----|\n/g, ''), 'base64');
const hostAt = der.indexOf(hostOf(0));

function requestFor(n: number): KubeObject {
  const host = hostOf(n);
  const signed = Buffer.from(der);
  signed.write(host, hostAt);
  const namespace = namespaceOf(n);
  const name = routeName(namespace, host);
  const metadata = {
    ...{namespace, name: `${name}-1`, uid: `request-${n}`, creationTimestamp: timestamp(nowMs - 1000 * (n % 3600))},
    ownerReferences: [{apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name, uid: `uid-${n}`, controller: true}],
  };
  const usages = ['digital signature', 'key encipherment'];
  const spec = {request: pemOf(signed), issuerRef, usages, username: certManagerUser};
  const status = {conditions: [{type: 'Approved', status: 'True', reason: 'HostHeld'}]};
  return {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata, spec, status} as KubeObject;
}

function certificateFor(n: number): KubeObject {
  const namespace = namespaceOf(n);
  const name = routeName(namespace, hostOf(n));
  // Every tenth is due.
  const status = n % 10 === 0 ? {renewalTime: timestamp(nowMs - DAY_MS)} : {};
  const metadata = {namespace, name, uid: `uid-${n}`, labels: {[LABEL.managedBy]: 'nameplate'}};
  const spec = {secretName: name, issuerRef, dnsNames: [hostOf(n)]};
  return {apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata, spec, status} as KubeObject;
}

function claimOf(n: number, orderedMs?: number): KubeObject {
  const namespace = namespaceOf(n);
  const orders =
    orderedMs === undefined
      ? {}
      : {orders: [{at: timestamp(orderedMs), issuer: issuerRef.name, request: `order-${n}`}]};
  const spec = {namespace, account: `uid-${namespace}`, since: timestamp(nowMs - 90 * DAY_MS), ...orders};
  return {apiVersion: 'nameplate.dev/v1alpha1', kind: 'DomainClaim', metadata: {name: hostOf(n)}, spec} as KubeObject;
}

function domainFor(n: number): KubeObject {
  const metadata = {namespace: namespaceOf(n), name: hostOf(n)};
  const spec = {host: hostOf(n), projectRef: {name: 'shop'}};
  return {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', metadata, spec} as KubeObject;
}

const many = <T>(count: number, of: (n: number) => T): T[] => Array.from({length: count}, (_, n) => of(n));
/** A week in which the budget was used up all the time, and the last orders of the other live hosts. */
const week = limits.domainWindowSeconds / limits.windowSeconds;
const counting = Math.min(claims, Math.floor(limits.orders * week));
const everyMs = (1000 * limits.windowSeconds) / limits.orders;
const orderedMs = (n: number) =>
  n < counting ? nowMs - n * everyMs : nowMs - (8 + (52 * (n - counting)) / claims) * DAY_MS;
const namespaces = many(accounts, n => {
  const name = namespaceOf(n);
  return {apiVersion: 'v1', kind: 'Namespace', metadata: {name, uid: `uid-${name}`}};
});
const contents: Readonly<Record<string, KubeObject[]>> = {
  CertificateRequest: many(requests, requestFor),
  Certificate: many(requests, certificateFor),
  Domain: many(requests, domainFor),
  ACMEIssuer: [
    {
      ...{apiVersion: 'nameplate.dev/v1alpha1', kind: 'ACMEIssuer', metadata: {name: issuerRef.name}},
      spec: {server: 'https://ca.example/directory', limits},
    } as KubeObject,
  ],
  DomainClaim: [...many(requests, n => claimOf(n)), ...many(claims, n => claimOf(requests + n, orderedMs(n)))],
  Namespace: namespaces,
};
const cache = ({kind}: {readonly kind: string}) => {
  const store = new Store({
    onHandlerError: error => {
      throw error;
    },
  });
  store.replace(new Map((contents[kind] ?? []).map(object => [keyOf(object), object])), '1');
  return store;
};
const edge = traefik(config.routing);
const stores = createStores(
  {cache} as unknown as Manager,
  config,
  {defaultHost: name => `${name}.apps.example.net`},
  edge,
);
/** Time that passes without anybody waiting for it: a pass rests for many times what it took. */
let skippedMs = 0;
const clock = {...systemClock, monotonic: () => performance.now() + skippedMs};
const operator = {
  ...{config, stores, clock, edge, places: createPlaces(stores, config, clock), knownSince: new KnownSince(clock)},
  ...{orderSchedule: new OrderSchedule(), earlyRenewals: new Set(), logger: pino({level: 'silent'})},
} as unknown as Operator;
const reconcile = reconcileOrders(operator);
const context = {signal: new AbortController().signal} as Parameters<typeof reconcile>[1];

interface Pass {
  readonly totalMs: number;
  /** The longest time between two turns of the event loop. */
  readonly longestMs: number;
}

async function pass(): Promise<Pass> {
  skippedMs += DAY_MS;
  let longestMs = 0;
  let isDone = false;
  let next = turn(); // before the pass begins its first turn
  const startsAt = performance.now();
  const ended = reconcile(issuerRef.name, context).then(() => performance.now() - startsAt);
  void ended.finally(() => {
    isDone = true;
  });
  for (let before = startsAt; !isDone; ) {
    await next;
    next = turn();
    const now = performance.now();
    longestMs = Math.max(longestMs, now - before);
    before = now;
  }
  return {totalMs: await ended, longestMs};
}

const figures = ({totalMs, longestMs}: Pass) => `${totalMs.toFixed(0)} ms, at most ${longestMs.toFixed(1)} ms at once`;
const first = await pass();
const others: Pass[] = [];
while (others.length < PASSES) others.push(await pass());
const worst = Math.max(...others.map(({longestMs}) => longestMs));
const median = (of: (pass: Pass) => number) => quantile(others.map(of), 0.5);
const usual = {totalMs: median(({totalMs}) => totalMs), longestMs: median(({longestMs}) => longestMs)};

const queue = many(requests, (n): WaitingOrder => {
  const [host, account] = [hostOf(n), `uid-${namespaceOf(n)}`];
  const sinceMs = nowMs - 1000 * (n % 3600);
  return {key: `request-${n}`, host, account, domain: `d${pad(n >> 1)}.example`, renewal: n % 10 === 0, sinceMs};
});
const planMs = Array.from({length: PASSES}, () => {
  const startsAt = performance.now();
  const placed = atOnce(placedOrders(operator, issuerRef.name, limits, nowMs));
  const {later} = atOnce(decideOrders(placed, queue, limits, nowMs));
  if (later.size !== requests) throw new Error('an order is not planned');
  return performance.now() - startsAt;
});
if (operator.orderSchedule.waiting(issuerRef.name) !== requests) throw new Error('an order does not wait');
process.stdout.write(`A pass over ${requests} requests of ${accounts} accounts, with ${claims} other claims, ${counting} orders of which count:
  the first: ${figures(first)}
  the others: ${figures(usual)} (medians of ${PASSES}; the most at once ${worst.toFixed(1)} ms)
  only reading the recorded orders and planning: ${quantile(planMs, 0.5).toFixed(0)} ms (median of ${PASSES})
`);
