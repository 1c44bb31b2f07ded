/** What a visitor gets at each moment from the Ingresses and Middlewares of that moment, as Traefik interprets them. */

import {MIDDLEWARE, type Middleware} from '../../../src/operator/edge/traefik.ts';
import type {Ingress} from '../../../src/operator/kinds/kinds.ts';
import {INGRESS, SERVICE, type Service} from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import type {History} from './history.ts';

/**
 * `service`: served by pods with this label `app`. `location`: redirected there. Neither: no route, so Traefik answers
 * 404.
 */
export interface EdgeAnswer {
  readonly service?: string;
  readonly location?: string;
}

export interface Moment {
  readonly at: number;
  /** Answer to `GET url`. */
  get(url: string): EdgeAnswer;
}

const ROUTER = 'traefik.ingress.kubernetes.io/router';

/** One moment for each change of a route in the namespace. */
export function moments(history: History, namespace: string): Moment[] {
  const versions = [INGRESS, MIDDLEWARE, SERVICE]
    .flatMap(kind => history.versions<KubeObject>(kind))
    .filter(({key}) => key.startsWith(`${namespace}/`))
    .sort((a, b) => a.at - b.at);
  const ingresses = new Map<string, Ingress>();
  const middlewares = new Map<string, Middleware>();
  const services = new Map<string, Service>();
  const maps: Record<string, Map<string, unknown>> = {Ingress: ingresses, Middleware: middlewares, Service: services};
  return versions.map(({type, resource, key, object, at}) => {
    const map = maps[resource.kind];
    if (type === 'DELETED') map?.delete(key);
    else map?.set(key, object);
    const now = {ingresses: [...ingresses.values()], middlewares: new Map(middlewares), services: new Map(services)};
    return {at, get: url => answer(url, namespace, now)};
  });
}

interface Published {
  readonly ingresses: readonly Ingress[];
  readonly middlewares: ReadonlyMap<string, Middleware>;
  readonly services: ReadonlyMap<string, Service>;
}

function answer(url: string, namespace: string, {ingresses, middlewares, services}: Published): EdgeAnswer {
  const {protocol, hostname} = new URL(url);
  const entryPoint = protocol === 'https:' ? 'websecure' : 'web';
  const found = ingresses.find(({metadata: {annotations}, spec}) => {
    const onEntryPoint = annotations?.[`${ROUTER}.entrypoints`] === entryPoint;
    const isTls = annotations?.[`${ROUTER}.tls`] === 'true';
    return (
      onEntryPoint && isTls === (protocol === 'https:') && spec.rules.some(({host, http}) => http && host === hostname)
    );
  });
  // The platform redirects every host that has no route of its own on port 80.
  if (!found) return protocol === 'http:' ? {location: url.replace('http:', 'https:')} : {};
  const named = found.metadata.annotations?.[`${ROUTER}.middlewares`];
  const service = found.spec.rules[0]?.http?.paths[0]?.backend.service.name ?? '';
  const served = {service: services.get(`${namespace}/${service}`)?.spec?.selector?.app ?? ''};
  if (named === undefined) return served;
  const prefix = `${namespace}-`;
  const name = named.replace(/@kubernetescrd$/, '').slice(prefix.length);
  const middleware = named.startsWith(prefix) ? middlewares.get(`${namespace}/${name}`) : undefined;
  if (!middleware) return {}; // without its middleware, a router does not exist
  const {regex, replacement} = middleware.spec.redirectRegex;
  const location = url.replace(new RegExp(regex), replacement.replace(/\$\{(\d)\}/g, '$$$1'));
  return location === url ? served : {location};
}

/** The hops from `url` to a service; throws if there is a loop or no answer. */
export function hops({at, get}: Moment, url: string): string[] {
  const path = [url];
  for (let next = get(url); next.service === undefined; next = get(next.location)) {
    if (next.location === undefined) throw new Error(`at ${at}: nobody answers, after ${path.join(' -> ')}`);
    if (path.includes(next.location)) throw new Error(`at ${at}: a loop, ${path.join(' -> ')} -> ${next.location}`);
    path.push(next.location);
  }
  return path.slice(1);
}
