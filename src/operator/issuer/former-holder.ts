/**
 * Deactivates at the CA what a former holder of a host has left: a CA reuses a valid authorization for days, and returns
 * an open order to whoever orders the same name with the same account. Until then, nobody orders for the host.
 */
import {AcmeError, CaUnreachable} from '../../acme/errors.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, retry} from '../../runtime/controller/outcome.ts';
import {forgotten, type Issuance, isOfHolder} from '../claim/order-records.ts';
import {DOMAIN_CLAIM} from '../kinds/kinds.ts';
import type {CaAccount} from './accounts.ts';
import type {IssuerOperator} from './context.ts';

const WAIT_MS = 5_000;

/** Keys are hosts. */
export function reconcileFormerHolder(operator: IssuerOperator): Reconcile {
  const {stores, accounts, logger} = operator;
  return async (host, {client, signal}) => {
    const claim = stores.claims.get(host);
    const {issuance} = claim?.spec ?? {};
    if (!claim || !issuance || claim.metadata.deletionTimestamp || isOfHolder(claim.spec)) return done();
    const account = accounts.get(issuance.issuer);
    const isGone = stores.acmeIssuers.state === 'synced' && !stores.acmeIssuers.get(issuance.issuer);
    if (!account && !isGone) return after(WAIT_MS);
    try {
      if (account) await deactivate(account, issuance, signal);
    } catch (error) {
      if (error instanceof CaUnreachable || error instanceof AcmeError) return retry(error);
      throw error;
    }
    logger.debug({host}, 'Deactivated the authorization of a former holder.');
    await client.replace(DOMAIN_CLAIM, {...claim, spec: forgotten(claim.spec)}, {signal});
    return done();
  };
}

async function deactivate(
  {client, uri}: CaAccount,
  {order, authorization}: Pick<Issuance, 'order' | 'authorization'>,
  signal: AbortSignal,
): Promise<void> {
  const known = authorization ?? order;
  if (known === undefined || !client.has(known)) return; // nothing, or at a CA that the ACMEIssuer no longer names
  try {
    const url = authorization ?? (await client.order(uri, known, signal)).authorizations[0];
    if (url !== undefined) await client.deactivateAuthorization(uri, url, signal);
  } catch (error) {
    // The CA no longer knows it, or it is no longer valid: there is nothing to deactivate.
    const isFinal = error instanceof AcmeError && error.isVerdict;
    if (!isFinal) throw error;
  }
}
