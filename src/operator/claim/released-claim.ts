/** Deletes the claim of a host that its account has given up, and of a default host whose Project is gone. */
import type {Reconcile} from '../../runtime/controller/controller.ts';
import type {Manager} from '../../runtime/controller/manager.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import {self} from '../caches/changes.ts';
import type {Base} from '../caches/context.ts';
import {deleteAsRead} from '../caches/fresh.ts';
import {INDEX, type Stores} from '../caches/stores.ts';
import type {OperatorConfig} from '../config/config.ts';
import {DOMAIN_CLAIM, type DomainClaim} from '../kinds/kinds.ts';
import {countsForMs, lastOrderMs} from './order-records.ts';
import {limitsOf} from './order-windows.ts';

/**
 * In this time, what was approved for a released host is withdrawn. A claim that records nothing else is not needed any
 * longer: a tenant whose zone proves every name could otherwise leave a hundred thousand of them in a day.
 */
const WITHDRAWN_MS = 600_000;
/** How often to look whether the Project of a default host still exists. */
const PROJECT_MS = 3_600_000;

interface ReleaseParts {
  readonly stores: {
    readonly claims: Pick<Stores['claims'], 'get'>;
    readonly projects: Pick<Stores['projects'], 'state' | 'byIndex'>;
    readonly acmeIssuers: Pick<Stores['acmeIssuers'], 'list'>;
  };
  readonly config: Pick<OperatorConfig, 'claims'>;
  readonly clock: Pick<Clock, 'now'>;
}

export function addReleasedClaimController(manager: Pick<Manager, 'controller'>, operator: Base): void {
  manager
    .controller({name: 'released-claim', reconcile: reconcileReleasedClaim(operator), workers: 1})
    .watch(operator.stores.claims, self);
}

/** Keys are hosts. A released claim lingers, blocks nobody, and is deleted once nothing that it records counts. */
export function reconcileReleasedClaim(operator: ReleaseParts): Reconcile {
  const {stores, config, clock} = operator;
  return async (host, api) => {
    const claim = stores.claims.get(host);
    if (!claim || claim.metadata.deletionTimestamp) return done();
    if (claim.spec.project !== undefined && isInUse(operator, claim)) return after(PROJECT_MS);
    const {releasedAt = claim.spec.project === undefined ? undefined : claim.spec.since} = claim.spec;
    if (releasedAt === undefined) return done();
    const {failures = [], orders = []} = claim.spec;
    const lingerMs = config.claims.lingerSeconds * 1000;
    const isNeeded = failures.length > 0 || orders.length > 0;
    const lingersUntilMs = Date.parse(releasedAt) + (isNeeded ? lingerMs : Math.min(lingerMs, WITHDRAWN_MS));
    const leftMs = Math.max(lingersUntilMs, countsUntilMs(operator, claim)) - clock.now();
    if (leftMs > 0) return after(leftMs);
    if (claim.spec.issuance && claim.spec.project === undefined) return done(); // until its authorization is deactivated
    await deleteAsRead(api, DOMAIN_CLAIM, claim);
    return done();
  };
}

/** Until its cache is synced, a Project that is missing from it may exist. */
function isInUse({stores}: ReleaseParts, {metadata, spec}: DeepReadonly<DomainClaim>): boolean {
  if (stores.projects.state !== 'synced') return true;
  return stores.projects.byIndex(INDEX.defaultHost, `${spec.namespace}/${metadata.name}`).length > 0;
}

/** Until then, the orders count against the limits of their CA. */
function countsUntilMs({stores}: ReleaseParts, claim: DeepReadonly<DomainClaim>): number {
  const lastMs = lastOrderMs(claim) ?? 0;
  const lengths = [...stores.acmeIssuers.list()].map(({spec}) => countsForMs(limitsOf(spec)));
  return lastMs === 0 ? 0 : lastMs + Math.max(0, ...lengths);
}
