import type {Message} from '../wire/codec.ts';
import type {QueryFailure, Reply} from '../wire/transport.ts';
import type {Authority, NameServer} from './authority.ts';

/**
 * Why there is no answer about the name. `lame`: the server answers, but not for this zone. `unsupported`: it does not
 * answer such queries. `bogus`: a validating resolver has the answer and refuses to give it. `budget`: this check did
 * not get to it. `limit`: no check does, because the zone has too many servers. `no-route`: the platform has no address
 * of the family of the server's addresses.
 */
export type NoAnswer =
  | QueryFailure
  | 'servfail'
  | 'refused'
  | 'unsupported'
  | 'lame'
  | 'no-address'
  | 'bogus'
  | 'limit'
  | 'no-route';

/** For a server without an address: the delegation has a fault, or the servers of its name do not answer. */
export function noAnswerWithoutAddress(server: Pick<NameServer, 'unresolved'>): {noAnswer: NoAnswer; detail: string} {
  switch (server.unresolved) {
    case 'silent':
      return {noAnswer: 'timeout', detail: 'no answer to the query for its address'};
    case 'unasked':
      return {
        noAnswer: 'budget',
        detail: 'its address was not queried yet: one check sends a limited number of queries',
      };
    case 'no-route':
      return {noAnswer: 'no-route', detail: 'has no address that the platform can reach (only IPv4 or only IPv6)'};
    default:
      return {noAnswer: 'no-address', detail: 'has no address'};
  }
}

/** Whether it shows that the server, to which the zone is delegated, does not serve the zone. */
export function isMisdelegation(noAnswer: NoAnswer): boolean {
  return ['refused', 'lame', 'no-address', 'forbidden'].includes(noAnswer);
}

/** Whether the server says that it has no such answer. It says so again and again, unlike after a failure. */
export function isRefusal(noAnswer: NoAnswer): boolean {
  return noAnswer === 'refused' || noAnswer === 'unsupported';
}

export type InterpretedReply =
  | {readonly ok: true; readonly message: Message}
  | {readonly ok: false; readonly noAnswer: NoAnswer; readonly detail: string};

const NOERROR = 0;
const FORMERR = 1;
const SERVFAIL = 2;
const NXDOMAIN = 3;
const NOTIMP = 4;
const REFUSED = 5;
const NOTAUTH = 9;

/** An answer counts only with authority (AA) or from a recursive that the platform chose. */
export function interpretReply(reply: Reply, authority: Pick<Authority, 'zone' | 'recursive'>): InterpretedReply {
  if (!reply.ok) return {ok: false, noAnswer: reply.failure, detail: reply.detail};
  const {rcode, authoritative} = reply.message;
  if (rcode === REFUSED || rcode === NOTAUTH) return silent('refused', 'refuses to answer for this zone');
  if (rcode === SERVFAIL) return silent('servfail', 'server failure (SERVFAIL)');
  if (rcode === NOTIMP) return silent('unsupported', 'does not support such queries (NOTIMP)');
  if (rcode === FORMERR) return silent('unsupported', 'does not understand the query (FORMERR)');
  if (rcode !== NOERROR && rcode !== NXDOMAIN) return silent('servfail', `response code ${rcode}`);
  if (!authoritative && !authority.recursive) return silent('lame', `answers without authority for ${authority.zone}`);
  return {ok: true, message: reply.message};
}

function silent(noAnswer: NoAnswer, detail: string): InterpretedReply {
  return {ok: false, noAnswer, detail};
}

/** How long a resolver may cache a negative answer (RFC 2308), in seconds. */
export function negativeTtl(message: Message): number | undefined {
  const soa = message.authority.find(record => record.type === 'SOA');
  return soa?.type === 'SOA' ? Math.min(soa.ttl, soa.minimum) : undefined;
}
