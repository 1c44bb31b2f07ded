/** What both sides of the namespace know. */
export const DOMAIN = 'acme.platform.net';
export const LABEL = 'abcdefghijklmnopqrstuvwxyz234567';
/** A tenant's host, whose challenge is delegated. */
export const HOST = 'shop.customer.net';
export const VALUES = ['A'.repeat(43), 'B'.repeat(43)];

export const RESOLVERS = {unbound: '127.0.2.1', bind: '127.0.2.2', knot: '127.0.2.3'} as const;
export type ResolverName = keyof typeof RESOLVERS;

/** Codes of node:dns, or `answer`. */
export interface Findings {
  /** What the host has while no challenge is open. */
  readonly before: readonly string[];
  /** Whether it shows a new challenge, a second one, and then only that one. */
  readonly seen: readonly boolean[];
  readonly address: string | undefined;
  readonly caa: string | undefined;
  /** A name without an open challenge. */
  readonly other: string | undefined;
  readonly none: string | undefined;
  readonly nameServers: readonly string[];
}

/**
 * What ISC's EDNS compliance tester sends (https://ednscomp.isc.org/), as flags of dig. `want`: what dig then prints;
 * `never`: what it does not.
 */
export const EDNS_QUERIES: readonly {readonly query: string; readonly want: RegExp; readonly never: RegExp}[] = [
  {query: '+noedns', want: /status: NOERROR.*\bSOA\b/s, never: /EDNS/},
  {query: '+edns=0 +nocookie', want: /status: NOERROR.*EDNS: version: 0.*\bIN\s+SOA\b/s, never: /flags: do/},
  {query: '+edns=1 +noednsneg +nocookie', want: /status: BADVERS.*EDNS: version: 0/s, never: /^\w.*\bIN\s+SOA\b/m},
  {query: '+edns=0 +nocookie +ednsopt=100', want: /status: NOERROR.*\bIN\s+SOA\b/s, never: /OPT=100/},
  {query: '+edns=1 +noednsneg +nocookie +ednsopt=100', want: /status: BADVERS/, never: /OPT=100|^\w.*\bIN\s+SOA\b/m},
  {query: '+edns=0 +nocookie +ednsflags=0x80', want: /status: NOERROR.*\bIN\s+SOA\b/s, never: /MBZ/},
  {query: '+edns=0 +nocookie +dnssec', want: /EDNS: version: 0, flags: do;.*\bIN\s+SOA\b/s, never: /RRSIG/},
  {query: '+edns=0 +nocookie +bufsize=512', want: /status: NOERROR.*\bIN\s+SOA\b/s, never: /;; flags:[^;]* tc/},
  {
    query: '+edns=0 +cookie +nsid +expire +subnet=0.0.0.0/0',
    want: /status: NOERROR/,
    never: /COOKIE|NSID|EXPIRE|SUBNET/,
  },
  {query: '+edns=0 +nocookie +tcp', want: /status: NOERROR.*\bIN\s+SOA\b/s, never: /;; flags:[^;]* tc/},
  {query: '+noedns +tcp', want: /status: NOERROR.*\bIN\s+SOA\b/s, never: /EDNS/},
  {query: '+opcode=notify', want: /status: NOTIMP/, never: /^\w.*\bIN\s+SOA\b/m},
];
