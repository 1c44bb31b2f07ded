import type {Endpoint} from './addresses.ts';
import {formatEndpoint} from './addresses.ts';
import type {Silence} from './reply.ts';
import type {Authority, Session} from './session.ts';
import type {Transport} from './transport.ts';

export interface SilentServer {
  /** Name and address. */
  readonly server: string;
  readonly silence: Silence;
  readonly detail: string;
}

/**
 * `egress`: no server on the way answered, not even the root's, so the trouble is on our side.
 * `unreachable`: the name servers of `zone` do not answer. `broken`: they do, but do not serve the zone.
 */
export type Finding =
  | {readonly ok: true; readonly authority: Authority}
  | {
      readonly ok: false;
      readonly fault: 'egress' | 'unreachable' | 'broken';
      readonly zone: string;
      readonly silent: readonly SilentServer[];
    };

/** Knows whom to ask about a name, and how to reach them. */
export interface Directory {
  /** Lets through what this directory may ask: so a stranger's NS record cannot make us ask our own resolvers. */
  readonly transport: Transport;
  find(name: string, session: Session): Promise<Finding>;
}

export function serverLabel(name: string, endpoint: Endpoint | undefined): string {
  if (endpoint === undefined) return name;
  const address = formatEndpoint(endpoint);
  return name === address ? name : `${name} (${address})`;
}

/** The same recursives for every name. */
export function createRecursiveDirectory(recursives: readonly Endpoint[], transport: Transport): Directory {
  const servers = recursives.map(endpoint => ({name: formatEndpoint(endpoint), endpoints: [endpoint]}));
  const authority: Authority = {zone: '.', servers, recursive: true};
  return {transport, find: async () => ({ok: true, authority})};
}
