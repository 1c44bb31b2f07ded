import type {Scope} from '../access/auth.ts';
import {isMessageId} from '../store/message-id.ts';

/** An operation of the API. The names are those in the OpenAPI document and in the metrics. */
export interface Route {
  readonly name: 'submit' | 'list' | 'get' | 'claim' | 'ack' | 'nack' | 'describe';
  readonly method: 'GET' | 'POST';
  /** The scope that the key must have; undefined if no key is needed. */
  readonly scope: Scope | undefined;
}

const submit: Route = {name: 'submit', method: 'POST', scope: 'messages:write'};
const list: Route = {name: 'list', method: 'GET', scope: 'messages:read'};
const get: Route = {name: 'get', method: 'GET', scope: 'messages:read'};
const claim: Route = {name: 'claim', method: 'POST', scope: 'messages:process'};
const ack: Route = {name: 'ack', method: 'POST', scope: 'messages:process'};
const nack: Route = {name: 'nack', method: 'POST', scope: 'messages:process'};
const describe: Route = {name: 'describe', method: 'GET', scope: undefined};

export interface PathMatch {
  readonly routes: readonly Route[];
  /** The message id in the path, if it can be one. */
  readonly id: string;
}

const PATHS: Readonly<Record<string, PathMatch>> = {
  '/messages': {routes: [submit, list], id: ''},
  '/messages/claim': {routes: [claim], id: ''},
  '/openapi.json': {routes: [describe], id: ''},
};

const MESSAGE_PATH = /^\/messages\/(?<id>[^/]+)(?<verb>\/ack|\/nack)?$/;

/** What is at a path (without query); undefined if there is nothing. */
export function matchPath(path: string): PathMatch | undefined {
  const match = Object.hasOwn(PATHS, path) ? PATHS[path] : undefined;
  if (match) return match;
  const {id = '', verb} = MESSAGE_PATH.exec(path)?.groups ?? {};
  if (id === '') return undefined;
  const routes = verb === '/ack' ? [ack] : verb === '/nack' ? [nack] : [get];
  return {routes, id: isMessageId(id) ? id : ''};
}

/** HEAD is GET without the body, which Node omits automatically. */
export function routeOf({routes}: PathMatch, method: string | undefined): Route | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method;
  return routes.find(route => route.method === wanted);
}

/** For the Allow header. */
export function allowed({routes}: PathMatch): string {
  return routes.flatMap(({method}) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
