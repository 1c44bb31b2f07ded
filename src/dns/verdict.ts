export type DnsReason =
  | 'Verified'
  | 'RecordMissing'
  | 'RecordMismatch'
  | 'ConflictingRecord'
  | 'ProofMissing'
  | 'Propagating'
  | 'NameServersUnreachable'
  | 'DelegationBroken'
  | 'Bogus';

/** What is to be proved about one host. Names are in canonical form: lower-case A-labels, no trailing dot. */
export interface ProofQuestion {
  readonly host: string;
  /** The account's own target, `{id}.edge.example.net`: the value of the CNAME. */
  readonly target: string;
  /** `_nameplate.<host>`. */
  readonly txtName: string;
  readonly txtValue: string;
  /** `txt`: a name that shows only addresses needs the TXT record too. `address`: the addresses are enough. */
  readonly apexProof: 'txt' | 'address';
  /** Issuer domain names of the CA, as in CAA records (`letsencrypt.org`). Empty: CAA is not checked. */
  readonly caaIdentities: readonly string[];
  /** The ACME account at the CA, compared with `accounturi` (RFC 8657). Absent: such a parameter is not judged. */
  readonly caaAccountUri?: string;
  /** The ACME methods in use, compared with `validationmethods` (RFC 8657). Default: `http-01`. */
  readonly caaValidationMethods?: readonly string[];
}

/** One record as a server showed it. Name and value are in presentation form: printable ASCII, escaped, cut. */
export interface ObservedRecord {
  readonly type: string;
  readonly name: string;
  readonly value: string;
  /** Seconds. */
  readonly ttl?: number;
  /** Name and address of the server that said so. */
  readonly server: string;
}

export interface CaaVerdict {
  readonly outcome: 'allowed' | 'forbidden' | 'lookup-failed' | 'unchecked';
  readonly message: string;
  /** The record that forbids, or the one that allows, as in a zone file. */
  readonly record?: string;
}

export interface Verdict {
  readonly reason: DnsReason;
  readonly verified: boolean;
  readonly proof?: 'cname' | 'address-txt' | 'address';
  /** What was found, where, and the one thing to do. */
  readonly message: string;
  /**
   * Every authoritative server answered, and all say the same yes or no. Only such a "no" may demote anything. In mode
   * `recursive` the resolvers stand for them; in `auto` they never do.
   */
  readonly agreed: boolean;
  /** Bounded: at most 8 KiB in all. */
  readonly observed: readonly ObservedRecord[];
  /** An apex, or a name that a provider flattens: it shows the target's addresses and no CNAME, so it needs the TXT record. */
  readonly addressesOnly: boolean;
  /** All values of `_nameplate.<host>` seen on any server. */
  readonly txtValues: readonly string[];
  readonly caa: CaaVerdict;
  /** Smallest TTL (negative: RFC 2308) among the answers: how soon a recursive may see something else. */
  readonly minTtlSeconds?: number;
}
