import type {Message} from './codec.ts';
import type {Authority, NameServer} from './session.ts';
import type {Failure, Reply} from './transport.ts';

/**
 * Why a server counts as silent: it said nothing about the name. `lame`: it answers, but not for this zone.
 * `bogus`: a validating resolver has the answer and refuses to give it.
 */
export type Silence = Failure | 'servfail' | 'refused' | 'lame' | 'no-address' | 'bogus';

/** Of a server that cannot be asked: by a fault of the delegation, or by the silence of others. */
export function silenceWithoutAddress(server: Pick<NameServer, 'unresolved'>): {silence: Silence; detail: string} {
  return server.unresolved
    ? {silence: 'timeout', detail: 'no answer to the question for its address'}
    : {silence: 'no-address', detail: 'has no address'};
}

/** Silence by which the servers that a zone is delegated to show that they do not serve it at all. */
export function isMisdelegation(silence: Silence): boolean {
  return ['refused', 'lame', 'no-address', 'forbidden'].includes(silence);
}

export type Heard =
  | {readonly ok: true; readonly message: Message}
  | {readonly ok: false; readonly silence: Silence; readonly detail: string};

const NXDOMAIN = 3;
const NOERROR = 0;
const SERVFAIL = 2;
const REFUSED = 5;
const NOTAUTH = 9;

/** An answer counts only with authority (AA), or from a recursive that we chose ourselves. */
export function hear(reply: Reply, authority: Pick<Authority, 'zone' | 'recursive'>): Heard {
  if (!reply.ok) return {ok: false, silence: reply.failure, detail: reply.detail};
  const {rcode, authoritative} = reply.message;
  if (rcode === REFUSED || rcode === NOTAUTH) return silent('refused', 'refuses to answer for this zone');
  if (rcode === SERVFAIL) return silent('servfail', 'server failure (SERVFAIL)');
  if (rcode !== NOERROR && rcode !== NXDOMAIN) return silent('servfail', `response code ${rcode}`);
  if (!authoritative && !authority.recursive) return silent('lame', `answers without authority for ${authority.zone}`);
  return {ok: true, message: reply.message};
}

function silent(silence: Silence, detail: string): Heard {
  return {ok: false, silence, detail};
}

/** How long a resolver may keep a negative answer (RFC 2308), in seconds. */
export function negativeTtl(message: Message): number | undefined {
  const soa = message.authority.find(record => record.type === 'SOA');
  return soa?.type === 'SOA' ? Math.min(soa.ttl, soa.minimum) : undefined;
}
