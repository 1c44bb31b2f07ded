/**
 * Keeps one record per namespace of the hosts that the namespace holds. The admission policy on ACME challenges reads
 * it, because a policy cannot look up a claim by the host in the object: its parameter is one fixed name per namespace.
 * The record remains in force while the operator is down, so renewals continue. The operator adds a host only after a
 * quorum read of its claim.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
 */

import {hostBytes, MAX_RECORD_BYTES, recordBytes} from '../../api/held-hosts-size.ts';
import {API_VERSION} from '../../api/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {accountOf, holderOf} from '../model/account.ts';
import {DOMAIN_CLAIM, type DomainClaim, HELD_HOSTS, HELD_HOSTS_NAME, type HeldHosts} from '../model/kinds.ts';
import type {ApiAccess, Context, Operator} from '../state/context.ts';
import {INDEX, isTerminating} from '../state/stores.ts';

/** Hosts are added at most this often, so that claims that arrive together cost one write. Removals never wait. */
const ADDING_PAUSE_MS = 1_000;
/**
 * For how long one reconcile reads claims, well below its deadline: after a restore without HeldHosts, thousands of
 * hosts are missing. The next one continues with the rest, and a removal waits no longer than this.
 */
const CONFIRM_MS = 2_000;

const FULL =
  'The HeldHosts record of this namespace is full: the hosts left out get no certificates. Move hosts to other namespaces of the account.';

/** Keys are names of namespaces. */
export function reconcileHeldHosts(operator: Operator): Reconcile {
  const {stores, clock} = operator;
  /** When hosts may be added again, by namespace, on the monotonic clock. */
  const restsUntilMs = new Map<string, number>();
  /** Namespaces whose record was full, so that the log says it once. */
  const full = new Set<string>();
  return async (namespace, {client, signal, logger}) => {
    const context = {...operator, client, signal};
    const sources = [stores.claims, stores.projects, stores.namespaces, stores.heldHosts];
    if (sources.some(({state}) => state !== 'synced')) return after(1000);
    if (!stores.namespaces.get(namespace)) {
      restsUntilMs.delete(namespace);
      full.delete(namespace);
      return done();
    }
    const ends = isTerminating(stores, namespace); // no host may be added, but lost ones must still be removed
    const record = stores.heldHosts.get(`${namespace}/${HELD_HOSTS_NAME}`);
    const wanted = heldHosts(operator, namespace);
    // Removals come first, in their own request: a failed or slow addition must not keep a lost host in the record.
    const gone = Object.keys(record?.spec.hosts ?? {}).filter(host => wanted[host] === undefined);
    const lost = Object.fromEntries(gone.map(host => [host, null]));
    const kept = record && gone.length > 0 ? await change(context, record, lost) : record;
    const hosts = kept?.spec.hosts ?? {};
    const {fits, left} = divide(operator, hosts, ends ? {} : without(wanted, hosts));
    if (left > 0 && !full.has(namespace)) logger.warn({left, hosts: Object.keys(hosts).length}, FULL);
    if (left > 0) full.add(namespace);
    else full.delete(namespace);
    if (fits.length === 0) return done();
    const restMs = (restsUntilMs.get(namespace) ?? 0) - clock.monotonic();
    if (restMs > 0) return after(restMs);
    const {added, isCut} = await confirmed(context, namespace, fits);
    if (Object.keys(added).length > 0) {
      const metadata = {namespace, name: HELD_HOSTS_NAME};
      const object = {apiVersion: API_VERSION, kind: HELD_HOSTS.kind, metadata, spec: {hosts: added}};
      await (kept ? change(context, kept, added) : client.create(HELD_HOSTS, object, {signal}));
    }
    if (isCut) return after(0);
    if (Object.keys(added).length > 0) restsUntilMs.set(namespace, clock.monotonic() + ADDING_PAUSE_MS);
    return done();
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
  const claims = operator.stores.claims.byIndex(INDEX.namespace, namespace);
  const held = claims.filter(claim => isHeld(operator, namespace, claim));
  const ofClaims = held.map(({metadata: {name, uid = ''}}) => [name, uid]);
  return {...defaultHosts(operator, namespace), ...Object.fromEntries(ofClaims)};
}

function defaultHosts({config, places}: Operator, namespace: string): Record<string, string> {
  const own = config.defaultHost.tls === 'certificate' ? places.in(namespace) : [];
  return Object.fromEntries(own.map(({metadata: {uid = ''}, defaultHost}) => [defaultHost, uid]));
}

function isHeld({stores, config}: Operator, namespace: string, claim: DeepReadonly<DomainClaim> | undefined): boolean {
  const object = stores.namespaces.get(namespace);
  return object !== undefined && holderOf(claim, accountOf(object, config), namespace) === 'us';
}

/**
 * The missing hosts for which the record has room, and how many are left. After a loss of the record, default hosts and
 * hosts whose certificates were ordered come first, so that they can be renewed. Then the oldest claim comes first.
 * Default hosts always have room: plans limit them, and no Domain could say that one is left.
 */
function divide(
  {stores}: Operator,
  before: Readonly<Record<string, string>>,
  missing: Readonly<Record<string, string>>,
): {readonly fits: readonly (readonly [host: string, uid: string])[]; readonly left: number} {
  let roomBytes = Math.max(MAX_RECORD_BYTES - recordBytes(before), 0);
  const bytesOf = (host: string) => (before[host] === undefined && stores.claims.get(host) ? hostBytes(host) : 0);
  const rankOf = (host: string) => {
    const spec = stores.claims.get(host)?.spec;
    return spec ? `${spec.orders?.length ? 1 : 2} ${spec.since}` : '0';
  };
  const all = Object.entries(missing);
  const fits = all
    .filter(([host]) => bytesOf(host) <= roomBytes) // in a full record, this leaves little to sort
    .map(([host, uid]) => ({host, uid, rank: rankOf(host)}))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : Number(a.rank > b.rank)))
    .filter(({host}) => {
      const isFit = bytesOf(host) <= roomBytes;
      if (isFit) roomBytes -= bytesOf(host);
      return isFit;
    })
    .map(({host, uid}) => [host, uid] as const);
  return {fits, left: all.length - fits.length};
}

/** Reads from the API server itself, not from the cache, because the record permits challenges. */
async function confirmed(
  context: Context,
  namespace: string,
  hosts: readonly (readonly [host: string, uid: string])[],
): Promise<{readonly added: Readonly<Record<string, string>>; readonly isCut: boolean}> {
  const {client, signal, clock} = context;
  const defaults = defaultHosts(context, namespace);
  const added: Record<string, string> = {};
  const untilMs = clock.monotonic() + CONFIRM_MS;
  for (const [host, uid] of hosts) {
    if (clock.monotonic() > untilMs) return {added, isCut: true};
    const isDefault = defaults[host] === uid;
    const claim = isDefault ? undefined : await client.get(DOMAIN_CLAIM, {name: host}, {signal});
    if (isDefault || isHeld(context, namespace, claim)) added[host] = uid;
  }
  return {added, isCut: false};
}

function without(
  from: Readonly<Record<string, string>>,
  these: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([host, uid]) => these[host] !== uid));
}
