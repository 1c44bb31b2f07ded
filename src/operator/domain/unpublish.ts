/** The end of a Domain: first the route, then the certificate, then the claim. The Secret is kept for a while. */
import {objectNameOf} from '../../api/host-names.ts';
import {isWildcard, parseHost, registrableDomain} from '../../dns/dns.ts';
import {classifyFailure, TransportError} from '../../runtime/kube/errors.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {BehindError, deleteJudged, isGone, readFresh} from '../caches/fresh.ts';
import {INDEX} from '../caches/stores.ts';
import {certifiedBy, dnsNamesIn} from '../certificate/certificate.ts';
import type {EdgeContext, EdgeOperator} from '../edge/context.ts';
import {deleteRoutes, routeObjects} from '../edge/publish.ts';
import {hostKey, routeKeyOf, routeName, routeNameIn} from '../kinds/derived-names.ts';
import {CERTIFICATE, DOMAIN, DOMAIN_CLAIM, SECRET} from '../kinds/kinds.ts';
import {reservedZone} from './accept.ts';
import {type ClaimResult, releaseClaim} from './claim.ts';
import {Routed, type StepResult} from './conditions.ts';
import type {DomainContext} from './context.ts';
import {type HostView, isDefaultHost, unacted} from './host-view.ts';

/** For a Domain that is gone, even if it was deleted while the operator was down. Default hosts never had one. */
export async function finalize(context: DomainContext, key: string): Promise<void> {
  const {certificates, claims} = context.stores;
  if (isDefaultHost(context, key)) return;
  const certificate = certificates.get(routeKeyOf(key));
  const slash = key.indexOf('/');
  const claim = claims.get(key.slice(slash + 1));
  const isOurs =
    claim?.spec.namespace === key.slice(0, slash) &&
    claim.spec.releasedAt === undefined &&
    claim.spec.project === undefined;
  const isJustified = () => isGone(context, DOMAIN, key);
  await unpublish(context, key, isJustified);
  if (isOurs) {
    if (!(await isJustified())) throw new BehindError();
    await releaseClaim(context, claim, certificate);
  }
  context.scheduler.unwatch(key);
  context.prober.unwatch(key);
}

/** Whether there is anything to unpublish. */
function isPublished({stores}: EdgeOperator, key: string): boolean {
  const routeKey = routeKeyOf(key);
  const certificate = stores.certificates.get(routeKey);
  const isCertified = certificate !== undefined && certificate.metadata.deletionTimestamp === undefined;
  return isCertified || routeObjects(stores, routeKey).length > 0;
}

/** Takes a host off the edge and stops its renewals, if anything of it exists and the API server confirms the reason. */
export async function unpublish(context: EdgeContext, key: string, isJustified: () => Promise<boolean>): Promise<void> {
  if (!isPublished(context, key)) return;
  if (!(await isJustified())) throw new BehindError();
  const routeKey = routeKeyOf(key);
  await deleteRoutes(context, routeKey, isJustified);
  await dropCertificate(context, routeKey, isJustified);
}

/** Its Secret is kept for a while. */
export async function dropCertificate(
  context: EdgeContext,
  routeKey: string,
  isJustified: () => Promise<boolean>,
): Promise<void> {
  const certificate = context.stores.certificates.get(routeKey);
  if (!certificate || certificate.metadata.deletionTimestamp) return;
  await deleteJudged(context, CERTIFICATE, certificate, isJustified);
}

/**
 * Removes the route if another namespace holds the host, or if the edge would present its certificate for hosts that may
 * belong to somebody else.
 */
export async function dropForeignRoute<View extends HostView>(
  context: EdgeContext,
  view: View,
  {lost}: Pick<ClaimResult, 'lost'>,
): Promise<View> {
  const {key, secret, host} = view;
  if (lost) {
    const isJustified = async () => {
      const holder = await holdingNamespace(context, host);
      return holder !== undefined && holder !== view.namespace;
    };
    await unpublish(context, key, isJustified);
    return {...view, published: undefined, certificate: undefined};
  }
  const fresh = certifiedBy(secret, host).kind === 'others' ? await readSecret(context, view) : secret;
  if (!isHarmful(context, view, fresh)) {
    return {...view, secret: fresh, isMisnamed: certifiedBy(fresh, host).kind === 'others'};
  }
  const isJustified = async () => isHarmful(context, view, await readSecret(context, view));
  await deleteRoutes(context, routeKeyOf(key), isJustified);
  return {...view, published: undefined};
}

/** A Domain must report the loss of its host even if the API server rejects the removal of its route. */
export function failedRemoval<View extends HostView>(view: View) {
  return (failure: unknown): View => {
    if (classifyFailure(failure) !== 'refusal') throw failure;
    const messages = {...Routed, refused: Routed.removalRefused};
    return {...view, unremoved: unacted(view, failure, messages, view.published !== undefined)};
  };
}

/**
 * Takes the host, which this namespace holds, off the edge in all others, so that visitors never reach both. The
 * reconcile of the former holder's Domain does so, too, but a tenant can keep the operator busy with its own objects.
 * Returns the step Routed if the API server refuses. No error that a condition may repeat names the former holder.
 */
export async function dropOtherRoutes(
  context: EdgeContext,
  {host, namespace}: HostView,
): Promise<StepResult | undefined> {
  const others = context.stores.routes
    .flatMap(({store}) => store.byIndex(INDEX.host, host))
    .filter(object => object.metadata.namespace !== namespace && isRouteOf(host, object))
    .map(object => routeKeyOf(hostKey(object.metadata.namespace ?? '', host)));
  if (others.length === 0) return undefined;
  const isJustified = async () => (await holdingNamespace(context, host)) === namespace;
  try {
    if (!(await isJustified())) throw new BehindError();
    for (const routeKey of new Set(others)) await deleteRoutes(context, routeKey, isJustified);
    return undefined;
  } catch (error) {
    const kind = classifyFailure(error);
    if (kind === 'refusal') return {condition: Routed.formerRefused(), failure: error};
    if (kind !== 'outage') throw error;
    const cause = new Error('the API server did not answer, or is overloaded', {cause: error});
    throw new TransportError("removing the former holder's route", cause);
  }
}

/** By its name, which only the operator may use: a tenant may write any label and annotation. */
function isRouteOf(host: string, {metadata: {namespace = '', name}}: DeepReadonly<KubeObject>): boolean {
  return routeNameIn(name) === routeName(namespace, host);
}

/** The namespace that holds the host according to the API server. */
async function holdingNamespace({client, signal}: EdgeContext, host: string): Promise<string | undefined> {
  const claim = await client.get(DOMAIN_CLAIM, {name: objectNameOf(host)}, {signal});
  return claim?.spec.releasedAt === undefined ? claim?.spec.namespace : undefined;
}

/** In a certificate. A tenant can write any number of names into a Secret; a CA issues for at most 100. */
const MAX_NAMES = 100;

/**
 * Whether the edge must not present the certificate: it may name a host of somebody else. It may name what this account
 * holds, hosts under the same registrable domain that nobody holds and that are not the platform's, and those below a
 * default host.
 */
function isHarmful(
  context: EdgeContext,
  {host, account, isDefault}: HostView,
  secret: DeepReadonly<KubeObject> | undefined,
): boolean {
  if (certifiedBy(secret, host).kind !== 'others') return false;
  const names = dnsNamesIn(secret);
  const domain = registrableDomain(host);
  const isOurs = (name: string) => {
    const claim = context.stores.claims.get(objectNameOf(name))?.spec;
    if (name === host || (claim && claim.releasedAt === undefined))
      return name === host || claim?.account === account.id;
    const isPlain = parseHost(name).ok && !isWildcard(name) && registrableDomain(name) === domain;
    const isBelow = isDefault && name.endsWith(`.${host}`);
    return isPlain && (isBelow || reservedZone(name, context) === undefined);
  };
  return names.length > MAX_NAMES || !names.every(isOurs);
}

function readSecret(context: EdgeContext, {host, namespace}: HostView): Promise<KubeObject | undefined> {
  return readFresh(context, SECRET, {namespace, name: routeName(namespace, host)}, {metadataOnly: true});
}
