/**
 * Keeps one record per namespace of the hosts that the namespace holds. The admission policy on ACME challenges reads
 * it, because a policy cannot look up a claim by the host in the object: its parameter is one fixed name per namespace.
 * The record remains in force while the operator is down, so renewals continue. The operator adds a host only after a
 * quorum read of its claim.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
 */
import {API_VERSION} from '../../api/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {accountOf, holderOf} from '../model/account.ts';
import {DOMAIN_CLAIM, type DomainClaim, HELD_HOSTS, HELD_HOSTS_NAME, type HeldHosts} from '../model/kinds.ts';
import type {ApiAccess, Context, Operator} from '../state/context.ts';
import {INDEX, isTerminating} from '../state/stores.ts';

/** Hosts are added at most this often, so that claims that arrive together cost one write. Removals never wait. */
const ADDING_PAUSE_MS = 1_000;

/** Keys are names of namespaces. */
export function reconcileHeldHosts(operator: Operator): Reconcile {
  const {stores, clock} = operator;
  /** When hosts may be added again, by namespace, on the monotonic clock. */
  const restsUntilMs = new Map<string, number>();
  return async (namespace, {client, signal}) => {
    const context = {...operator, client, signal};
    const sources = [stores.claims, stores.projects, stores.namespaces, stores.heldHosts];
    if (sources.some(({state}) => state !== 'synced')) return after(1000);
    if (!stores.namespaces.get(namespace)) {
      restsUntilMs.delete(namespace);
      return done();
    }
    const ends = isTerminating(stores, namespace); // no host may be added, but lost ones must still be removed
    const record = stores.heldHosts.get(`${namespace}/${HELD_HOSTS_NAME}`);
    const before = record?.spec.hosts ?? {};
    const wanted = heldHosts(operator, namespace);
    const missing = ends ? {} : without(wanted, before);
    const restMs = Object.keys(missing).length > 0 ? (restsUntilMs.get(namespace) ?? 0) - clock.monotonic() : 0;
    const added = restMs > 0 ? {} : await confirmed(context, namespace, missing);
    const rest = (): Outcome => {
      if (Object.keys(added).length > 0) restsUntilMs.set(namespace, clock.monotonic() + ADDING_PAUSE_MS);
      return restMs > 0 ? after(restMs) : done();
    };
    const removed = Object.keys(without(before, wanted));
    if (Object.keys(added).length === 0 && removed.length === 0) return rest();
    const metadata = {namespace, name: HELD_HOSTS_NAME};
    if (!record) {
      const object = {apiVersion: API_VERSION, kind: HELD_HOSTS.kind, metadata, spec: {hosts: added}};
      await client.create(HELD_HOSTS, object, {signal});
      return rest();
    }
    // Removals come first, in their own request: a failed addition must not keep a lost host in the record.
    const gone = removed.filter(host => wanted[host] === undefined);
    const kept =
      gone.length > 0 ? await change(context, record, Object.fromEntries(gone.map(host => [host, null]))) : record;
    if (Object.keys(added).length > 0) await change(context, kept, added);
    return rest();
  };
}

function change(
  {client, signal}: ApiAccess,
  {metadata: {namespace, name, resourceVersion}}: DeepReadonly<HeldHosts>,
  hosts: Readonly<Record<string, string | null>>,
): Promise<HeldHosts> {
  return client.patch(HELD_HOSTS, {namespace, name}, {metadata: {resourceVersion}, spec: {hosts}}, {signal});
}

/**
 * By host, the UID of what makes it the namespace's: a claim, or the Project whose default host has its own
 * certificate.
 */
function heldHosts(operator: Operator, namespace: string): Record<string, string> {
  const {stores, config, places} = operator;
  const claims = stores.claims.byIndex(INDEX.namespace, namespace).filter(claim => isHeld(operator, namespace, claim));
  const own = config.defaultHost.tls === 'certificate' ? places.in(namespace) : [];
  return Object.fromEntries([
    ...own.map(({metadata: {uid = ''}, defaultHost}) => [defaultHost, uid]),
    ...claims.map(({metadata: {name, uid = ''}}) => [name, uid]),
  ]);
}

function isHeld({stores, config}: Operator, namespace: string, claim: DeepReadonly<DomainClaim> | undefined): boolean {
  const object = stores.namespaces.get(namespace);
  return object !== undefined && holderOf(claim, accountOf(object, config), namespace) === 'us';
}

/** Reads from the API server itself, not from the cache, because the record permits challenges. */
async function confirmed(
  context: Context,
  namespace: string,
  hosts: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [host, uid] of Object.entries(hosts)) {
    const isClaim = context.stores.claims.get(host) !== undefined;
    const claim = isClaim ? await context.client.get(DOMAIN_CLAIM, {name: host}, {signal: context.signal}) : undefined;
    if (!isClaim || isHeld(context, namespace, claim)) kept[host] = uid;
  }
  return kept;
}

function without(
  from: Readonly<Record<string, string>>,
  these: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([host, uid]) => these[host] !== uid));
}
