/** The end of a Domain: first the route, then the certificate, then the claim. The Secret is kept for a while. */
import {objectKey} from '../../runtime/kube/object.ts';
import {deleteRoutes} from '../edge/publish.ts';
import {certifiedBy} from '../issuance/certificate.ts';
import {routeKeyOf} from '../model/derived-names.ts';
import {CERTIFICATE} from '../model/kinds.ts';
import type {Context} from '../state/context.ts';
import {type ClaimResult, releaseClaim} from './claim.ts';
import type {DomainView} from './view.ts';

/** For a Domain that is gone, also if it was deleted while the operator was down. */
export async function finalize(context: Context, key: string): Promise<void> {
  context.scheduler.unwatch(key);
  context.prober.unwatch(key);
  const certificate = context.stores.certificates.get(routeKeyOf(key));
  await unpublish(context, key);
  const slash = key.indexOf('/');
  const claim = context.stores.claims.get(key.slice(slash + 1));
  if (claim?.spec.namespace === key.slice(0, slash)) await releaseClaim(context, claim, certificate);
}

/** Takes a host off the ingress and stops its renewals. */
async function unpublish(context: Context, key: string): Promise<void> {
  const routeKey = routeKeyOf(key);
  await deleteRoutes(context, routeKey);
  const certificate = context.stores.certificates.get(routeKey);
  if (!certificate || certificate.metadata.deletionTimestamp) return;
  const {uid} = certificate.metadata;
  await context.client.delete(CERTIFICATE, objectKey(certificate), {
    ...(uid && {preconditions: {uid}}),
    signal: context.signal,
  });
}

/** Removes the route if another account holds the host, or if the ingress would use its certificate for other hosts. */
export async function dropForeignRoute(context: Context, view: DomainView, {lost}: ClaimResult): Promise<DomainView> {
  const {key, secret, host} = view;
  if (lost) {
    await unpublish(context, key);
    return {...view, published: undefined, certificate: undefined};
  }
  if (certifiedBy(secret, host).kind !== 'others') return view;
  await deleteRoutes(context, routeKeyOf(key));
  return {...view, published: undefined};
}
