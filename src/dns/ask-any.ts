import type {Endpoint} from './addresses.ts';
import type {Clock} from './clock.ts';
import type {QueryType} from './codec.ts';
import {firstOf} from './hedge.ts';
import {type Heard, hear} from './reply.ts';
import type {Authority, NameServer, Session} from './session.ts';

const MAX_ATTEMPTS = 6;
/** A server that has not answered by then may be dead: the next one is asked too. */
export const HEDGE_MS = 300;

/** The first usable answer of any server of the zone; undefined when all are silent. */
export async function askAny(
  authority: Authority,
  name: string,
  type: QueryType,
  session: Session,
  clock: Clock,
): Promise<Extract<Heard, {ok: true}> | undefined> {
  const flags = {recursionDesired: authority.recursive, checkingDisabled: false};
  return firstOf(
    candidatesOf(authority, 0),
    async ({endpoint}) => {
      const heard = hear(await session.ask(endpoint, name, type, flags), authority);
      return heard.ok ? heard : undefined;
    },
    signal => clock.sleep(HEDGE_MS, signal),
  );
}

/** Servers to try in turn: the first address of each, then the second ones. */
export function candidatesOf(authority: Authority, turn: number): {server: NameServer; endpoint: Endpoint}[] {
  const {servers} = authority;
  const rotated = servers
    .map((_, index) => servers[(index + turn) % servers.length])
    .filter(server => server !== undefined);
  const nth = (index: number) =>
    rotated.flatMap(server => {
      const endpoint = server.endpoints[index];
      return endpoint === undefined ? [] : [{server, endpoint}];
    });
  return [...nth(0), ...nth(1)].slice(0, MAX_ATTEMPTS);
}
