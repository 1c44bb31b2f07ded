/**
 * Starts a renewal earlier than cert-manager does if the CA asks for it (ARI, RFC 9773): because it will revoke the
 * certificate, or to spread its load. cert-manager asks only for its own ACME issuers.
 */
import {createHash} from 'node:crypto';
import {AcmeError, CaUnreachable} from '../../acme/errors.ts';
import type {RenewalWindow} from '../../acme/objects.ts';
import {findCondition} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {freshAttempt} from '../certificate/certificate.ts';
import {isOfHolder} from '../claim/order-records.ts';
import {acmeIssuerOf} from '../kinds/issuers.ts';
import {CERTIFICATE, type DomainClaim} from '../kinds/kinds.ts';
import type {IssuerOperator} from './context.ts';

const HOUR_MS = 3_600_000;
/** How often a CA is asked about a certificate, unless it says otherwise. */
const POLL_MS = 6 * HOUR_MS;
const MIN_POLL_MS = 600_000;
const MAX_POLL_MS = 24 * HOUR_MS;
const KNOWN = 200_000;
/** A CA whose suggestions are wrong must not have every certificate renewed again and again. */
const PAUSE_MS = 24 * HOUR_MS;
/** How often to look whether the account exists. */
const WAIT_MS = 5_000;

/** Keys are "namespace/name" of our Certificates. */
export function reconcileRenewal(operator: IssuerOperator): Reconcile {
  const {stores, accounts, clock, earlyRenewals} = operator;
  /** When the CA may be asked again, by the certificate's identifier. */
  const asked = new TtlCache<RenewalWindow>(clock, KNOWN);
  return async (key, {client, signal}) => {
    const certificate = stores.certificates.get(key);
    const issuer = certificate && acmeIssuerOf(certificate.spec.issuerRef);
    const claim = stores.claims.get(objectNameOf(certificate?.metadata.annotations?.[ANNOTATION.host] ?? ''));
    const id = claim && isOfHolder(claim.spec) ? claim.spec.issuance?.renewal : undefined;
    if (!certificate || issuer === undefined || !claim || id === undefined) {
      earlyRenewals.delete(key);
      return done();
    }
    const account = accounts.get(issuer);
    if (!account) return after(WAIT_MS);
    let window = asked.get(id);
    if (!window) {
      try {
        window = await account.client.renewalInfo(id, signal);
      } catch (error) {
        if (error instanceof AcmeError || error instanceof CaUnreachable) return after(POLL_MS); // cert-manager renews
        throw error;
      }
      const pauseMs = Math.min(Math.max(window.retryAfterMs ?? POLL_MS, MIN_POLL_MS), MAX_POLL_MS);
      asked.set(id, window, pauseMs);
    }
    const startMs = Math.max(startIn(window, id), lastRenewalMs(claim) + PAUSE_MS);
    if (startMs > clock.now()) {
      earlyRenewals.delete(key);
      return after(Math.min(startMs - clock.now(), POLL_MS));
    }
    earlyRenewals.add(key);
    if (findCondition(certificate.status?.conditions, 'Issuing')?.status === 'True') return done();
    await client.applyStatus(CERTIFICATE, freshAttempt(certificate, clock.now()), {signal});
    return after(POLL_MS);
  };
}

/** When the last order was placed, if it was a renewal. */
function lastRenewalMs({spec: {orders = []}}: DeepReadonly<DomainClaim>): number {
  const last = orders.at(-1);
  return last?.renewal ? Date.parse(last.at) : Number.NEGATIVE_INFINITY;
}

/** A moment in the window that is the same after a restart, and spread over all certificates (RFC 9773, section 4.2). */
function startIn({startMs, endMs}: RenewalWindow, id: string): number {
  const part = createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32;
  return startMs + part * Math.max(0, endMs - startMs);
}
