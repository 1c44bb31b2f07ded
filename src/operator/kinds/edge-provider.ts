/**
 * An edge provider knows one kind of ingress controller: which objects publish a route, and what it cannot serve
 * exactly. It is pure; the reconciles apply what it builds, in its order, and delete what it no longer builds.
 */
import type {DeepReadonly, Intent, KubeObject, OwnerReference, ResourceType} from '../../runtime/kube/object.ts';
import type {ServicePort} from './kinds.ts';
import type {RedirectStatus} from './project-hosts.ts';

/** The pods that serve a project, as its Service selects them. */
export interface Backend {
  /** `np-…`: the name of our own Service for them. */
  readonly name: string;
  readonly project: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly port: DeepReadonly<ServicePort>;
  readonly ipFamilies?: readonly string[];
  readonly ipFamilyPolicy?: string;
  readonly publishNotReadyAddresses?: boolean;
}

/**
 * One host to publish. A host that serves has no route of its own on port 80: one route of the platform redirects all of
 * them to HTTPS, and sends their challenges to the responder.
 */
export interface HostRoute {
  readonly namespace: string;
  /** `np-…`; every object of the route except its Service has this name, with or without a fixed suffix. */
  readonly name: string;
  readonly host: string;
  /** The Secret with the certificate; absent: the ingress controller's default certificate. */
  readonly tlsSecret?: string;
  /** A redirect never uses it, but an Ingress requires one. */
  readonly backend: Backend;
  /** Visitors take one hop to `https://{to}/…` from http and from https. Absent: the host serves the backend. */
  readonly redirect?: {readonly to: string; readonly status: RedirectStatus};
  readonly owner: OwnerReference;
  /** Part of the answer to PROBE_PATH, if the edge can answer it without the backend. */
  readonly proof?: string;
  /** Set on the route of a default host. */
  readonly project?: string;
}

export interface RouteObject {
  readonly resource: ResourceType;
  readonly intent: Intent<KubeObject>;
}

export type PublishedRoute = {readonly kind: 'serve'} | {readonly kind: 'redirect'; readonly to: string};

/** The platform's own objects, from the caches. `key`: "name" or "namespace/name". */
export interface PlatformReader {
  get<T extends KubeObject>(resource: ResourceType<T>, key: string): DeepReadonly<T> | undefined;
  list<T extends KubeObject>(resource: ResourceType<T>): Iterable<DeepReadonly<T>>;
}

export interface PlatformKind {
  readonly resource: ResourceType;
  readonly metadataOnly?: boolean;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** The cache keeps the whole spec. */
  readonly isCopied?: boolean;
}

export interface EdgeProblem {
  readonly reason: 'IngressClassNotFound' | 'GatewayNotFound' | 'GatewayUnsuitable';
  readonly message: string;
}

/** The edge has not said yet whether it accepts this version of an object. */
interface Pending {
  readonly kind: 'pending';
  readonly what: string;
  readonly version: string;
}

/**
 * The edge's report on the objects of a route, as they were written last. `what`: the object, as kind and name.
 * `note`: a remark for the platform even so; a sentence that begins with a space.
 */
export type RouteVerdict =
  | {readonly kind: 'accepted'; readonly note?: string}
  | Pending
  | {readonly kind: 'rejected'; readonly what: string; readonly why: string};

/** Every route on an edge with `provesRoutes` answers this path with a redirect to a path below it. */
export const PROBE_PATH = '/.well-known/nameplate';
/** Tokens follow (RFC 8555, section 8.3). */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/';

export interface EdgeProvider {
  readonly name: string;
  /** The kinds that it writes, in the order in which they must be applied. */
  readonly resources: readonly ResourceType[];
  /** The kinds of the platform's own objects that it reads. */
  readonly platformKinds: readonly PlatformKind[];
  /** Whether it reads this object of such a kind. */
  reads(object: DeepReadonly<KubeObject>): boolean;
  /**
   * The kind that conflicts if two namespaces have one for the same host, and breaks the host if its Secret is missing.
   */
  readonly exclusive?: ResourceType;
  /**
   * An object of the route that the edge has not read since its last change. An object of the exclusive kind takes the
   * host from all others, so publish it only after the edge has read the attached routes. Absent: there is no such kind.
   */
  unread?(objects: readonly DeepReadonly<KubeObject>[], platform: PlatformReader): Pending | undefined;
  /** After this many milliseconds, every replica of the ingress certainly has a new route. */
  readonly settleMs: number;
  /** Why no route can be published in this cluster, and who must do what. */
  problem(platform: PlatformReader): EdgeProblem | undefined;
  /** Why the ingress cannot respond with exactly this status, and what to use instead; undefined if it can. */
  unsupportedStatus(status: RedirectStatus, platform: PlatformReader): string | undefined;
  /** Why no wildcard can be published so that it takes no other host, and who must do what; undefined if it can. */
  unsupportedWildcard(platform: PlatformReader): string | undefined;
  /** Where the edge listens for HTTPS, as the platform's objects say; IP addresses or host names. */
  addresses?(platform: PlatformReader): readonly string[];
  /** Whether its routes answer PROBE_PATH, so that the prober can tell them apart. */
  provesRoutes?(platform: PlatformReader): boolean;
  /**
   * Objects of a route without which one of the exclusive kind would do harm: they are applied first, and that one is
   * created only after the edge certainly has them. Absent: none.
   */
  prepare?(route: HostRoute, platform: PlatformReader): RouteObject[];
  /** The other objects of a route, in the order in which to apply them. */
  build(route: HostRoute): RouteObject[];
  /** The names of the Services to which an object of a route sends requests. */
  backends(object: DeepReadonly<KubeObject>): string[];
  /**
   * Other objects to which an object of a route refers, as "kind/name". Each must be at the edge before the object
   * refers to it, and for as long as it does. Absent: nothing.
   */
  refersTo?(object: DeepReadonly<KubeObject>): string[];
  /**
   * Whether these objects of the route `name` serve its host over HTTPS: the object that matches its requests is in
   * place, and so is each other object of the route without which the edge ignores it.
   */
  serves(name: string, objects: readonly DeepReadonly<KubeObject>[]): boolean;
  /** A merge patch after which the object matches no request; undefined if it matches none already. */
  emptied(object: DeepReadonly<KubeObject>): Record<string, unknown> | undefined;
  /** The part of an object's status that `verdict` reads, in a few KiB. Absent: it reads none. */
  statusOf?(object: KubeObject): unknown;
  /** Whether the edge has accepted all of these objects. An edge that says nothing has accepted them. */
  verdict(objects: readonly DeepReadonly<KubeObject>[], platform: PlatformReader): RouteVerdict;
}
