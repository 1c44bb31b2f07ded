/**
 * The orders that were made, from what the cluster holds: so a restart, another leader, or a tenant that removes and adds
 * its hosts forgets none. Those of custom hosts stand on the claims, which the operator alone writes.
 */
import {timestamp} from '../../api/conditions.ts';
import {registrableDomain} from '../../dns/names.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {accountId} from '../account.ts';
import type {OperatorConfig} from '../config.ts';
import type {Operator} from '../context.ts';
import {type CertificateRequest, DOMAIN_CLAIM, type DomainClaim} from '../resources.ts';
import {INDEX} from '../stores.ts';
import type {MadeOrder} from './budget.ts';
import {namespaceOf} from './ca-account.ts';

/** As the schema of the claim allows. */
const MAX_ORDERS = 20;

export function madeOrders(operator: Operator, caAccount: string): MadeOrder[] {
  const {stores, config, clock} = operator;
  const namespace = namespaceOf(caAccount);
  const sinceMs = clock.now() - rememberMs(config);
  const made: MadeOrder[] = [];
  for (const {metadata, spec} of stores.claims.list()) {
    if (namespace !== undefined && spec.namespace !== namespace) continue;
    const {name: host} = metadata;
    for (const {at, renewal = false} of spec.orders ?? []) {
      const atMs = Date.parse(at);
      if (atMs <= sinceMs) continue;
      made.push({host, account: spec.account, domain: registrableDomain(host) ?? host, renewal, atMs});
    }
  }
  return [...made, ...ordersWithoutClaim(operator, caAccount)];
}

/** Those of default hosts and of exempt namespaces are known as long as their requests are kept. */
function ordersWithoutClaim({stores, config}: Operator, caAccount: string): MadeOrder[] {
  const {baseDomain} = config.platform;
  const approved = stores.certificateRequests?.byIndex(INDEX.approvedWithoutClaim, caAccount) ?? [];
  return approved.map(({metadata: {name, namespace = ''}, status}) => {
    const object = stores.namespaces.get(namespace);
    return {
      host: `${namespace}/${name}`,
      account: object ? accountId(object) : '',
      domain: registrableDomain(baseDomain) ?? baseDomain,
      renewal: false,
      atMs: Date.parse(status?.conditions?.[0]?.lastTransitionTime ?? ''),
    };
  });
}

/** Recorded, but not let through yet: whoever was at it has died. */
export function isRecorded(
  claim: DeepReadonly<DomainClaim> | undefined,
  {metadata}: DeepReadonly<CertificateRequest>,
): boolean {
  return claim?.spec.orders?.some(({request}) => request !== undefined && request === metadata.uid) ?? false;
}

/** Before the order is let through, so that none is forgotten. */
export async function recordOrder(
  {config, clock}: Operator,
  claim: DeepReadonly<DomainClaim>,
  {metadata: {uid}}: DeepReadonly<CertificateRequest>,
  renewal: boolean,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const nowMs = clock.now();
  const kept = (claim.spec.orders ?? []).filter(({at}) => Date.parse(at) > nowMs - rememberMs(config));
  const orders = [...kept, {at: timestamp(nowMs), ...(uid && {request: uid}), ...(renewal && {renewal})}].slice(
    -MAX_ORDERS,
  );
  await client.replace(DOMAIN_CLAIM, {...claim, spec: {...claim.spec, orders}}, {signal});
}

/** For how long an order counts. */
export function rememberMs({certificates}: OperatorConfig): number {
  const {windowSeconds, domainWindowSeconds} = certificates.orderBudget;
  return Math.max(windowSeconds, domainWindowSeconds) * 1000;
}

/** When the last order was made for the host; undefined where none is remembered. */
export function lastOrderMs(claim: DeepReadonly<DomainClaim> | undefined): number | undefined {
  const last = claim?.spec.orders?.at(-1);
  return last && Date.parse(last.at);
}
