/** What the platform decides about DNS checks. The operator's configuration file carries it under `dns`. */
export interface DnsConfig {
  /**
   * `authoritative`: only the zone's own servers are asked.
   * `recursive`: only the recursives are asked (a cluster whose egress to port 53 is closed).
   * `auto`: the zone's own servers; the recursives when no authoritative server on the way can be reached at all, and to
   * confirm that DNSSEC is in order and, where `recursives` is set, that they too have the new answer. What the recursives
   * say in place of the authoritative servers verifies a name, but it never counts as drift and moves no claim.
   */
  readonly mode: 'auto' | 'authoritative' | 'recursive';
  /** `ip`, `ip:port` or `[ip]:port`. Empty: those of the system's resolv.conf, whose old answers hold nothing back. */
  readonly recursives: readonly string[];
  /** Addresses of the root servers. Absent: the IANA root hints. */
  readonly rootServers?: readonly string[];
  /** CIDRs that may be asked beyond public unicast addresses. */
  readonly allowAddresses: readonly string[];
  readonly checks: {
    /** First check after a change or a request, and the shortest pause between two checks of a name. */
    readonly soonSeconds: number;
    /** The growing pause of a name that is not verified yet ends here. */
    readonly pendingMaxSeconds: number;
    /** The pause of a name that is verified. */
    readonly steadySeconds: number;
    /** Verdicts in flight at the same time; those that wait for slow servers are not counted. */
    readonly inFlight: number;
  };
  /** One try of one question to one server. */
  readonly queryTimeoutMs: number;
  /** A whole verdict. */
  readonly verdictTimeoutMs: number;
  /** How long agreeing negative verdicts must last before the operator calls a live domain drifted. */
  readonly driftAfterSeconds: number;
}

export const defaultDnsConfig: DnsConfig = {
  mode: 'auto',
  recursives: [],
  allowAddresses: [],
  checks: {soonSeconds: 5, pendingMaxSeconds: 300, steadySeconds: 3600, inFlight: 32},
  queryTimeoutMs: 2000,
  verdictTimeoutMs: 10_000,
  driftAfterSeconds: 3600,
};
