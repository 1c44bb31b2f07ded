import type {Clock} from '../../time/clock.ts';
import type {Endpoint} from '../wire/addresses.ts';
import type {QueryType} from '../wire/codec.ts';
import type {Authority, NameServer} from './authority.ts';
import {hedged} from './hedge.ts';
import {type InterpretedReply, interpretReply} from './reply.ts';
import type {VerdictSession} from './session.ts';

const MAX_ATTEMPTS = 6;
/** If a server does not answer within this time, it may be dead, and we query the next one, too. */
export const HEDGE_MS = 300;

/** The first usable answer from any server of the zone; undefined if none answers. */
export async function queryAny(
  authority: Authority,
  name: string,
  type: QueryType,
  session: VerdictSession,
  clock: Clock,
): Promise<Extract<InterpretedReply, {ok: true}> | undefined> {
  const flags = {recursionDesired: authority.recursive, checkingDisabled: false};
  return hedged(
    candidatesOf(authority, 0),
    async ({endpoint}) => {
      const result = interpretReply(await session.query(endpoint, name, type, flags), authority);
      return result.ok ? result : undefined;
    },
    signal => clock.sleep(HEDGE_MS, signal),
  );
}

/** The servers in the order to try them: the first address of each, then the second ones. `turn` rotates them. */
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
