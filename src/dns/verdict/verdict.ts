import type {Endpoint} from '../wire/addresses.ts';
import type {QueryType} from '../wire/codec.ts';

/** judge.ts chooses one; explain.ts has the messages. */
export type DnsReason =
  | 'Verified'
  | 'RecordMissing'
  | 'RecordMismatch'
  | 'ConflictingRecord'
  | 'ProofMissing'
  | 'Propagating'
  | 'NameServersUnreachable'
  | 'DelegationBroken'
  | 'Bogus'
  /** This check could not query all servers, and those that it did query give no reason to change anything. */
  | 'Checking';

/** The question of a check about one host. Names are in canonical form: lower-case A-labels, no trailing dot. */
export interface ProofQuestion {
  readonly host: string;
  /** The account's own target, `{id}.edge.example.net`: the value of the CNAME. */
  readonly target: string;
  /** `_nameplate.<host>`. */
  readonly txtName: string;
  readonly txtValue: string;
  /** `txt`: a name with only addresses needs the TXT record too. `address`: the addresses are enough. */
  readonly apexProof: 'txt' | 'address';
  /**
   * `_acme-challenge.<host>`, and the account's own name for it in the platform's ACME domain. A CNAME from one to the
   * other proves the host in place of the TXT record. Absent: the platform has no such domain.
   */
  readonly challenge?: {readonly name: string; readonly target: string};
  /** Addresses of the target that never change, for an apex whose provider has no ALIAS. Default: none. */
  readonly apexAddresses?: readonly string[];
  /** Issuer domain names of the CA, as in CAA records (`letsencrypt.org`). Empty: CAA is not checked. */
  readonly caaIdentities: readonly string[];
  /** The ACME account at the CA, compared with `accounturi` (RFC 8657). Absent: not known, so any URI may be it. */
  readonly caaAccountUri?: string;
  /**
   * The ACME methods in use, compared with `validationmethods` (RFC 8657). Default: `dns-01` if the delegated challenge
   * is the proof, otherwise `http-01`.
   */
  readonly caaValidationMethods?: readonly string[];
}

/** A query of a check, and what its answer showed: if that has changed, another check may find something else. */
export interface Sign {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly type: QueryType;
  readonly recursive: boolean;
  readonly seen: string;
}

/** The queries that a poll repeats. */
export interface Signs {
  /** About the records that are missing or wrong. */
  readonly records: readonly Sign[];
  /** About the delegation of the zone, and the end of a chain of CNAME records. */
  readonly others: readonly Sign[];
}

/** One record as a server sent it. Name and value are in presentation form: printable ASCII, escaped, cut. */
export interface ObservedRecord {
  readonly type: string;
  readonly name: string;
  readonly value: string;
  /** Seconds. */
  readonly ttl?: number;
  /** Name and address of the server that sent it. */
  readonly server: string;
}

export interface CaaVerdict {
  readonly outcome: 'allowed' | 'forbidden' | 'lookup-failed' | 'unchecked';
  readonly message: string;
}

export interface Verdict {
  readonly reason: DnsReason;
  readonly verified: boolean;
  readonly proof?: 'cname' | 'address-txt' | 'address' | 'challenge';
  /** The finding, where it was found, and the one thing to do. */
  readonly message: string;
  /**
   * Every authoritative server answered, and all give the same yes or no. Only such a "no" may demote anything. In mode
   * `recursive`, the resolvers take the place of the authoritative servers; in mode `auto`, they never do.
   */
  readonly agreed: boolean;
  /** Why a verified host is not agreed, and who can change it. It continues a sentence. */
  readonly doubt?: string;
  /** This check did not get to all servers: the next one, soon, continues with what this one has learned. */
  readonly unfinished?: true;
  /** At most 8 KiB in total. */
  readonly observed: readonly ObservedRecord[];
  /** An apex or a flattened name: it has the target's addresses instead of a CNAME, so it needs the TXT record. */
  readonly addressesOnly: boolean;
  /** The zone that the host's owner edits, if the name servers show it. The host is an apex if this is the host. */
  readonly zone?: string;
  /** All values of `_nameplate.<host>` on any server. */
  readonly txtValues: readonly string[];
  readonly caa: CaaVerdict;
  /** The smallest TTL (negative: RFC 2308) among the answers: how soon a recursive may get another answer. */
  readonly minTtlSeconds?: number;
  /** Absent: verified, or nothing that a single query shows would make a difference. */
  readonly signs?: Signs;
}
