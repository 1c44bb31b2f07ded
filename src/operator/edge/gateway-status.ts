/** The report of a Gateway's controller on the objects of a host. Pure. */
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {cut} from '../caches/slim.ts';
import type {RouteVerdict} from '../kinds/edge-provider.ts';
import {
  CLIENT_TRAFFIC_POLICY,
  type ClientTrafficPolicy,
  GATEWAY,
  GATEWAY_GROUP,
  type GatewayCondition,
  type GatewayParentRef,
  HTTP_ROUTE,
  type HttpRoute,
  LISTENER,
  LISTENER_SET,
  type ListenerSet,
} from './gateway-kinds.ts';

/** The most controllers whose conditions we keep per parent of an HTTPRoute; the API allows 32. */
const MAX_CONTROLLERS = 4;
const TYPES: ReadonlySet<string> = new Set(['Accepted', 'ResolvedRefs', 'Programmed']);

/** The part of the status that the cache keeps. */
export function statusOf(object: KubeObject): unknown {
  const kept = (conditions: readonly GatewayCondition[] = []) =>
    conditions
      .filter(({type}) => TYPES.has(type))
      .map(({type, status, reason = '', message = '', observedGeneration}) => ({
        ...{type, status, reason: cut(reason), message: cut(message)},
        ...(observedGeneration !== undefined && {observedGeneration}),
      }));
  if (object.kind === LISTENER_SET.kind) {
    const {status} = object as ListenerSet;
    const own = status?.listeners?.filter(({name}) => name === LISTENER) ?? [];
    return {
      conditions: kept(status?.conditions),
      listeners: own.map(({name, conditions}) => ({name, conditions: kept(conditions)})),
    };
  }
  if (object.kind === CLIENT_TRAFFIC_POLICY.kind) {
    const own = (object as ClientTrafficPolicy).status?.ancestors?.filter(({ancestorRef}) =>
      isOwnSet(ancestorRef, object),
    );
    return {
      ancestors: (own ?? []).slice(0, MAX_CONTROLLERS).map(({ancestorRef, controllerName, conditions}) => ({
        ancestorRef,
        controllerName: cut(controllerName),
        conditions: kept(conditions),
      })),
    };
  }
  if (object.kind !== HTTP_ROUTE.kind) return undefined;
  const {spec, status} = object as HttpRoute;
  const {parentRefs = []} = spec;
  const own = status?.parents?.filter(({parentRef}) =>
    parentRefs.some(wanted => isSameParent(parentRef, wanted, object.metadata.namespace)),
  );
  return {
    parents: (own ?? [])
      .slice(0, MAX_CONTROLLERS * parentRefs.length)
      .map(({parentRef, controllerName, conditions}) => ({
        parentRef,
        controllerName: cut(controllerName),
        conditions: kept(conditions),
      })),
  };
}

/** The report of the Gateway's controller on the generation of this object; others' entries do not count. */
export function verdictOn(object: DeepReadonly<KubeObject>, controller: string | undefined): RouteVerdict {
  const {kind, metadata} = object;
  if (kind === LISTENER_SET.kind) {
    const {status} = object as DeepReadonly<ListenerSet>;
    // A set counts as accepted if any listener is, so its own condition matters only if it is a rejection; the listener
    // may then have no conditions.
    const whole = judged(object, status?.conditions, ['Accepted']);
    if (whole.kind === 'rejected') return whole;
    const listener = status?.listeners?.find(({name}) => name === LISTENER);
    return judged(object, listener?.conditions, ['Accepted', 'ResolvedRefs', 'Programmed']);
  }
  if (kind === CLIENT_TRAFFIC_POLICY.kind) {
    const {status} = object as DeepReadonly<ClientTrafficPolicy>;
    const own = status?.ancestors?.find(
      each => each.controllerName === controller && isOwnSet(each.ancestorRef, object),
    );
    return judged(object, own?.conditions, ['Accepted']);
  }
  if (kind !== HTTP_ROUTE.kind) return {kind: 'accepted'};
  const {spec, status} = object as DeepReadonly<HttpRoute>;
  const [wanted] = spec.parentRefs ?? [];
  const parent = status?.parents?.find(
    ({parentRef, controllerName}) =>
      wanted && controllerName === controller && isSameParent(parentRef, wanted, metadata.namespace),
  );
  return judged(object, parent?.conditions, ['Accepted', 'ResolvedRefs']);
}

/** Whether the controller has reported on this generation of an HTTPRoute, for any of its parents. */
export function isRead({metadata, status}: DeepReadonly<HttpRoute>, controller: string | undefined): boolean {
  const reported = status?.parents?.filter(({controllerName}) => controllerName === controller) ?? [];
  const generations = reported.flatMap(({conditions = []}) => conditions.map(each => each.observedGeneration ?? -1));
  return Math.max(-1, ...generations) >= (metadata.generation ?? 0);
}

export function pending({kind, metadata}: Pick<DeepReadonly<KubeObject>, 'kind' | 'metadata'>) {
  const {name, uid, generation} = metadata;
  return {kind: 'pending', what: `${kind} ${name}`, version: `${uid} ${generation}`} as const;
}

function judged(
  {kind, metadata}: DeepReadonly<KubeObject>,
  conditions: DeepReadonly<GatewayCondition[]> = [],
  types: readonly string[],
): RouteVerdict {
  const generation = metadata.generation ?? 0;
  for (const wanted of types) {
    const found = conditions.find(({type}) => type === wanted);
    const isCurrent = found && (found.observedGeneration ?? -1) >= generation;
    if (!isCurrent || found.status === 'Unknown') return pending({kind, metadata});
    if (found.status === 'True') continue;
    const {reason = 'no reason', message = ''} = found;
    return {kind: 'rejected', what: `${kind} ${metadata.name}`, why: `${wanted} is False, ${reason}: ${message}`};
  }
  return {kind: 'accepted'};
}

/** The ListenerSet of the same route has the same name. */
function isOwnSet({kind, name}: DeepReadonly<GatewayParentRef>, {metadata}: DeepReadonly<KubeObject>): boolean {
  return kind === LISTENER_SET.kind && name === metadata.name;
}

function isSameParent(a: DeepReadonly<GatewayParentRef>, b: DeepReadonly<GatewayParentRef>, namespace = ''): boolean {
  const of = (ref: DeepReadonly<GatewayParentRef>) =>
    [
      ref.group ?? GATEWAY_GROUP,
      ref.kind ?? GATEWAY.kind,
      ref.namespace ?? namespace,
      ref.name,
      ref.sectionName ?? '',
      ref.port ?? '',
    ].join('/');
  return of(a) === of(b);
}
