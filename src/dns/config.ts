import type {CheckSettings} from '../schedule/pace.ts';

/** The platform's choices for DNS checks. The operator's configuration file carries it under `dns`. */
export interface DnsConfig {
  /**
   * `authoritative`: queries only the zone's own servers.
   * `recursive`: queries only the recursives (for a cluster whose egress to port 53 is closed).
   * `auto`: queries the zone's own servers. Queries the recursives if no authoritative server on the way can be
   * reached, and to confirm that DNSSEC is in order and, if `recursives` is set, that they have the new answer too. An
   * answer of the recursives in place of the authoritative servers verifies a name, but never counts as drift and moves
   * no claim.
   */
  readonly mode: 'auto' | 'authoritative' | 'recursive';
  /** `ip`, `ip:port`, or `[ip]:port`. Empty: those in the system's resolv.conf, whose old answers hold nothing back. */
  readonly recursives: readonly string[];
  /** Addresses of the root servers. Absent: the IANA root hints. */
  readonly rootServers?: readonly string[];
  /** CIDRs that may be queried in addition to public unicast addresses. */
  readonly allowAddresses: readonly string[];
  readonly checks: CheckSettings;
  /** For one attempt of one query to one server. */
  readonly queryTimeoutMs: number;
  /** For a whole verdict. */
  readonly verdictTimeoutMs: number;
  /** How long negative verdicts must agree before the operator reports drift of a live domain. */
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
