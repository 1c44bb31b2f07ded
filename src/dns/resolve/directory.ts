import type {Endpoint} from '../wire/addresses.ts';
import {formatEndpoint} from '../wire/addresses.ts';
import type {DnsTransport} from '../wire/transport.ts';
import type {Authority} from './authority.ts';
import type {NoAnswer} from './reply.ts';
import type {VerdictSession} from './session.ts';

export interface SilentServer {
  /** Name and address. */
  readonly server: string;
  readonly noAnswer: NoAnswer;
  readonly detail: string;
}

/**
 * `egress`: no server on the way answered, not even the root's, so the fault is on our side.
 * `unreachable`: the name servers of `zone` do not answer. `broken`: they answer, but do not serve the zone.
 */
export type ZoneFinding =
  | {readonly ok: true; readonly authority: Authority}
  | {
      readonly ok: false;
      readonly fault: 'egress' | 'unreachable' | 'broken';
      readonly zone: string;
      readonly silent: readonly SilentServer[];
    };

/** Knows which servers to query about a name, and how to reach them. */
export interface Directory {
  /** Queries only the servers of this directory, so a stranger's NS record cannot make us query our own resolvers. */
  readonly transport: DnsTransport;
  /**
   * `every`: the servers that the parent and the zone list now, because each of them may answer something else. `any`:
   * some servers, perhaps those of a few minutes ago, because the first answer counts.
   */
  find(name: string, session: VerdictSession, which: 'every' | 'any'): Promise<ZoneFinding>;
}

export function serverLabel(name: string, endpoint: Endpoint | undefined): string {
  if (endpoint === undefined) return name;
  const address = formatEndpoint(endpoint);
  return name === address ? name : `${name} (${address})`;
}

/** The same recursives for every name. */
export function createRecursiveDirectory(recursives: readonly Endpoint[], transport: DnsTransport): Directory {
  const servers = recursives.map(endpoint => ({name: formatEndpoint(endpoint), endpoints: [endpoint]}));
  const authority: Authority = {zone: '.', servers, recursive: true};
  return {transport, find: async () => ({ok: true, authority})};
}
