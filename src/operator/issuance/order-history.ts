/**
 * The orders placed so far. They are recorded in the cluster, so they survive a restart, a change of leader, and a
 * tenant that removes and re-adds its hosts and Projects. They are on the claims, and on HeldHosts for default hosts;
 * only the operator writes either.
 */
import {timestamp} from '../../api/conditions.ts';
import {registrableDomain} from '../../dns/dns.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {namespaceOf} from '../model/ca-account.ts';
import {approvedAtMs} from '../model/certificate-request.ts';
import type {OperatorConfig} from '../model/config.ts';
import {type CertificateRequest, DOMAIN_CLAIM, type DomainClaim, HELD_HOSTS, HELD_HOSTS_NAME} from '../model/kinds.ts';
import type {Context, Operator} from '../state/context.ts';
import {accountIn, INDEX} from '../state/stores.ts';
import type {MadeOrder} from './order-ledger.ts';

type Order = NonNullable<DomainClaim['spec']['orders']>[number];

/** The limit in the CRDs. */
const MAX_ORDERS = 20;

export function madeOrders(operator: Operator, caAccount: string): MadeOrder[] {
  const {stores, config, clock} = operator;
  const namespace = namespaceOf(caAccount);
  const isOfAccount = (other: string) => namespace === undefined || namespace === other;
  const nowMs = clock.now();
  const sinceMs = nowMs - rememberMs(config);
  const made: MadeOrder[] = [];
  const recorded = new Set<string | undefined>();
  const add = (host: string, account: string, orders: DeepReadonly<Order[]> = []) => {
    if (orders.length === 0) return; // most claims
    const domain = registrableDomain(host) ?? host;
    for (const {at, request, renewal = false} of orders) {
      recorded.add(request);
      const atMs = Math.min(Date.parse(at), nowMs); // it may be of another clock
      if (atMs > sinceMs) made.push({host, account, domain, renewal, atMs});
    }
  };
  for (const {metadata, spec} of stores.claims.list()) {
    if (isOfAccount(spec.namespace)) add(metadata.name, spec.account, spec.orders);
  }
  for (const {metadata, spec} of stores.heldHosts.list()) {
    const {namespace: holder = ''} = metadata;
    if (!spec.orders || !isOfAccount(holder)) continue;
    for (const [host, orders] of Object.entries(spec.orders)) add(host, accountIn(stores, holder) ?? '', orders);
  }
  return [...made, ...unrecordedOrders(operator, caAccount, recorded)];
}

/** Orders of exempt namespaces, and of default hosts before 0.2, are known while their requests exist. */
function unrecordedOrders(
  operator: Operator,
  caAccount: string,
  recorded: ReadonlySet<string | undefined>,
): MadeOrder[] {
  const {stores, config} = operator;
  const {baseDomain} = config.platform;
  const approved = stores.certificateRequests?.byIndex(INDEX.approvedWithoutClaim, caAccount) ?? [];
  const unrecorded = approved.filter(({metadata}) => !recorded.has(metadata.uid));
  return unrecorded.map(request => {
    const {name, namespace = ''} = request.metadata;
    return {
      host: `${namespace}/${name}`,
      account: accountIn(stores, namespace) ?? '',
      domain: registrableDomain(baseDomain) ?? baseDomain,
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
 * Writes at the version that was read: if the record has changed since, this throws Conflict. Returns false if there is
 * none: another controller creates it, soon after the first Project.
 */
export async function recordDefaultHostOrder(
  context: Context,
  host: string,
  request: DeepReadonly<CertificateRequest>,
  renewal: boolean,
): Promise<boolean> {
  const {namespace = ''} = request.metadata;
  const record = context.stores.heldHosts.get(`${namespace}/${HELD_HOSTS_NAME}`);
  if (!record) return false;
  const {resourceVersion} = record.metadata;
  const before = Object.entries(record.spec.orders ?? {});
  const forgotten = before.filter(([, orders]) => counting(context, orders).length === 0);
  const orders = {
    ...Object.fromEntries(forgotten.map(([name]) => [name, null])),
    [host]: withOrder(context, record.spec.orders?.[host], request, renewal),
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
