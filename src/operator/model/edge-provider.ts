/**
 * An edge provider knows one kind of ingress: which objects publish a route through it, and what it cannot serve exactly.
 * All of it is pure; the reconciles apply what it builds, in its order, and delete what it no longer builds.
 */
import type {DeepReadonly, Intent, KubeObject, OwnerReference, ResourceType} from '../../runtime/kube/object.ts';
import type {ServicePort} from './kinds.ts';
import type {RedirectStatus} from './project-hosts.ts';

/** The pods that serve a project, as its Service selects them. */
export interface Backend {
  readonly selector: Readonly<Record<string, string>>;
  readonly port: DeepReadonly<ServicePort>;
}

/** One host as it is to be published. Http always leads to https in one redirect. */
export interface HostRoute {
  readonly namespace: string;
  /** `np-…`; every object of the route is named so, or so with a fixed suffix. */
  readonly name: string;
  readonly host: string;
  /** Secret with the certificate; absent: the ingress controller's own default certificate. */
  readonly tlsSecret?: string;
  /** A redirect never reaches it, but an Ingress cannot be written without one. */
  readonly backend: Backend;
  /** Visitors take one hop to `https://{to}/…` from http and from https. Absent: the host serves the backend. */
  readonly redirect?: {readonly to: string; readonly status: RedirectStatus};
  readonly owner: OwnerReference;
  /** Set on the route of a default host. */
  readonly project?: string;
}

export interface RouteObject {
  readonly resource: ResourceType;
  readonly intent: Intent<KubeObject>;
}

export type PublishedRoute = {readonly kind: 'serve'} | {readonly kind: 'redirect'; readonly to: string};

export interface EdgeProvider {
  readonly name: string;
  /** The kinds it writes, in the order in which they must stand. */
  readonly resources: readonly ResourceType[];
  /** How long after the API every replica of the ingress surely has a new route, milliseconds. */
  readonly settleMs: number;
  /** Why the ingress cannot answer with this status exactly, and what to use instead; undefined when it can. */
  unsupportedStatus(status: RedirectStatus): string | undefined;
  /** The objects of a route, in the order in which they are to be applied. */
  build(route: HostRoute): RouteObject[];
  /** A merge patch by which the object matches no request any more; undefined where it matches none as it is. */
  emptied(object: DeepReadonly<KubeObject>): Record<string, unknown> | undefined;
}
