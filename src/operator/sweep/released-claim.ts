/** Deletes the claim of a host that its account has given up. */
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {lastOrderMs, rememberMs} from '../issuance/order-history.ts';
import {DOMAIN_CLAIM} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {deleteAsRead} from '../state/fresh.ts';

/**
 * In this time, what was approved for a released host is withdrawn. A claim that records nothing else is not needed any
 * longer: a tenant whose zone proves every name could otherwise leave a hundred thousand of them in a day.
 */
const WITHDRAWN_MS = 600_000;

/** Keys are hosts. A released claim lingers, blocks nobody, and is deleted once nothing that it records counts. */
export function reconcileReleasedClaim({stores, config, clock}: Operator): Reconcile {
  return async (host, api) => {
    const claim = stores.claims.get(host);
    if (!claim?.spec.releasedAt || claim.metadata.deletionTimestamp) return done();
    const {releasedAt, failures = []} = claim.spec;
    const lastMs = lastOrderMs(claim);
    const lingerMs = config.claims.lingerSeconds * 1000;
    const isNeeded = failures.length > 0 || lastMs !== undefined;
    const lingersUntilMs = Date.parse(releasedAt) + (isNeeded ? lingerMs : Math.min(lingerMs, WITHDRAWN_MS));
    const leftMs = Math.max(lingersUntilMs, (lastMs ?? 0) + rememberMs(config)) - clock.now();
    if (leftMs > 0) return after(leftMs);
    await deleteAsRead(api, DOMAIN_CLAIM, claim);
    return done();
  };
}
