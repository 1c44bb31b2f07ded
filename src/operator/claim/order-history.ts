/** The orders placed so far, as the claims record them: a restart, or a host that is removed and added, forgets none. */
import {dayOf, timestamp} from '../../api/conditions.ts';
import {registrableDomain} from '../../dns/dns.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Base} from '../caches/context.ts';
import {INDEX} from '../caches/stores.ts';
import type {DomainClaim} from '../kinds/kinds.ts';
import type {CaLimits, PlacedOrder} from './order-windows.ts';

type Orders = DeepReadonly<NonNullable<DomainClaim['spec']['orders']>>;

const DAY_MS = 86_400_000;

/** In short steps: there may be tens of thousands. */
export function* placedOrders(
  {stores}: Pick<Base, 'stores'>,
  issuer: string,
  limits: CaLimits,
  nowMs: number,
): Generator<void, PlacedOrder[]> {
  const placed: PlacedOrder[][] = [];
  for (const {metadata, spec} of new Set(countingDays(limits, nowMs).flatMap(day => claimsOf(stores, day)))) {
    placed.push(ordersOf(metadata.name, spec.account, spec.orders ?? []).filter(order => order.issuer === issuer));
    yield;
  }
  return placed.flat();
}

/** For how long an order counts, in milliseconds. */
export function countsForMs({windowSeconds, domainWindowSeconds, hostWindowSeconds}: CaLimits): number {
  return Math.max(windowSeconds, domainWindowSeconds, hostWindowSeconds) * 1000;
}

/** When the last order was placed for the host; undefined if none is recorded. */
export function lastOrderMs(claim: DeepReadonly<DomainClaim> | undefined): number | undefined {
  const last = claim?.spec.orders?.at(-1);
  return last && Date.parse(last.at);
}

interface RecordedOrder extends PlacedOrder {
  readonly issuer: string;
}

/** By their record: cached objects never change. */
const known = new WeakMap<Orders, RecordedOrder[]>();

function ordersOf(host: string, account: string, orders: Orders): RecordedOrder[] {
  const before = known.get(orders);
  if (before && (before[0]?.account ?? account) === account) return before;
  const domain = registrableDomain(host) ?? host;
  const made = orders.map(({at, issuer, renewal = false}) => {
    return {host, account, domain, renewal, issuer, atMs: Date.parse(at)};
  });
  known.set(orders, made);
  return made;
}

function claimsOf({claims}: Base['stores'], day: string) {
  return claims.byIndex(INDEX.orderDay, day);
}

/** As `INDEX.orderDay` names them. Tomorrow, too: an order may be of another clock. */
function countingDays(limits: CaLimits, nowMs: number): string[] {
  const count = Math.ceil(countsForMs(limits) / DAY_MS) + 2;
  return Array.from({length: count}, (_, n) => dayOf(timestamp(nowMs + (1 - n) * DAY_MS)));
}
