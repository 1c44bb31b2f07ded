/** The route step: publishes once there is a certificate; the last good route stays until its replacement is ready. */
import {findCondition} from '../../api/conditions.ts';
import {type DeepReadonly, ownerOf} from '../../runtime/kube/object.ts';
import {certifiedBy} from '../certificate/certificate.ts';
import {findBackend, type NoBackend} from '../edge/backend.ts';
import {
  type Publication,
  publishedRoute,
  publishRoute,
  routeObjects,
  settlingMs,
  whileFormerServes,
} from '../edge/publish.ts';
import {routeKeyOf, routeName} from '../kinds/derived-names.ts';
import type {Backend, HostRoute} from '../kinds/edge-provider.ts';
import type {Domain, Project} from '../kinds/kinds.ts';
import {DEFAULT_REDIRECT_STATUS} from '../kinds/project-hosts.ts';
import type {ClaimResult} from './claim.ts';
import {type DomainCondition, Routed, type StepResult} from './conditions.ts';
import type {HostContext, HostOperator} from './context.ts';
import type {CertificateResult} from './held-certificate.ts';
import {type HostView, lastOfThisSpec, lastReported, proofOf, unacted} from './host-view.ts';
import {redirectEnd} from './redirects.ts';
import {dropOtherRoutes} from './unpublish.ts';

export type PublishedHere = Pick<HostRoute, 'redirect'>;

export interface RouteResult extends StepResult {
  /** The route that is in place; undefined if it is not the one that is wanted. */
  readonly publishes?: PublishedHere;
}

/** How often to check whether what delays a route is gone. */
const OBSTACLE_PAUSE_MS = 1000;

/** The prerequisites of the first route, in order. Changing an existing route requires only `accepted`. */
interface RouteGate {
  readonly accepted: Pick<DomainCondition, 'status'>;
  readonly claim: Pick<ClaimResult, 'holds'>;
  readonly certificate: Pick<CertificateResult, 'usable'>;
}

export async function route(
  context: HostContext,
  view: HostView,
  {accepted, claim, certificate}: RouteGate,
): Promise<RouteResult> {
  const {published, project, key} = view;
  if (view.unremoved) return view.unremoved;
  const kept = published !== undefined;
  if (accepted.status !== 'True' || !project) return {condition: Routed.waiting('the Domain to be accepted', kept)};
  if (!kept && !claim.holds) return {condition: Routed.waiting('the claim')};
  if (!certificate.usable && !mayChange(view)) return {condition: Routed.waiting('the certificate', kept)};
  const backend = findBackend(context, project);
  if (backend.kind !== 'found') return {condition: withoutBackend(view, backend)};
  const wanted = routeOf(context, view, project, backend.backend);
  if ('waitsFor' in wanted) {
    return {condition: Routed.targetNotLive(wanted.waitsFor, kept), wakeAtMs: wanted.wakeAtMs};
  }
  const hindrance = kept ? undefined : await dropOtherRoutes(context, view);
  if (hindrance) return hindrance;
  const routeKey = routeKeyOf(key);
  // Only the holder's route is written. After a restore, existing routes stay until the host is claimed again.
  const found: Publication = claim.holds
    ? await publishRoute(context, wanted)
    : context.edge.verdict(routeObjects(context.stores, routeKey), context.stores.platform);
  const publication = whileFormerServes(context, found, kept && lastReported(view, 'Routed')?.status === 'True');
  const {contested = '', wakeAtMs} = publication;
  if (publication.kind === 'waiting') {
    const condition = Routed.waiting(publication.on, kept, contested);
    return {condition, wakeAtMs: wakeAtMs ?? view.nowMs + OBSTACLE_PAUSE_MS};
  }
  if (publication.kind === 'pending') return {condition: Routed.pending(publication.what), wakeAtMs};
  if (publication.kind === 'rejected') {
    return {condition: Routed.notAccepted(publication.what, publication.why), wakeAtMs};
  }
  const note = `${contested}${publication.note ?? ''}`;
  const condition = wanted.redirect
    ? Routed.redirecting(wanted.redirect.to, wanted.redirect.status, note)
    : Routed.serving(project.spec.service.name, note);
  return {
    condition,
    publishes: {...(wanted.redirect && {redirect: wanted.redirect})},
    wakeAtMs,
  };
}

export function failedRoute(view: HostView) {
  return (failure: unknown): RouteResult => unacted(view, failure, Routed, view.published !== undefined);
}

/**
 * Without a usable certificate. The edge serves a default host with a certificate for all of them until the host has its
 * own.
 */
function mayChange({published, isDefault, secret, host}: HostView): boolean {
  return published !== undefined && (!isDefault || certifiedBy(secret, host).kind === 'host');
}

/** The operator reports once what its edge lacks; a host that is routed keeps its state. */
export function withoutBackend(view: HostView, found: NoBackend): DomainCondition {
  const isRouted = view.published !== undefined;
  const last = lastOfThisSpec(view, 'Routed');
  if (found.kind === 'no-edge' && isRouted && last?.status === 'True') return last;
  return Routed.noBackend(found, isRouted);
}

/** A host that a redirect must not point to yet; `wakeAtMs`: when it can. */
interface Wait {
  readonly waitsFor: string;
  readonly wakeAtMs?: number;
}

function routeOf(
  operator: HostOperator,
  view: HostView,
  project: DeepReadonly<Project>,
  backend: Backend,
): HostRoute | Wait {
  const {namespace, host, owner, isDefault} = view;
  const name = routeName(namespace, host);
  const proof = proofOf(operator, view);
  const isOfEdge = isDefault && operator.config.defaultHost.tls === 'ingress-default';
  const serving: HostRoute = {
    ...{namespace, name, host, owner: ownerOf(owner), backend},
    ...(!isOfEdge && {tlsSecret: name}),
    ...(proof !== undefined && {proof}),
    ...(isDefault && {project: owner.metadata.name}),
  };
  const {redirect} = owner.spec as Partial<Domain['spec']>;
  if (!redirect) return serving;
  const end = redirectEnd(operator, {namespace, host, redirect}, project);
  if (end.kind !== 'serves' || !isServing(operator, view, end.host)) {
    return {waitsFor: end.kind === 'serves' ? end.host : redirect.to};
  }
  const leftMs = settlesInMs(operator, view, end.host);
  if (leftMs > 0) return {waitsFor: end.host, wakeAtMs: view.nowMs + leftMs};
  return {...serving, redirect: {to: end.host, status: redirect.status ?? DEFAULT_REDIRECT_STATUS}};
}

/**
 * Routed with a valid certificate and not redirecting, in the spec and at the ingress, so that a swap of two hosts never
 * publishes a loop. A new redirect also waits until the edge has accepted the current route of its target.
 */
function isServing(operator: HostOperator, {namespace, published}: HostView, host: string): boolean {
  const {stores, edge} = operator;
  const target = stores.domains.get(`${namespace}/${host}`);
  if (!target || target.spec.redirect) return false;
  if (findCondition(target.status?.conditions, 'CertificateReady')?.status !== 'True') return false;
  const routed = findCondition(target.status?.conditions, 'Routed');
  const current = routed?.status === 'True' && routed.observedGeneration === target.metadata.generation;
  const routeKey = routeKeyOf(`${namespace}/${host}`);
  if (!current || publishedRoute(operator, routeKey)?.kind !== 'serve') return false;
  const isInPlace = published?.kind === 'redirect' && published.to === host;
  return isInPlace || edge.verdict(routeObjects(stores, routeKey), stores.platform).kind === 'accepted';
}

/** How soon a redirect to `target` may replace the current route: not before the ingress has the target's route. */
function settlesInMs(operator: HostOperator, {namespace, published}: HostView, target: string): number {
  const replaces = published && !(published.kind === 'redirect' && published.to === target);
  return replaces ? settlingMs(operator, routeObjects(operator.stores, routeKeyOf(`${namespace}/${target}`))) : 0;
}
