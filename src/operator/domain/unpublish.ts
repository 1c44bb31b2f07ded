/** The end of a Domain: the route first and at once, then the certificate, then the claim. The Secret stays a while. */
import type {KubeClient} from '../../runtime/kube/client.ts';
import {objectKey} from '../../runtime/kube/object.ts';
import {deleteRoutes} from '../edge/publish.ts';
import {routeKeyOf} from '../model/derived-names.ts';
import {CERTIFICATE} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {releaseClaim} from './claim.ts';

/** For a Domain that is gone, whoever deleted it and whether or not the operator was there to see. */
export async function finalize(
  operator: Operator,
  key: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  operator.scheduler.unwatch(key);
  const certificate = operator.stores.certificates.get(routeKeyOf(key));
  await unpublish(operator, key, client, signal);
  const slash = key.indexOf('/');
  const claim = operator.stores.claims.get(key.slice(slash + 1));
  if (claim?.spec.namespace === key.slice(0, slash)) await releaseClaim(operator, claim, certificate, client, signal);
}

/** Takes a host off the ingress and stops its renewals. */
export async function unpublish(
  operator: Operator,
  key: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const routeKey = routeKeyOf(key);
  await deleteRoutes(operator, routeKey, client, signal);
  const certificate = operator.stores.certificates.get(routeKey);
  if (!certificate || certificate.metadata.deletionTimestamp) return;
  const {uid} = certificate.metadata;
  await client.delete(CERTIFICATE, objectKey(certificate), {...(uid && {preconditions: {uid}}), signal});
}
