import {isMessageId} from '../store/message-id.ts';
import {type ApiOperation, OPERATIONS} from './operations.ts';

/** The operations at a path. */
interface PathMatch {
  readonly operations: readonly ApiOperation[];
  /** The message id in the path, if it can be one. */
  readonly id: string;
}

const PATHS = new Map<string, PathMatch>();
for (const operation of OPERATIONS) {
  const {operations = []} = PATHS.get(operation.path) ?? {};
  PATHS.set(operation.path, {operations: [...operations, operation], id: ''});
}

const MESSAGE_PATH = /^\/messages\/(?<id>[^/]+)(?<verb>\/[^/]+)?$/;

/** The operations at a path (without query); undefined if there is nothing. */
export function matchPath(path: string): PathMatch | undefined {
  const match = PATHS.get(path);
  if (match) return match;
  const {id = '', verb = ''} = MESSAGE_PATH.exec(path)?.groups ?? {};
  const template = id === '' ? undefined : PATHS.get(`/messages/{id}${verb}`);
  return template && {operations: template.operations, id: isMessageId(id) ? id : ''};
}

/** HEAD is GET without the body, which Node omits automatically. */
export function operationOf({operations}: PathMatch, method: string | undefined): ApiOperation | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method;
  return operations.find(operation => operation.method === wanted);
}

/** For the Allow header. */
export function allowed({operations}: PathMatch): string {
  return operations.flatMap(({method}) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
