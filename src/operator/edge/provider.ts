/**
 * A flavour knows one kind of ingress: which objects publish a route through it, and what it cannot serve exactly.
 * All of it is pure; the reconciles apply what it builds, in its order, and delete what it no longer builds.
 */
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DeepReadonly, Intent, KubeObject, OwnerReference, ResourceType} from '../../runtime/kube/object.ts';
import {hostLabel} from '../model/derived-names.ts';
import {SERVICE, type Service} from '../model/kinds.ts';
import type {RedirectStatus} from '../model/project-hosts.ts';
import type {Backend} from './backend.ts';

/** One host as it is to be published. Http always leads to https in one redirect. */
export interface Route {
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

export interface Flavour {
  readonly name: string;
  /** The kinds it writes, in the order in which they must stand. */
  readonly resources: readonly ResourceType[];
  /** How long after the API every replica of the ingress surely has a new route, milliseconds. */
  readonly settleMs: number;
  /** Why the ingress cannot answer with this status exactly, and what to use instead; undefined when it can. */
  unsupportedStatus(status: RedirectStatus): string | undefined;
  /** The objects of a route, in the order in which they are to be applied. */
  build(route: Route): RouteObject[];
  /** A merge patch by which the object matches no request any more; undefined where it matches none as it is. */
  emptied(object: DeepReadonly<KubeObject>): Record<string, unknown> | undefined;
}

const REDIRECT_TO = ANNOTATION.redirectTo;

/** Metadata that every object of a route bears. */
export function routeMetadata(route: Route, name: string, annotations: Record<string, string> = {}) {
  return {
    name,
    namespace: route.namespace,
    labels: {
      [LABEL.managedBy]: 'nameplate',
      [LABEL.host]: hostLabel(route.host),
      ...(route.project !== undefined && {[LABEL.project]: route.project}),
    },
    annotations: {
      [ANNOTATION.host]: route.host,
      ...(route.redirect && {[REDIRECT_TO]: route.redirect.to}),
      ...annotations,
    },
    ownerReferences: [route.owner],
  };
}

/**
 * The Service that the route leads to: the operator's own, with the selector and the port of the tenant's. A tenant's
 * could become an ExternalName, lose its selector, or collide with another in the keys that an ingress joins from
 * namespace, name and port. Headless, for the ingress asks for endpoints: thousands of hosts take no cluster addresses.
 */
export function backendService(route: Route): RouteObject {
  const {selector, port} = route.backend;
  const intent: Service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: routeMetadata(route, route.name),
    spec: {type: 'ClusterIP', clusterIP: 'None', selector: {...selector}, ports: [{...port}]},
  };
  return {resource: SERVICE, intent};
}

/**
 * What a host's cached route objects publish now; undefined when nothing is published. A change that is half done counts
 * as a redirect, so that nothing is led to a host that may still, or already, redirect.
 */
export function publishedRoute(
  flavour: Flavour,
  objects: readonly DeepReadonly<KubeObject>[],
): PublishedRoute | undefined {
  if (!objects.some(object => flavour.emptied(object) !== undefined)) return undefined;
  const to = objects.flatMap(({metadata}) => metadata.annotations?.[REDIRECT_TO] ?? [])[0];
  return to === undefined ? {kind: 'serve'} : {kind: 'redirect', to};
}

/** When the newest of them was made, milliseconds since the epoch. */
export function newestMs(objects: readonly DeepReadonly<KubeObject>[]): number {
  return Math.max(...objects.map(({metadata}) => Date.parse(metadata.creationTimestamp ?? '') || 0));
}
