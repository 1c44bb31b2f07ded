/**
 * The orders placed so far. They are recorded in the cluster, so they survive a restart, a change of leader, and a
 * tenant that removes and re-adds its hosts and Projects. They are on the claims, and on HeldHosts for default hosts;
 * only the operator writes either.
 */
import {dayOf, timestamp} from '../../api/conditions.ts';
import {registrableDomain} from '../../dns/dns.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {namespaceOf} from '../model/ca-account.ts';
import {approvedAtMs} from '../model/certificate-request.ts';
import type {OperatorConfig} from '../model/config.ts';
import {type CertificateRequest, DOMAIN_CLAIM, type DomainClaim, HELD_HOSTS, HELD_HOSTS_NAME} from '../model/kinds.ts';
import type {Context, Operator} from '../state/context.ts';
import {readFresh} from '../state/fresh.ts';
import {accountIn, INDEX} from '../state/stores.ts';
import type {MadeOrder} from './order-ledger.ts';

type Order = NonNullable<DomainClaim['spec']['orders']>[number];

/** The limit in the CRDs. */
const MAX_ORDERS = 20;
const DAY_MS = 86_400_000;

/** In short steps: there may be tens of thousands. */
export function* madeOrders(operator: Operator, caAccount: string): Generator<void, MadeOrder[]> {
  const {stores, config, clock} = operator;
  const namespace = namespaceOf(caAccount);
  const isOfAccount = (other: string | undefined) => namespace === undefined || namespace === other;
  const nowMs = clock.now();
  const days = countingDays(config, nowMs);
  const made: MadeOrder[][] = [];
  const recorded = new Set<string | undefined>();
  for (const {metadata, spec} of new Set(days.flatMap(day => stores.claims.byIndex(INDEX.orderDay, day)))) {
    if (spec.orders && isOfAccount(spec.namespace)) made.push(ordersOf(metadata.name, spec.account, spec.orders));
    yield;
  }
  for (const {metadata, spec} of new Set(days.flatMap(day => stores.heldHosts.byIndex(INDEX.orderDay, day)))) {
    if (!isOfAccount(metadata.namespace)) continue;
    const account = accountIn(stores, metadata.namespace) ?? '';
    for (const [host, orders] of Object.entries(spec.orders ?? {})) {
      made.push(ordersOf(host, account, orders));
      for (const {request} of orders) recorded.add(request);
    }
  }
  made.push(unrecordedOrders(operator, caAccount, recorded));
  const sinceMs = nowMs - rememberMs(config);
  const counting = made.flat().filter(({atMs}) => atMs > sinceMs);
  return counting.map(order => (order.atMs > nowMs ? {...order, atMs: nowMs} : order)); // it may be of another clock
}

/** By their record: cached objects never change. */
const known = new WeakMap<DeepReadonly<Order[]>, MadeOrder[]>();

function ordersOf(host: string, account: string, orders: DeepReadonly<Order[]>): MadeOrder[] {
  const before = known.get(orders);
  if (before && (before[0]?.account ?? account) === account) return before;
  const domain = registrableDomain(host) ?? host;
  const made = orders.map(({at, renewal = false}) => ({host, account, domain, renewal, atMs: Date.parse(at)}));
  known.set(orders, made);
  return made;
}

/** As `INDEX.orderDay` names them. Tomorrow, too: an order may be of another clock. */
function countingDays(config: OperatorConfig, nowMs: number): string[] {
  const count = Math.ceil(rememberMs(config) / DAY_MS) + 2;
  return Array.from({length: count}, (_, n) => dayOf(timestamp(nowMs + (1 - n) * DAY_MS)));
}

/** Orders of exempt namespaces, and of default hosts before 0.2, are known while their requests exist. */
function unrecordedOrders(
  operator: Operator,
  caAccount: string,
  recorded: ReadonlySet<string | undefined>,
): MadeOrder[] {
  const {stores, config} = operator;
  const {baseDomain} = config.platform;
  const domain = registrableDomain(baseDomain) ?? baseDomain;
  const approved = stores.certificateRequests?.byIndex(INDEX.approvedWithoutClaim, caAccount) ?? [];
  const unrecorded = approved.filter(({metadata}) => !recorded.has(metadata.uid));
  return unrecorded.map(request => {
    const {name, namespace = ''} = request.metadata;
    return {
      host: `${namespace}/${name}`,
      account: accountIn(stores, namespace) ?? '',
      domain,
      renewal: false,
      atMs: approvedAtMs(request),
    };
  });
}

/** Recorded, but not approved yet: the process died between recording and approving. */
export function isRecorded(
  orders: DeepReadonly<Order[]> | undefined,
  {metadata: {uid}}: DeepReadonly<CertificateRequest>,
): boolean {
  return orders?.some(({request}) => request !== undefined && request === uid) ?? false;
}

/** A default host has no claim, so its orders are on the record of its namespace, which outlives the Project. */
export function defaultHostOrders(
  {stores}: Operator,
  {metadata}: DeepReadonly<CertificateRequest>,
  host: string,
): DeepReadonly<Order[]> | undefined {
  return stores.heldHosts.get(`${metadata.namespace}/${HELD_HOSTS_NAME}`)?.spec.orders?.[host];
}

/** Called before the request is approved, so that no order is forgotten. */
export async function recordOrder(
  context: Context,
  claim: DeepReadonly<DomainClaim>,
  request: DeepReadonly<CertificateRequest>,
  renewal: boolean,
): Promise<void> {
  const orders = withOrder(context, claim.spec.orders, request, renewal);
  await context.client.replace(DOMAIN_CLAIM, {...claim, spec: {...claim.spec, orders}}, {signal: context.signal});
}

/**
 * Records the order, unless it is recorded already. Reads the record from the API server, because a namespace's default
 * hosts share it: the cache may lack the order before this one. Returns false if there is none: another controller
 * creates it, soon after the first Project. If somebody else writes to it at the same time, this throws Conflict.
 */
export async function recordDefaultHostOrder(
  context: Context,
  host: string,
  request: DeepReadonly<CertificateRequest>,
  renewal: boolean,
): Promise<boolean> {
  const {namespace = ''} = request.metadata;
  const record = await readFresh(context, HELD_HOSTS, {namespace, name: HELD_HOSTS_NAME});
  if (!record) return false;
  const before = record.spec.orders ?? {};
  if (isRecorded(before[host], request)) return true;
  const {resourceVersion} = record.metadata;
  const forgotten = Object.keys(before).filter(name => counting(context, before[name]).length === 0);
  const orders = {
    ...Object.fromEntries(forgotten.map(name => [name, null])),
    [host]: withOrder(context, before[host], request, renewal),
  };
  const patch = {metadata: {resourceVersion}, spec: {orders}};
  await context.client.patch(HELD_HOSTS, {namespace, name: HELD_HOSTS_NAME}, patch, {signal: context.signal});
  return true;
}

function withOrder(
  operator: Operator,
  before: DeepReadonly<Order[]> | undefined,
  {metadata: {uid}}: DeepReadonly<CertificateRequest>,
  renewal: boolean,
): Order[] {
  const order = {at: timestamp(operator.clock.now()), ...(uid && {request: uid}), ...(renewal && {renewal})};
  return [...counting(operator, before), order].slice(-MAX_ORDERS);
}

function counting({config, clock}: Operator, orders: DeepReadonly<Order[]> = []): Order[] {
  const sinceMs = clock.now() - rememberMs(config);
  return orders.filter(({at}) => Date.parse(at) > sinceMs);
}

/** For how long an order counts. */
export function rememberMs({certificates}: OperatorConfig): number {
  const {windowSeconds, domainWindowSeconds} = certificates.orderBudget;
  return Math.max(windowSeconds, domainWindowSeconds) * 1000;
}

/** When the last order was placed for the host; undefined if none is recorded. */
export function lastOrderMs(claim: DeepReadonly<DomainClaim> | undefined): number | undefined {
  const last = claim?.spec.orders?.at(-1);
  return last && Date.parse(last.at);
}
