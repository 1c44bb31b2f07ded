/** Applies the route objects that the edge provider builds for one host, without interrupting traffic. */
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/apply/apply.ts';
import {identify} from '../../runtime/apply/corrections.ts';
import {isNotFound} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, type KubeObject, keyOf, objectKey, type ResourceType} from '../../runtime/kube/object.ts';
import {deleteJudged} from '../caches/fresh.ts';
import {INDEX, type RouteStore, type Stores} from '../caches/stores.ts';
import type {HostRoute, PublishedRoute, RouteObject, RouteVerdict} from '../kinds/edge-provider.ts';
import {SERVICE} from '../kinds/kinds.ts';
import {earliest} from '../kinds/steps.ts';
import type {EdgeContext, EdgeOperator} from './context.ts';

/** `routeKey`: "namespace/np-…". All objects of a route are found by their names, which nobody can edit. */
export function routeObjects(stores: Stores, routeKey: string): DeepReadonly<KubeObject>[] {
  return stores.routes.flatMap(({store}) => store.byIndex(INDEX.route, routeKey));
}

/**
 * The route that a host's cached objects publish now; undefined if they publish nothing, or only a part without which
 * the host is not served, or if they name a Service that is gone. A partial change counts as a redirect, so that no
 * other host redirects to one that may redirect.
 */
export function publishedRoute(
  {stores, edge}: Pick<EdgeOperator, 'stores' | 'edge'>,
  routeKey: string,
): PublishedRoute | undefined {
  const objects = routeObjects(stores, routeKey);
  const [namespace = '', name = ''] = routeKey.split('/');
  const ours = storeOf(stores, SERVICE.kind).store;
  const exists = (key: string) => ours.get(key) ?? stores.services.get(key); // somebody may have edited the route
  const backends = objects.flatMap(object => edge.backends(object).map(service => `${namespace}/${service}`));
  if (!edge.serves(name, objects) || !backends.every(exists)) return undefined;
  const to = objects.flatMap(({metadata}) => metadata.annotations?.[ANNOTATION.redirectTo] ?? [])[0];
  return to === undefined ? {kind: 'serve'} : {kind: 'redirect', to};
}

/**
 * The state of a route's objects. `waiting`: what must happen before anything else is written. `wakeAtMs`: when the next
 * change is due, because the edge needs time to read what was written; until then, the route stays as it is.
 */
export type Publication = (RouteVerdict | {readonly kind: 'waiting'; readonly on: string}) & Contest;

/** Whether another program keeps changing or deleting one of our objects. */
export interface Contest {
  /** A sentence that says so, and begins with a space. */
  readonly contested?: string;
  readonly wakeAtMs?: number | undefined;
}

/**
 * Applies the objects in the edge's order, then deletes the host's objects that are no longer wanted, in reverse order.
 */
export async function publishRoute(context: EdgeContext, route: HostRoute): Promise<Publication> {
  const routeKey = `${route.namespace}/${route.name}`;
  const prepared = context.edge.prepare?.(route, context.stores.platform) ?? [];
  const wanted = [...prepared, ...context.edge.build(route)];
  const exclusive = wanted.find(({resource}) => resource === context.edge.exclusive);
  const isNew = exclusive && !storeOf(context.stores, exclusive.resource.kind).store.get(keyOf(exclusive.intent));
  if (isNew && !context.stores.secrets.get(routeKey)) return {kind: 'waiting', on: 'the certificate'};
  await deleteUnwantedExclusive(context, routeKey, wanted);
  const applied: DeepReadonly<KubeObject>[] = [];
  for (const {resource, intent} of wanted) {
    const {store} = storeOf(context.stores, resource.kind);
    if (isNew && resource === exclusive.resource) {
      const early = applied.slice(0, prepared.length);
      const leftMs = settlingMs(context, early);
      if (leftMs > 0) {
        return {kind: 'waiting', on: `the edge to read ${namesOf(early)}`, wakeAtMs: context.clock.now() + leftMs};
      }
      const unread = context.edge.unread?.(applied, context.stores.platform);
      if (unread) return unread;
    }
    const {object} = await applyIfChanged(context.client, store, resource, intent, {
      hashAnnotation: ANNOTATION.appliedHash,
      corrections: context.corrections,
      signal: context.signal,
    });
    if (!object) {
      return {kind: 'waiting', on: `${intent.kind} ${intent.metadata.name}`, ...contestOf(context, [intent])};
    }
    const leftMs = settlesInMs(context, routeKey, wanted, object);
    // While only a new Service is awaited, the current route is right; otherwise, it is not yet the wanted one.
    if (leftMs > 0 && resource !== SERVICE) {
      return {kind: 'waiting', on: `the edge to read ${object.kind} ${object.metadata.name}`};
    }
    if (leftMs > 0) {
      const wakeAtMs = context.clock.now() + leftMs;
      return {...context.edge.verdict(routeObjects(context.stores, routeKey), context.stores.platform), wakeAtMs};
    }
    applied.push(object);
  }
  const kept = new Set(wanted.map(({resource, intent}) => `${resource.kind}/${intent.metadata.name}`));
  // A Service that the route no longer uses is deleted once the edge certainly has the new route.
  const isKept = ({kind, metadata}: DeepReadonly<KubeObject>) =>
    kind === SERVICE.kind || kept.has(`${kind}/${metadata.name}`);
  const left = stillReferred(context, routeKey, applied, isKept);
  await deleteRoutes(
    context,
    routeKey,
    async () => true,
    object => isKept(object) || left.objects.has(object),
  );
  const contest = contestOf(context, applied);
  return {
    ...context.edge.verdict(applied, context.stores.platform),
    ...contest,
    wakeAtMs: earliest(contest.wakeAtMs, left.objects.size > 0 ? context.clock.now() + left.ms : undefined),
  };
}

function namesOf(objects: readonly DeepReadonly<KubeObject>[]): string {
  return objects.map(({kind, metadata}) => `${kind} ${metadata.name}`).join(' and ');
}

/** The objects that the edge may still need, although nothing refers to them anymore, and for how long. */
function stillReferred(
  {stores, edge, knownSince, clock}: EdgeContext,
  routeKey: string,
  applied: readonly DeepReadonly<KubeObject>[],
  isKept: (object: DeepReadonly<KubeObject>) => boolean,
): {readonly objects: ReadonlySet<DeepReadonly<KubeObject>>; readonly ms: number} {
  const none = {objects: new Set<DeepReadonly<KubeObject>>(), ms: 0};
  const leftover = routeObjects(stores, routeKey).filter(object => !isKept(object) && !edge.emptied(object));
  if (leftover.length === 0) return none;
  // The hash of what was applied last, because a change of an annotation does not change the generation.
  const versions = applied.map(({metadata}) => `${metadata.uid} ${metadata.annotations?.[ANNOTATION.appliedHash]}`);
  const ms = Math.max(0, ...versions.map(version => knownSince.leftMs(version, clock.now(), edge.settleMs)));
  return ms > 0 ? {objects: new Set(leftover), ms} : none;
}

/** How long the edge may take to accept a change of a route before the host counts as not served. */
const PENDING_MS = 60_000;

/**
 * While the edge has not accepted a change yet, it serves the former route, so a host that was served counts as served.
 * `wasAccepted`: according to the last status, so that a restart gives no more time.
 */
export function whileFormerServes(
  {knownSince, clock}: Pick<EdgeOperator, 'knownSince' | 'clock'>,
  publication: Publication,
  wasAccepted: boolean,
): Publication {
  if (publication.kind !== 'pending' || !wasAccepted) return publication;
  const leftMs = PENDING_MS - knownSince.ageMs(`pending ${publication.version}`);
  if (leftMs <= 0) return publication;
  const {contested, wakeAtMs} = publication;
  return {
    kind: 'accepted',
    ...(contested && {contested}),
    wakeAtMs: earliest(wakeAtMs, clock.now() + leftMs),
  };
}

/** While an object of the exclusive kind exists, the host has no other route, so it goes before the others change. */
async function deleteUnwantedExclusive(
  context: EdgeContext,
  routeKey: string,
  wanted: readonly RouteObject[],
): Promise<void> {
  const {exclusive} = context.edge;
  if (!exclusive || wanted.some(({resource}) => resource === exclusive)) return;
  await deleteRoutes(
    context,
    routeKey,
    async () => true,
    ({kind}) => kind !== exclusive.kind,
  );
}

export function contestOf({corrections, clock}: EdgeContext, objects: readonly DeepReadonly<KubeObject>[]): Contest {
  for (const object of objects) {
    const restMs = corrections.contestedMs(identify(object, object));
    if (restMs === undefined) continue;
    const contested = ` Another program keeps changing or deleting ${object.kind} ${object.metadata.name}, so Nameplate corrects it only from time to time. Ask the platform team to stop that program.`;
    return {contested, wakeAtMs: clock.now() + restMs};
  }
  return {};
}

/**
 * How soon a route that is published may refer to this object: not before the edge has read it, and a Service's
 * endpoints.
 */
function settlesInMs(
  context: EdgeContext,
  routeKey: string,
  wanted: readonly RouteObject[],
  object: DeepReadonly<KubeObject>,
): number {
  const {stores, edge} = context;
  const referred = (by: DeepReadonly<KubeObject>) => [
    ...edge.backends(by).map(name => `${SERVICE.kind}/${name}`),
    ...(edge.refersTo?.(by) ?? []),
  ];
  const id = `${object.kind}/${object.metadata.name}`;
  const isWanted = wanted.some(({intent}) => referred(intent as DeepReadonly<KubeObject>).includes(id));
  if (!isWanted) return 0;
  const used = routeObjects(stores, routeKey).flatMap(referred);
  return used.length > 0 && !used.includes(id) ? settlingMs(context, [object]) : 0;
}

/** How long until the edge certainly has read these objects. */
export function settlingMs({edge, knownSince}: EdgeOperator, objects: readonly DeepReadonly<KubeObject>[]): number {
  const waits = objects.map(({metadata: {uid, creationTimestamp}}) =>
    knownSince.leftMs(`${uid}`, Date.parse(creationTimestamp ?? '') || 0, edge.settleMs),
  );
  return Math.max(0, ...waits);
}

/**
 * Stops traffic: deletes the objects that match requests first, and what they refer to last. The ingress keeps serving
 * a deleted object while a finalizer blocks its deletion, so an object with finalizers is emptied first. `isJustified`:
 * as for `deleteJudged`; the caller has confirmed it.
 */
export async function deleteRoutes(
  context: EdgeContext,
  routeKey: string,
  isJustified: () => Promise<boolean>,
  keep: (object: DeepReadonly<KubeObject>) => boolean = () => false,
): Promise<void> {
  for (const {resource, store} of context.stores.routes.toReversed()) {
    for (const object of store.byIndex(INDEX.route, routeKey)) {
      if (keep(object)) continue;
      const {finalizers = [], deletionTimestamp} = object.metadata;
      const current = finalizers.length > 0 ? await empty(context, resource, object) : object;
      if (current && !deletionTimestamp) await deleteJudged(context, resource, current, isJustified);
    }
  }
}

/** Returns the object as it is then; undefined if it is gone. */
async function empty(
  {edge, events, logger, client, signal}: EdgeContext,
  resource: ResourceType,
  object: DeepReadonly<KubeObject>,
): Promise<DeepReadonly<KubeObject> | undefined> {
  const patch = edge.emptied(object);
  if (!patch) return object;
  const {finalizers, resourceVersion} = object.metadata;
  const emptied = await client
    .patch(resource, objectKey(object), {...patch, metadata: {resourceVersion}}, {signal})
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  if (!emptied) return undefined;
  const host = object.metadata.annotations?.[ANNOTATION.host] ?? 'The host';
  const {name, namespace} = object.metadata;
  logger.warn(
    {kind: object.kind, namespace, name, host, finalizers},
    'Finalizers block the deletion of a route. Removed its rules.',
  );
  const note = `${host} is no longer routed, but finalizers block the deletion of this ${object.kind}: ${finalizers?.join(', ')}. Nameplate removed its rules, so it serves nothing. Remove the finalizers.`;
  events.event(object, 'Warning', 'KeptByFinalizer', 'Remove', note);
  return emptied;
}

function storeOf(stores: Stores, kind: string): RouteStore {
  const found = stores.routes.find(route => route.resource.kind === kind);
  if (!found) throw new Error(`no cache for route objects of kind ${kind}`);
  return found;
}
