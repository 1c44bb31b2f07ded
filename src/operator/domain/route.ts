/** The route step: publishes once there is a certificate; the last good route stays until its replacement is ready. */
import {findCondition} from '../../api/conditions.ts';
import {type DeepReadonly, ownerOf} from '../../runtime/kube/object.ts';
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
import type {Project} from '../kinds/kinds.ts';
import {DEFAULT_REDIRECT_STATUS} from '../kinds/project-hosts.ts';
import {lastCondition} from '../kinds/steps.ts';
import type {ClaimResult} from './claim.ts';
import {type DomainCondition, Routed, type StepResult} from './conditions.ts';
import type {DomainContext, DomainOperator} from './context.ts';
import type {CertificateResult} from './held-certificate.ts';
import {redirectEnd} from './redirects.ts';
import {dropOtherRoutes} from './unpublish.ts';
import {before, type DomainView, proofOf, unacted} from './view.ts';

export interface RouteResult extends StepResult {
  /** The route that is in place; undefined if it is not the one that the Domain wants. */
  readonly publishes?: Pick<HostRoute, 'redirect'>;
}

/** How often to check whether what delays a route is gone. */
const OBSTACLE_PAUSE_MS = 1000;

/** The prerequisites of the first route, in order. Changing an existing route requires only `accepted`. */
interface RouteGate {
  readonly accepted: DomainCondition;
  readonly claim: ClaimResult;
  readonly certificate: CertificateResult;
}

export async function route(
  context: DomainContext,
  view: DomainView,
  {accepted, claim, certificate}: RouteGate,
): Promise<RouteResult> {
  const {published, project, key} = view;
  if (view.unremoved) return view.unremoved;
  const kept = published !== undefined;
  if (accepted.status !== 'True' || !project) return {condition: Routed.waiting('the Domain to be accepted', kept)};
  if (!kept && !claim.holds) return {condition: Routed.waiting('the claim')};
  if (!kept && !certificate.usable) return {condition: Routed.waiting('the certificate')};
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
  const publication = whileFormerServes(context, found, kept && before(view, 'Routed')?.status === 'True');
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

export function failedRoute(view: DomainView) {
  return (failure: unknown): RouteResult => unacted(view, failure, Routed, view.published !== undefined);
}

/** The operator reports once what its edge lacks; a host that is routed keeps its state. */
function withoutBackend({domain, published}: DomainView, found: NoBackend): DomainCondition {
  const last = lastCondition('Routed', domain.status?.conditions, domain.metadata.generation);
  if (found.kind === 'no-edge' && published && last?.status === 'True') return last;
  return Routed.noBackend(found, published !== undefined);
}

/** A host that a redirect must not point to yet; `wakeAtMs`: when it can. */
interface Wait {
  readonly waitsFor: string;
  readonly wakeAtMs?: number;
}

function routeOf(
  operator: DomainOperator,
  view: DomainView,
  project: DeepReadonly<Project>,
  backend: Backend,
): HostRoute | Wait {
  const {namespace, host, domain} = view;
  const name = routeName(namespace, host);
  const proof = proofOf(operator, view);
  const serving: HostRoute = {
    ...{namespace, name, host, tlsSecret: name, owner: ownerOf(domain), backend},
    ...(proof !== undefined && {proof}),
  };
  if (!domain.spec.redirect) return serving;
  const end = redirectEnd(operator, view, project);
  if (end.kind !== 'serves' || !isServing(operator, view, end.host)) {
    return {waitsFor: end.kind === 'serves' ? end.host : domain.spec.redirect.to};
  }
  const leftMs = settlesInMs(operator, view, end.host);
  if (leftMs > 0) return {waitsFor: end.host, wakeAtMs: view.nowMs + leftMs};
  return {...serving, redirect: {to: end.host, status: domain.spec.redirect.status ?? DEFAULT_REDIRECT_STATUS}};
}

/**
 * Routed with a valid certificate and not redirecting, in the spec and at the ingress, so that a swap of two hosts never
 * publishes a loop. A new redirect also waits until the edge has accepted the current route of its target.
 */
function isServing({stores, edge}: DomainOperator, {namespace, published}: DomainView, host: string): boolean {
  const target = stores.domains.get(`${namespace}/${host}`);
  if (!target || target.spec.redirect) return false;
  if (findCondition(target.status?.conditions, 'CertificateReady')?.status !== 'True') return false;
  const routed = findCondition(target.status?.conditions, 'Routed');
  const current = routed?.status === 'True' && routed.observedGeneration === target.metadata.generation;
  const objects = routeObjects(stores, routeKeyOf(`${namespace}/${host}`));
  if (!current || publishedRoute(edge, objects)?.kind !== 'serve') return false;
  const isInPlace = published?.kind === 'redirect' && published.to === host;
  return isInPlace || edge.verdict(objects, stores.platform).kind === 'accepted';
}

/** How soon a redirect to `target` may replace the current route: not before the ingress has the target's route. */
function settlesInMs(operator: DomainOperator, {namespace, published}: DomainView, target: string): number {
  const replaces = published && !(published.kind === 'redirect' && published.to === target);
  return replaces ? settlingMs(operator, routeObjects(operator.stores, routeKeyOf(`${namespace}/${target}`))) : 0;
}
