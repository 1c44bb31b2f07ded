/** What a visitor gets, at each moment, from the Ingresses and Middlewares that stood then, read as Traefik reads them. */
import type {Ingress} from '../../../src/operator/resources.ts';
import {INGRESS} from '../../../src/operator/resources.ts';
import {MIDDLEWARE, type Middleware} from '../../../src/operator/routing/traefik.ts';
import type {History} from './history.ts';

/** `service`: served by it; `location`: redirected there; neither: Traefik knows no route, and answers 404. */
export interface Answer {
  readonly service?: string;
  readonly location?: string;
}

export interface Moment {
  readonly at: number;
  /** Answer to `GET url`. */
  get(url: string): Answer;
}

const ROUTER = 'traefik.ingress.kubernetes.io/router';

/** One moment for each change of a route in the namespace. */
export function moments(history: History, namespace: string): Moment[] {
  const versions = [...history.versions(INGRESS), ...history.versions(MIDDLEWARE)]
    .filter(({key}) => key.startsWith(`${namespace}/`))
    .sort((a, b) => a.at - b.at);
  const ingresses = new Map<string, Ingress>();
  const middlewares = new Map<string, Middleware>();
  return versions.map(({type, resource, key, object, at}) => {
    const map = (resource.kind === INGRESS.kind ? ingresses : middlewares) as Map<string, unknown>;
    if (type === 'DELETED') map.delete(key);
    else map.set(key, object);
    const [nowIngresses, nowMiddlewares] = [[...ingresses.values()], new Map(middlewares)];
    return {at, get: url => answer(url, namespace, nowIngresses, nowMiddlewares)};
  });
}

function answer(
  url: string,
  namespace: string,
  ingresses: readonly Ingress[],
  middlewares: ReadonlyMap<string, Middleware>,
): Answer {
  const {protocol, hostname} = new URL(url);
  const entryPoint = protocol === 'https:' ? 'websecure' : 'web';
  const found = ingresses.find(({metadata: {annotations}, spec}) => {
    const onEntryPoint = annotations?.[`${ROUTER}.entrypoints`] === entryPoint;
    const isTls = annotations?.[`${ROUTER}.tls`] === 'true';
    return onEntryPoint && isTls === (protocol === 'https:') && spec.rules.some(({host}) => host === hostname);
  });
  if (!found) return {};
  const named = found.metadata.annotations?.[`${ROUTER}.middlewares`] ?? '';
  const prefix = `${namespace}-`;
  const name = named.replace(/@kubernetescrd$/, '').slice(prefix.length);
  const middleware = named.startsWith(prefix) ? middlewares.get(`${namespace}/${name}`) : undefined;
  if (!middleware) return {}; // a router that names a middleware that does not stand is not there either
  const {regex, replacement} = middleware.spec.redirectRegex;
  const location = url.replace(new RegExp(regex), replacement.replace(/\$\{(\d)\}/g, '$$$1'));
  if (location !== url) return {location};
  return {service: found.spec.rules[0]?.http.paths[0]?.backend.service.name ?? ''};
}

/** The hops from `url` to a service; throws where there is a loop or nobody answers. */
export function hops({at, get}: Moment, url: string): string[] {
  const path = [url];
  for (let next = get(url); next.service === undefined; next = get(next.location)) {
    if (next.location === undefined) throw new Error(`at ${at}: nobody answers, after ${path.join(' -> ')}`);
    if (path.includes(next.location)) throw new Error(`at ${at}: a loop, ${path.join(' -> ')} -> ${next.location}`);
    path.push(next.location);
  }
  return path.slice(1);
}
